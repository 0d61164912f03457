//! What each operation costs: RPCs over NFS, against the simulated array, and system calls on files.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::{Command, Stdio};

use run_support::Lab;
use support::{Ended, Stage, run};

const EXPERIMENT: &str = "
targets: {t: {url: 'NFS_URL', mount_port: MOUNT_PORT, lookup: LOOKUP}}
workloads:
  names:
    ops: {create: 25%, stat: 20%, rename: 15%, remove: 10%, mkdir: 10%, symlink: 10%, chmod: 10%}
    files: 4
    file_size: 64KiB
    queue_depth: 4
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
gates: [errors == 0]
";

fn read(lab: &Lab, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).stdin(Stdio::null()).arg("--results").arg(lab.path("results.sqlite"));
    run(&mut command)
}

#[test]
fn what_an_operation_costs_is_shown_reported_and_compared() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.remember();
    let lab = Lab::new();
    for (lookup, lookups) in [("cached", 0), ("each_component", 1)] {
        let ended = lab.run(&stage.filled(EXPERIMENT).replace("LOOKUP", lookup));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let result = lab.results().remove(0);
        for op in result.ops.iter().chain([&result.total]) {
            let calls: u64 = op.procedures.iter().map(|procedure| procedure.calls).sum();
            assert_eq!(calls, op.rpcs, "{op:#?}");
            assert!(op.procedures.iter().all(|p| p.errors == 0 && p.mean_ns > 0.0 && p.max_ns > 0));
        }
        for (kind, procedure) in [("create", "CREATE"), ("rename", "RENAME"), ("mkdir", "MKDIR")] {
            let op = result.ops.iter().find(|op| op.op.unwrap().name() == kind).unwrap();
            let calls =
                |name: &str| op.procedures.iter().find(|p| p.procedure.name() == name).map_or(0, |p| p.calls);
            assert_eq!((calls(procedure), calls("LOOKUP")), (op.ok, lookups * op.ok), "{kind}");
        }
    }
    stage.assert_untouched();
    lab.assert_clean();
    // Long lines are wrapped.
    let words = |ended: &Ended| ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&read(&lab, &["show", "last~1"]));
    assert!(shown.contains("RPCs: create = 1 CREATE, "), "{shown}");
    assert!(shown.contains("rename = 1 RENAME"), "{shown}");
    let compared = words(&read(&lab, &["compare", "last~1", "last"]));
    assert!(compared.contains("create takes 1.00 LOOKUP instead of 0.00"), "{compared}");
    let page = lab.path("report.html");
    let reported = read(&lab, &["report", "last", "-o", page.to_str().unwrap()]);
    assert_eq!(reported.code, Some(0), "{reported:#?}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("RPCs of the operations, by procedure") && page.contains("SETATTR"));
}

#[test]
fn the_system_calls_of_files_are_shown_reported_and_compared() {
    let lab = Lab::new();
    let place = lab.path("data");
    for fsync_every in [0, 1] {
        let text = format!(
            "
targets: {{t: {{url: 'file://{}'}}}}
workloads:
  names:
    ops: {{write-file: 50%, stat: 30%, rename: 20%}}
    fsync_every: {fsync_every}
    files: 4
    file_size: 64KiB
    queue_depth: 4
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
",
            place.display()
        );
        let ended = lab.run(&text);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let result = lab.results().remove(0);
        let op = result.ops.iter().find(|op| op.op == Some(metrics::OpKind::WriteFile)).unwrap();
        let calls: Vec<_> = op.procedures.iter().map(|p| (p.procedure.name(), p.calls)).collect();
        let mut expected = vec![("open", op.ok), ("write", op.ok), ("fsync", op.ok), ("close", op.ok)];
        expected.retain(|(name, _)| fsync_every == 1 || *name != "fsync");
        assert_eq!(calls, expected);
    }
    let words = |ended: &Ended| ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&read(&lab, &["show", "last"]));
    assert!(shown.contains("write-file = 1 open + 1 write + 1 fsync + 1 close"), "{shown}");
    let table = words(&read(&lab, &["show", "last", "--cell", "1"]));
    assert!(table.contains("system call"), "{table}");
    let compared = words(&read(&lab, &["compare", "last~1", "last"]));
    assert!(compared.contains("write-file takes 1.00 fsync instead of 0.00"), "{compared}");
    let page = lab.path("report.html");
    let reported = read(&lab, &["report", "last", "-o", page.to_str().unwrap()]);
    assert_eq!(reported.code, Some(0), "{reported:#?}");
    assert!(std::fs::read_to_string(page).unwrap().contains("System calls of the operations"));
}
