//! Experiments over the size of the server: commands that set it, the data of each size, failures, the reset.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use run_support::Lab;

/// Commands append to `data/log`; a size is ready at the second attempt.
fn experiment(values: &str, set: &str) -> String {
    format!(
        "
targets: {{t: 'file://DATA'}}
workloads: {{w: {{ops: read, block_size: 64KiB, files: 1, file_size: 1MiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
matrix: {{queue_depth: [1, 2]}}
steady: none
scale:
  server:
    name: osds
    values: {values}
    set: [sh, -c, '{set}']
    ready: [sh, -c, 'cat DATA/tried-{{value}} || {{ touch DATA/tried-{{value}}; exit 1; }}']
    interval: 1ms
    reset: [sh, -c, 'echo reset >> DATA/log']
"
    )
}

#[test]
fn each_size_is_set_once_with_data_of_its_own_and_reset_at_the_end() {
    let lab = Lab::new();
    let set = "ls DATA | grep -c ^manometer- >> DATA/log; echo set {value} >> DATA/log; echo done {value}";
    let ended = lab.run(&experiment("[1, 2]", set));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let log = std::fs::read_to_string(lab.data().join("log")).unwrap();
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    // Data of size 1 is gone before size 2 is set.
    assert_eq!(lines, ["0", "set 1", "0", "set 2", "reset"]);
    assert!(ended.stderr.contains("osds=2: the server is ready: done 2"), "{}", ended.stderr);
    assert_eq!(lab.results().len(), 4);
}

#[test]
fn a_size_that_cannot_be_set_fails_its_cells_and_no_others() {
    let lab = Lab::new();
    let set = "echo {value} >> DATA/log; test {value} != 2 || { echo osd.2 is broken; exit 7; }";
    let ended = lab.run(&experiment("[1, 2, 3]", set));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let log = std::fs::read_to_string(lab.data().join("log")).unwrap();
    assert_eq!(log, "1\n2\n3\nreset\n", "a failed size is not tried again for its second cell");
    assert!(
        ended.stderr.contains("osds=2: `sh -c") && ended.stderr.contains("exit status: 7: osd.2 is broken")
    );
}
