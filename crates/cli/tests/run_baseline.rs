//! A run kept as a baseline, and later runs compared with it: on scripted targets, whose figures are known.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::Command;

use run_support::Lab;
use serde_json::Value;
use stats::NetworkMatrix;
use store::{Baseline, BaselineContent};
use support::{Ended, run};

/// 4 KiB reads, four at once, each with this latency plus noise.
fn experiment(latency: &str) -> String {
    format!(
        "
targets: {{t: 'sim:?latency={latency}&noise=2%'}}
workloads: {{w: {{ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}}}
stages: {{warm_up: 1s, measure: {{at_least: 20s, at_most: 20s}}}}
steady: none
"
    )
}

fn run_with(lab: &Lab, text: &str, flags: &[&str]) -> Ended {
    let file = lab.experiment("experiment.yaml", text);
    run(lab.command().arg(file).args(flags))
}

fn manometer(lab: &Lab, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(arguments).args(["--results".into(), lab.path("results.sqlite")]);
    run(command.env("HOME", lab.directory.path()))
}

#[test]
fn a_later_run_is_shown_against_it() {
    let lab = Lab::new();
    let kept = run_with(&lab, &experiment("1ms"), &["--save-baseline", "before"]);
    assert_eq!(kept.code, Some(0), "{kept:#?}");
    assert!(kept.stderr.contains("kept as baseline before in "), "{kept:#?}");
    let first = lab.store().run("last").unwrap().id;
    let later = run_with(&lab, &experiment("1.25ms"), &["--baseline", "before"]);
    assert_eq!(later.code, Some(0), "{later:#?}");
    let (_, against) = later.stdout.split_once("\nAgainst baseline before (run ").expect("it is shown");
    assert!(against.starts_with(&first), "{against}");
    for expected in ["cell 1 w: 13.2 MB/s is 80 % of 16.5 MB/s; bandwidth −20", "%], worse"] {
        assert!(against.contains(expected), "{expected:?} is missing in {against}");
    }
    // It holds its own figures.
    assert_eq!(manometer(&lab, &["forget", &first]).code, Some(0));
    let compared = manometer(&lab, &["compare", "--baseline", "before", "last", "--output", "json"]);
    assert_eq!(compared.code, Some(0), "{compared:#?}");
    let json: Value = serde_json::from_str(&compared.stdout).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/comparison.schema.json")).unwrap();
    jsonschema::validate(&schema, &json).unwrap();
    assert_eq!((&json["a"]["baseline"], &json["a"]["id"]), (&"before".into(), &first.into()));
    let difference = &json["cells"][0]["difference"];
    assert!((difference["relative"].as_f64().unwrap() + 0.2).abs() < 0.005, "{difference}");
    assert_eq!(difference["call"], "unconfirmed-worse", "one run each");
    let text = manometer(&lab, &["compare", "--baseline", "before", "last"]).stdout;
    assert!(text.starts_with("A: baseline before, run "), "{text}");
    let page = lab.path("page.html");
    let page = manometer(&lab, &["compare", "--baseline", "before", "last", "-o", page.to_str().unwrap()]);
    assert_eq!(page.code, Some(0), "a run that was forgotten has no curves, and that is no fault: {page:#?}");
}

#[test]
fn a_run_may_replace_the_baseline_that_it_is_held_against() {
    let lab = Lab::new();
    run_with(&lab, &experiment("1ms"), &["--save-baseline", "best"]);
    let flags = ["--baseline", "best", "--save-baseline", "best"];
    let second = run_with(&lab, &experiment("500us"), &flags);
    assert_eq!(second.code, Some(0), "{second:#?}");
    assert!(second.stdout.contains("is 200 % of 16.5 MB/s"), "{}", second.stdout);
    let listed = manometer(&lab, &["list", "--baselines"]).stdout;
    assert!(listed.contains("best") && listed.contains("33.0 MB/s"), "{listed}");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_measured() {
    let lab = Lab::new();
    for (flags, expected) in [(["--baseline", "absent"], "no baseline"), (["--save-baseline", " "], "name")] {
        let ended = run_with(&lab, &experiment("1ms"), &flags);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(ended.stderr.contains(expected) && ended.stderr.contains("next: "), "{}", ended.stderr);
        assert!(lab.store().runs().unwrap().is_empty(), "nothing began");
        lab.assert_clean();
    }
    let matrix = NetworkMatrix { hosts: vec!["a".into(), "b".into()], ..NetworkMatrix::default() };
    let content = BaselineContent::Network(matrix);
    let network = Baseline { name: "cables".into(), kept: "2026-11-01T00:00:00Z".parse().unwrap(), content };
    lab.store().save_baseline(&network).unwrap();
    let ended = manometer(&lab, &["compare", "--baseline", "cables", "last"]);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended.stderr.contains("cables: is a network baseline") && ended.stderr.contains("next: "),
        "{ended:#?}"
    );
    let ended = manometer(&lab, &["compare", "last"]);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
}
