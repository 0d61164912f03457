//! `manometer network` between agents of this host: what it measures, says, keeps, and refuses.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Ports in a row that nobody listens on now; each call begins elsewhere.
fn port() -> u16 {
    loop {
        let first = fastrand::u16(20_000..50_000);
        if (first..first + 8).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return first;
        }
    }
}

fn network(directory: &TempDir, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.arg("network").args(flags).arg("--results").arg(directory.path().join("results.sqlite"));
    command.arg(format!("--port={}", port()));
    command.env("XDG_STATE_HOME", directory.path().join("state")).output().unwrap()
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
    // Loopback links of a busy machine may differ: both judgements are right here, failures are not.
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
    // An address that belongs to nobody here cannot be listened on.
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
fn wrong_usage_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    for (flags, expected) in [
        (vec![], "no hosts are named"),
        (vec!["--local", "1"], "one host has no link"),
        (vec!["--local", "2", "--pairs", "x:y"], "is none of"),
        (vec!["--local", "2", "--address", "x=127.0.0.1"], "is none of the hosts"),
        (vec!["--local", "2", "--streams", "0"], "0 is not in 1..=1024"),
    ] {
        let output = network(&directory, &flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}
