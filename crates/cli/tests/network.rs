//! `manometer network` between agents on this host: what it measures, prints, stores, and refuses.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use support::consecutive_ports;

/// Ports of one test.
const PORTS: u16 = 8;

fn network(directory: &TempDir, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("network").args(flags).arg("--results").arg(directory.path().join("results.sqlite"));
    command.arg(format!("--port={}", consecutive_ports(PORTS)));
    command.env("XDG_STATE_HOME", directory.path().join("state")).output().unwrap()
}

/// A command that reads the results file.
fn read(directory: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).arg("--results").arg("results.sqlite");
    command.current_dir(directory.path()).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const BRIEF: [&str; 4] = ["--duration", "500ms", "--ramp", "200ms"];

#[test]
fn every_link_is_measured_in_every_way() {
    let directory = tempfile::tempdir().unwrap();
    let mut flags =
        vec!["--local", "3", "--streams", "1,2", "--both-directions", "--duplex", "--output", "json"];
    flags.extend(["--save-baseline", "before"]);
    flags.extend(BRIEF);
    let output = network(&directory, &flags);
    // Loopback links of a busy machine may differ: both verdicts are fine here, failures are not.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/network.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["hosts"].as_array().unwrap().len(), 3);
    // Six directions, with 1 and 2 streams, one way and both ways at once.
    let links = document["links"].as_array().unwrap();
    assert_eq!(links.len(), 24);
    for link in links {
        assert!(link["throughput"]["mean"].as_f64().is_some_and(|rate| rate > 0.0), "{link}");
        assert!(link["tcp"]["mss_bytes"].as_u64().unwrap() > 1000, "{link}");
        let limits = link["tcp"]["limits"].as_object().unwrap();
        let sum: f64 = limits.values().map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 0.01, "{link}");
    }
    assert_eq!(document["judgement"]["failed"], serde_json::json!([]));
    assert!(text(&output.stderr).contains("kept as baseline before"), "{}", text(&output.stderr));
}

#[test]
fn people_see_a_matrix_and_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let mut flags = vec!["--local", "3", "--streams", "1", "--parallel"];
    flags.extend(BRIEF);
    let output = network(&directory, &flags);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for expected in ["1 stream, throughput from row to column", "held back by", "path MTU", "egraded"] {
        assert!(shown.contains(expected), "{expected:?} is missing in\n{shown}");
    }
}

#[test]
fn a_link_without_a_way_fails_alone_and_says_why() {
    let directory = tempfile::tempdir().unwrap();
    // Nobody can listen on an address that no host here has.
    let probe =
        network(&directory, &["--local", "2", "--output", "json", "--streams", "1", "--duration", "200ms"]);
    let document: Value = serde_json::from_slice(&probe.stdout).unwrap();
    let second = format!("{}=192.0.2.1", document["hosts"][1].as_str().unwrap());
    let flags =
        ["--local", "2", "--streams", "1", "--output", "json", "--duration", "200ms", "--address", &second];
    let output = network(&directory, &flags);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["judgement"]["failed"], serde_json::json!([[0, 1]]));
    assert!(
        document["links"][0]["failure"].as_str().unwrap().contains("cannot listen on 192.0.2.1"),
        "{document}"
    );
}

#[test]
fn two_network_tests_are_listed_shown_reported_exported_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut flags = vec!["--local", "3", "--streams", "1,2"];
        flags.extend(["--duration", "2s", "--ramp", "100ms"]);
        let output = network(&directory, &flags);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("kept as run "), "{}", text(&output.stderr));
    }
    let listed = json(&read(&directory, &["list", "--output", "json"]));
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{listed:#}");
    for run in runs {
        assert_eq!((&run["kind"], &run["state"]), (&"network".into(), &"finished".into()), "{run:#}");
        // Three pairs, with one and with two streams.
        assert_eq!((&run["cells"], &run["cells_done"]), (&6.into(), &6.into()), "{run:#}");
    }
    assert!(text(&read(&directory, &["list"]).stdout).contains("network"));

    let exported = json(&read(&directory, &["export", "last", "--intervals"]));
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/run.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&exported).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let hosts = exported["run"]["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 3);
    let name = |at: usize| hosts[at]["name"].as_str().unwrap();
    let cells = exported["cells"].as_array().unwrap();
    let named = format!("{} → {}, 1 stream", name(0), name(1));
    assert!(cells.iter().any(|cell| cell["name"] == named.as_str()), "{exported:#}");
    for cell in cells {
        let result = &cell["result"];
        assert!(result["total"]["bytes_per_s"]["mean"].as_f64().unwrap() > 0.0, "{cell:#}");
        assert!(result["client"]["net.retransmits"].is_number(), "{cell:#}");
        assert!(result["client"]["net.round-trip.ns"].as_f64().unwrap() > 0.0, "{cell:#}");
        assert!(result["target"]["held-back-by"].is_string(), "{cell:#}");
        assert!(result["target"]["path-mtu.bytes"].is_string(), "{cell:#}");
    }
    let of_first = |interval: &&Value| interval["cell"] == 0 && interval["stage"] == "measure";
    assert!(exported["intervals"].as_array().unwrap().iter().filter(of_first).count() >= 2);

    let shown = read(&directory, &["show", "last"]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("2 streams"), "{}", text(&shown.stdout));
    assert!(text(&shown.stdout).contains("verdict: "), "{}", text(&shown.stdout));
    let reported = read(&directory, &["report", "last", "-o", "network.html"]);
    assert_eq!(reported.status.code(), Some(0), "{}", text(&reported.stderr));
    let page = std::fs::read_to_string(directory.path().join("network.html")).unwrap();
    assert!(page.contains(&format!("{} → {}, 2 streams", name(0), name(2))));
    let compared = json(&read(&directory, &["compare", "last~1", "last", "--output", "json"]));
    assert_eq!(compared["cells"].as_array().unwrap().len(), 6, "{compared:#}");
    let cell = format!("1 stream from={} to={}", name(0), name(1));
    let cells = compared["cells"].as_array().unwrap();
    assert!(cells.iter().any(|one| one["cell"] == cell.as_str()), "{compared:#}");
    let resumed = read(&directory, &["run", "--resume", "last"]);
    assert_eq!(resumed.status.code(), Some(2));
    assert!(text(&resumed.stderr).contains("is a network test"), "{}", text(&resumed.stderr));
}

#[test]
fn a_link_that_failed_and_a_test_that_was_interrupted_are_kept_as_that() {
    let directory = tempfile::tempdir().unwrap();
    let probe = network(&directory, &["--local", "2", "--streams", "1", "--duration", "200ms", "-o", "json"]);
    let second = format!("{}=192.0.2.1", json(&probe)["hosts"][1].as_str().unwrap());
    network(&directory, &["--local", "2", "--streams", "1", "--duration", "200ms", "--address", &second]);
    let exported = json(&read(&directory, &["export", "last"]));
    assert_eq!(exported["cells"][0]["state"], "failed", "{exported:#}");
    assert!(exported["cells"][0]["failure"].as_str().unwrap().contains("192.0.2.1"), "{exported:#}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(["network", "--local", "2", "--duration", "600s", "--results", "results.sqlite"]);
    command.arg(format!("--port={}", consecutive_ports(PORTS))).current_dir(directory.path());
    let mut child = command
        .env("XDG_STATE_HOME", directory.path().join("state"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let cells = || json(&read(&directory, &["export", "last"]))["cells"].clone();
    while cells()[0]["state"] != "running" {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the process is our own child, which has not been waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let listed = json(&read(&directory, &["list", "--output", "json"]));
    assert_eq!(listed["runs"][2]["state"], "interrupted", "{listed:#}");
    assert_eq!(cells()[0]["state"], "interrupted");
    assert_eq!(cells()[1]["state"], "pending");
}

#[test]
fn wrong_usage_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    for (flags, expected) in [
        (vec![], "no hosts are named"),
        (vec!["--local", "1"], "a single host has no links"),
        (vec!["--local", "2", "--pairs", "x:y"], "is none of"),
        (vec!["--local", "2", "--address", "x=127.0.0.1"], "is none of the hosts"),
        (vec!["--local", "2", "--streams", "0"], "0 is not in 1..=1024"),
    ] {
        let output = network(&directory, &flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}
