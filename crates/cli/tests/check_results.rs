//! A check in the results file: a run like any other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use rustix::process::Signal;
use serde_json::Value;

use support::{Ended, Stage, run, run_until_measured, run_until_measured_discarding, start, wait_until};

/// A command that reads the results file of the stage's user.
fn read(stage: &Stage, arguments: &[&str]) -> Ended {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).env("HOME", stage.directory.path()).env_remove("XDG_DATA_HOME");
    run(command.current_dir(stage.directory.path()))
}

fn listed(stage: &Stage) -> Vec<Value> {
    let ended = read(stage, &["list", "--output", "json"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    document["runs"].as_array().unwrap().clone()
}

/// Removes a check that measured nothing from the results file.
fn forget(stage: &Stage, check: &Ended) {
    let (_, kept) = check.stderr.split_once("kept as run ").unwrap();
    let forgotten = read(stage, &["forget", kept.split(' ').next().unwrap()]);
    assert_eq!(forgotten.code, Some(0), "{forgotten:#?}");
}

#[test]
fn two_checks_are_listed_shown_reported_exported_and_compared() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let keys = stage.make_bucket("archive");
    stage.remember();
    for _ in 0..2 {
        let mut check = stage.bare_check();
        check.args(["--nfs", &stage.nfs_url("projects"), "--s3", &stage.s3_url("archive"), "--verify"]);
        check.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
        let ended = run_until_measured_discarding(&mut check, |late| forget(&stage, late));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(ended.stderr.contains("kept as run "), "{}", ended.stderr);
    }
    let runs = listed(&stage);
    assert_eq!(runs.len(), 2, "{runs:#?}");
    for run in &runs {
        assert_eq!((&run["name"], &run["state"]), (&"check".into(), &"finished".into()), "{run:#}");
        assert_eq!(run["kind"], "check", "{run:#}");
        assert_eq!((&run["cells"], &run["cells_done"]), (&4.into(), &4.into()), "{run:#}");
    }
    let shown = read(&stage, &["show", "last"]);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    let (nfs, s3) = (format!("nfs {}", stage.ip(0)), format!("s3 {}", stage.ip(0)));
    for expected in
        [&format!("{nfs} write"), &format!("{nfs} read"), &format!("{s3} write"), &format!("{s3} read")]
    {
        assert!(shown.stdout.contains(expected.as_str()), "{expected} is missing in\n{}", shown.stdout);
    }
    let exported = read(&stage, &["export", "last", "--format", "json"]);
    assert_eq!(exported.code, Some(0), "{exported:#?}");
    let document: Value = serde_json::from_str(&exported.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/run.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(!exported.stdout.contains(&keys.secret));
    let intervals = read(&stage, &["export", "last", "--format", "csv", "--intervals"]);
    assert!(intervals.stdout.lines().count() > 4, "{intervals:#?}");
    let reported = read(&stage, &["report", "last", "-o", "check.html"]);
    assert_eq!(reported.code, Some(0), "{reported:#?}");
    assert!(std::fs::read_to_string(stage.path("check.html")).unwrap().contains(&format!("{nfs} write")));
    // A table may wrap the name.
    let compared = read(&stage, &["compare", "last~1", "last", "--output", "json"]);
    assert!(matches!(compared.code, Some(0 | 1)), "{compared:#?}");
    let document: Value = serde_json::from_str(&compared.stdout).unwrap();
    let cell = format!("nfs write address={}", stage.ip(0));
    let cells = document["cells"].as_array().unwrap();
    assert!(cells.iter().any(|one| one["cell"] == cell.as_str()), "{document:#}");
    stage.assert_untouched();
}

#[test]
fn a_check_that_was_interrupted_is_kept_as_that_and_cannot_be_resumed() {
    let mut stage = Stage::new(1);
    stage.remember();
    let running = start(stage.check().args(["--duration", "60s"]));
    wait_until("the first phase", || stage.array.capacity().used() > 0);
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    let runs = listed(&stage);
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &"interrupted".into()), "{runs:#?}");
    let resumed = read(&stage, &["run", "--resume", "last"]);
    assert_eq!(resumed.code, Some(2), "{resumed:#?}");
    assert!(resumed.stderr.contains("is a check") && resumed.stderr.contains("next:"), "{resumed:#?}");
    stage.assert_untouched();
}

#[test]
fn what_failed_is_kept_with_its_cause() {
    let stage = Stage::new(1);
    let ended = run(stage.check().env("FB_TOKEN", "T-wrong-secret"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let runs = listed(&stage);
    assert_eq!((runs.len(), &runs[0]["state"]), (1, &"failed".into()), "{runs:#?}");
    let shown = read(&stage, &["show", "last"]);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    assert!(!shown.stdout.contains("T-wrong-secret"));

    let results = stage.path("own.sqlite");
    let mut nobody = stage.bare_check();
    nobody.args(["--nfs", &stage.nfs_url("absent"), "--results", &results]);
    assert_eq!(run(&mut nobody).code, Some(1));
    let shown = read(&stage, &["show", "last", "--results", &results]);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    assert!(shown.stdout.contains(&format!("nfs {} write", stage.ip(0))), "{}", shown.stdout);
    assert!(shown.stdout.contains("failed"), "{}", shown.stdout);
}

#[test]
fn a_demonstration_keeps_nothing_unless_it_is_told_where() {
    let stage = Stage::new(1);
    let demo = |flags: &[&str]| {
        let mut demo = stage.manometer("check");
        demo.args(["--demo", "--duration", "1s", "--workers", "1", "--lanes", "2", "--dataset", "32MiB"]);
        let ended = run_until_measured(demo.args(flags));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    };
    demo(&[]);
    assert!(!stage.directory.path().join(".local/share").exists());
    let results = stage.path("demo.sqlite");
    demo(&["--results", &results]);
    let shown = read(&stage, &["show", "last", "--results", &results]);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
}
