//! `manometer run URL`: an experiment without a file.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::{Command, Stdio};

use run_support::Lab;
use support::{Ended, run};

/// `manometer run` with these arguments; `DATA` is the data directory.
fn one_line(lab: &Lab, line: &str) -> Ended {
    let line = line.replace("DATA", &lab.data().display().to_string());
    run(lab.command().args(line.split(' ')))
}

#[test]
fn a_url_is_run_and_shown_as_the_experiment_that_it_stands_for() {
    let lab = Lab::new();
    let line = "sim:?latency=1ms --read 70% --queue-depth 1,4 --for 5s --warm-up 0s --output json";
    let ended = one_line(&lab, line);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&json["run"]["name"], json["cells"].as_array().unwrap().len()), (&"sim-mixed".into(), 2));
    for line in ["  name: sim-mixed\n", "      ops: {read: 70%, write: 30%}\n", "    queue_depth: [1, 4]\n"] {
        assert!(ended.stderr.contains(line), "{line} is missing:\n{}", ended.stderr);
    }
    // It can be resumed like any other, from the stored plan or with the same command line.
    let ended = run(lab.command().args(["--resume", "last"]));
    ended.assert_one_line(2, &["is finished"]);
    let again = one_line(&lab, &format!("{line} --resume last"));
    assert!(again.code == Some(2) && again.stderr.contains("is finished"), "{again:#?}");
    let other = one_line(&lab, "sim:?latency=2ms --for 5s --resume last");
    assert!(other.stderr.contains("is not the experiment of run"), "{other:#?}");
}

/// The printed file yields exactly the plan of the command line.
#[test]
fn the_printed_experiment_is_the_same_one() {
    let lab = Lab::new();
    for line in [
        "file://DATA --read 70% --block-size 4KiB,64KiB --queue-depth 1,16 --jobs 2 --for 30s",
        "nfs://filer/export --op stat,list --files 10",
        "s3://b?endpoint=http://127.0.0.1:9 --write --object-size 1MiB --rate 100/s --at-most 5m",
        "block:///dev/nothing",
    ] {
        let printed = one_line(&lab, &format!("{line} --print-experiment"));
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{line}");
        let file = lab.experiment("kept.yaml", &printed.stdout);
        let of_file = run(lab.command().arg(file).args(["--dry-run", "--no-preflight", "--output", "json"]));
        let of_line = one_line(&lab, &format!("{line} --dry-run --no-preflight --output json"));
        assert_eq!((of_file.code, of_line.code), (Some(0), Some(0)), "{line}: {of_file:#?} {of_line:#?}");
        assert_eq!(of_file.stdout, of_line.stdout, "{line}");
    }
    assert!(!lab.path("results.sqlite").exists());
}

#[test]
fn files_are_measured_and_a_page_cache_in_the_way_is_named() {
    let lab = Lab::new();
    let line = "file://DATA --read --file-size 1MiB --for 1s --warm-up 0s --direct=false";
    let ended = one_line(&lab, line);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended.stderr.contains("note: target data is read through this client's page cache"),
        "{}",
        ended.stderr
    );
    assert_eq!(lab.results().len(), 1);
    lab.assert_clean();
    let direct = one_line(&lab, "file://DATA --dry-run");
    assert!(direct.stderr.contains("direct: true") && !direct.stderr.contains("note:"), "{}", direct.stderr);
}

/// A flag with an optional value does not swallow the target.
#[test]
fn the_url_may_stand_behind_any_flag() {
    let lab = Lab::new();
    for line in ["--read sim: --dry-run", "--dry-run --write sim:", "--direct file://DATA --dry-run"] {
        assert_eq!(one_line(&lab, line).code, Some(0), "{line}");
    }
}

#[test]
fn what_does_not_go_together_is_said() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", "targets: {t: 'sim:'}\nworkloads: {w: {ops: read}}\n");
    let name = file.display().to_string();
    one_line(&lab, &format!("{name} --block-size 4KiB"))
        .assert_one_line(2, &["--block-size", "e.yaml", "--set"]);
    one_line(&lab, &format!("{name} --print-experiment"))
        .assert_one_line(2, &["--print-experiment", "e.yaml"]);
    one_line(&lab, "--queue-depth 4").assert_one_line(2, &["--queue-depth", "file:///mnt/data"]);
    one_line(&lab, "--resume last --queue-depth 4").assert_one_line(2, &["--queue-depth", "stored plan"]);
    one_line(&lab, "DATA").assert_one_line(2, &["is a directory", "write file://"]);
    let both = one_line(&lab, "sim: --for 5s --at-most 9s");
    assert!(both.code == Some(2) && both.stderr.contains("--at-most"), "{both:#?}");
}

/// The wording is that of faults in a file; the position is the flag.
#[test]
fn faults_name_the_flag() {
    let lab = Lab::new();
    for (line, said) in [
        ("nfs://filer", "URL: \"nfs://filer\" has no export\n  = write nfs://host/export\n"),
        (
            "hdfs://namenode/bench",
            "URL: there is no kind of target \"hdfs\"\n  = write such as file:///mnt/data",
        ),
        (
            "sim: --queue-depth 0",
            "--queue-depth 0: 0 is less than 1\n  = write a whole number from 1 to 65536\n",
        ),
        ("nfs://f/e --direct", "--direct true: nfs targets know no \"direct\"\n  = remove it"),
    ] {
        let ended = one_line(&lab, line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{line}");
        assert!(ended.stderr.starts_with(said), "{line}: {}", ended.stderr);
    }
}

/// 4kB is 4000 bytes here, and 4096 to fio.
#[test]
fn a_block_size_that_is_seldom_meant_is_remarked() {
    let lab = Lab::new();
    let ended = one_line(&lab, "nfs://filer/export --block-size 4kb,4KiB --dry-run --no-preflight");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let line = "note: block_size 4kB is 4000 bytes, no multiple of 512; what fio calls 4kb is 4KiB\n";
    assert_eq!(ended.stderr.matches("note: ").count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
}

/// `manometer init` in the data directory.
fn init(lab: &Lab, line: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    run(command.arg("init").args(line.split(' ')).current_dir(lab.data()).stdin(Stdio::null()))
}

#[test]
fn init_writes_an_experiment_that_runs_and_overwrites_nothing() {
    let lab = Lab::new();
    let flags = "sim:?latency=1ms --read 70% --queue-depth 1,4 --for 5s --warm-up 0s";
    let written = init(&lab, &format!("first.yaml {flags}"));
    assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{written:#?}");
    assert_eq!(written.stderr, "wrote first.yaml; next: manometer run first.yaml --dry-run\n");
    let file = lab.data().join("first.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let plan = |arguments: &[&str]| {
        let ended = run(lab.command().args(arguments).args(["--dry-run", "--output", "json"]));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        serde_json::from_str::<serde_json::Value>(&ended.stdout).unwrap()
    };
    assert_eq!(plan(&[file.to_str().unwrap()]), plan(&flags.split(' ').collect::<Vec<_>>()));

    init(&lab, &format!("first.yaml {flags}")).assert_one_line(2, &["first.yaml exists", "next: "]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(init(&lab, &format!("- {flags}")).stdout, text);
    assert_eq!(init(&lab, "sim:").code, Some(0));
    assert!(lab.data().join("experiment.yaml").exists());
}

#[test]
fn init_says_what_is_missing_or_wrong_and_writes_nothing() {
    let lab = Lab::new();
    init(&lab, "a.yaml").assert_one_line(2, &["URL", "nfs://filer/export", "terminal"]);
    init(&lab, "a.yaml b.yaml").assert_one_line(2, &["\"b.yaml\" is no URL"]);
    let faulty = init(&lab, "a.yaml sim: --block-size 4QiB");
    assert!(faulty.code == Some(2) && faulty.stderr.starts_with("--block-size 4QiB: "), "{faulty:#?}");
    assert_eq!(run_support::names(&lab.data()), Vec::<String>::new());
}
