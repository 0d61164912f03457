//! `manometer calibrate` as a program: what it measures, prints and stores. Runs are short: figures are not judged
//! here.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Steps that every calibration has.
const MEASURES: [&str; 20] = [
    "null-one",
    "null-all",
    "nfs-read-1m",
    "nfs-write-1m",
    "nfs-read-4k",
    "nfs-write-4k",
    "s3-get-1m",
    "s3-put-1m",
    "s3-get-4k",
    "s3-put-4k",
    "tcp-send-1",
    "tcp-receive-1",
    "tcp-send-8",
    "tcp-receive-8",
    "copy-one",
    "copy-all",
    "payload-make",
    "payload-compare",
    "clock",
    "timer",
];

fn calibrate(directory: &TempDir, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("calibrate").args(flags).arg("--results").arg(directory.path().join("results.sqlite"));
    command.env("TMPDIR", directory.path()).output().unwrap()
}

/// A command that reads the results file.
fn read(directory: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).current_dir(directory.path()).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// The contents of a directory, in order.
fn within(directory: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn kept(directory: &TempDir) -> Value {
    let kept: Vec<_> = std::fs::read_dir(directory.path().join("calibration")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    serde_json::from_slice(&std::fs::read(kept[0].as_ref().unwrap().path()).unwrap()).unwrap()
}

#[test]
fn every_piece_is_measured_and_kept() {
    for reactor in ["auto", "epoll"] {
        let directory = tempfile::tempdir().unwrap();
        let flags = ["--seconds", "0.2", "--repetitions", "2", "--reactor", reactor, "--output", "json"];
        let output = calibrate(&directory, &flags);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let schema: Value =
            serde_json::from_str(include_str!("../../../schemas/calibration.schema.json")).unwrap();
        let validator =
            jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let measures = document["measures"].as_array().unwrap();
        let names: Vec<&str> = measures.iter().map(|measure| measure["name"].as_str().unwrap()).collect();
        assert_eq!(names, MEASURES);
        for measure in measures {
            let spread = &measure["by_clock"];
            let [low, median, high] = ["low", "median", "high"].map(|name| spread[name].as_f64().unwrap());
            assert!(low <= median && median <= high, "{measure}");
            // In so short a time a busy machine may finish nothing, but not every time. A timer may be on time.
            assert!(high > 0.0 || measure["name"] == "timer", "{measure}");
            let loads = ["null", "nfs", "s3", "tcp"]
                .iter()
                .any(|kind| measure["name"].as_str().unwrap().starts_with(kind));
            assert_eq!(measure["per_cpu_second"].is_object(), loads, "{measure}");
        }
        let cores = document["cores"].as_f64().unwrap();
        assert_eq!(document["ceilings"].as_array().unwrap().len(), 10);
        for ceiling in document["ceilings"].as_array().unwrap() {
            let [one, all] = ["per_core", "all_cores"].map(|name| ceiling[name]["median"].as_f64().unwrap());
            assert!((all - one * cores).abs() < 1e-6 * all, "{ceiling}");
        }
        assert!(reactor == "auto" || document["reactor"] == "epoll");
        assert_eq!(kept(&directory), document);
        // The array, its journal and its token are gone.
        assert_eq!(within(&directory), ["calibration", "results.sqlite"]);
    }
}

#[test]
fn people_read_the_ceiling_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let output = calibrate(&directory, &["--seconds", "0.05", "--repetitions", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for expected in
        ["This client can drive at most about", "of NFS reads with all", "per CPU-second", "memory copy"]
    {
        assert!(shown.contains(expected), "{expected:?} is missing in\n{shown}");
    }
    assert!(text(&output.stderr).contains("kept in "), "{}", text(&output.stderr));
}

#[test]
fn a_signal_ends_it_and_nothing_stays() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(["calibrate", "--seconds", "600", "--results"]).arg(directory.path().join("results.sqlite"));
    let mut child = command
        .env("TMPDIR", directory.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The first step is under way once its first line appears.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.next().unwrap().unwrap().contains("round 1 of 5"));
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the process is our own child, which has not been waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("only the run is kept")), "{rest:?}");
    // No calibration, and nothing from the array: only the run, as far as it got.
    assert_eq!(within(&directory), ["results.sqlite"]);
    let listed = json(&read(&directory, &["list", "--results", "results.sqlite", "--output", "json"]));
    assert_eq!(listed["runs"][0]["state"], "interrupted", "{listed:#}");
}

#[test]
fn calibrations_of_two_hosts_are_listed_shown_reported_exported_and_compared() {
    let hosts = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for host in &hosts {
        let output = calibrate(host, &["--seconds", "0.2", "--repetitions", "3"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("kept as run "), "{}", text(&output.stderr));
    }
    let [first, second] = &hosts;
    let listed = json(&read(second, &["list", "--results", "results.sqlite", "--output", "json"]));
    let run = &listed["runs"][0];
    assert_eq!((&run["kind"], &run["state"]), (&"calibrate".into(), &"finished".into()), "{listed:#}");
    assert_eq!((&run["cells"], &run["cells_done"]), (&14.into(), &14.into()), "{listed:#}");

    let exported = json(&read(second, &["export", "last", "--intervals", "--results", "results.sqlite"]));
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/run.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&exported).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    // Results without a target are facts of the run, all others are cells, in calibration order.
    let facts = &exported["run"]["environment"]["facts"];
    let of_cells = exported["cells"].as_array().unwrap().iter().map(|cell| cell["name"].as_str().unwrap());
    let of_cells: Vec<&str> = of_cells.collect();
    for name in MEASURES {
        let fact = facts[format!("calibration.{name}")].is_string();
        assert_eq!(fact, !of_cells.contains(&name), "{name}: {facts:#}");
    }
    let expected: Vec<&str> = MEASURES.into_iter().filter(|name| of_cells.contains(name)).collect();
    assert_eq!(of_cells, expected);
    for (at, cell) in exported["cells"].as_array().unwrap().iter().enumerate() {
        let measured = cell["result"]["stages"][1].as_object().unwrap();
        assert_eq!((&measured["name"], &measured["note"]), (&"measure".into(), &"3 repetitions".into()));
        // The repetitions are the samples.
        assert_eq!(cell["result"]["total"]["ops_per_s"]["samples"], 3, "{cell:#}");
        assert!(cell["result"]["client"]["per-cpu-second"].as_f64().unwrap() > 0.0, "{cell:#}");
        let own = |interval: &&Value| interval["cell"] == at && interval["stage"] == "measure";
        let indexes: Vec<u64> = exported["intervals"]
            .as_array()
            .unwrap()
            .iter()
            .filter(own)
            .map(|interval| interval["interval"].as_u64().unwrap())
            .collect();
        assert!(indexes.len() >= 3 && (0..).zip(&indexes).all(|(n, index)| n == *index), "{at}: {indexes:?}");
    }

    let shown = read(second, &["show", "last", "--results", "results.sqlite"]);
    assert!(text(&shown.stdout).contains("nfs-read-1m"), "{}", text(&shown.stdout));
    assert!(text(&shown.stdout).contains("calibration.copy-one: "), "{}", text(&shown.stdout));
    let reported = read(second, &["report", "last", "-o", "page.html", "--results", "results.sqlite"]);
    assert_eq!(reported.status.code(), Some(0), "{}", text(&reported.stderr));
    assert!(std::fs::read_to_string(second.path().join("page.html")).unwrap().contains("s3-put-4k"));
    let other = format!("{}:last", first.path().join("results.sqlite").display());
    let arguments = ["compare", &other, "last", "--results", "results.sqlite", "--output", "json"];
    let compared = json(&read(second, &arguments));
    assert_eq!(compared["cells"].as_array().unwrap().len(), 14, "{compared:#}");
    assert_eq!(compared["changed"], serde_json::json!([]), "{compared:#}");
    let resumed = read(second, &["run", "--resume", "last", "--results", "results.sqlite"]);
    assert_eq!(resumed.status.code(), Some(2));
    assert!(text(&resumed.stderr).contains("is a calibration"), "{}", text(&resumed.stderr));
}

#[test]
fn wrong_usage_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    for (flags, expected) in [
        (["--seconds", "0"], "write seconds from 0.05 to 600"),
        (["--repetitions", "0"], "0 is not in 1..=100"),
        (["--reactor", "kqueue"], "kqueue"),
    ] {
        let output = calibrate(&directory, &flags);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}
