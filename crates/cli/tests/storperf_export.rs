//! A run exported as `StorPerf` reports a job: on scripted targets, whose figures are known.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::process::Command;

use run_support::Lab;
use serde_json::Value;
use support::{Ended, run};

/// Ten minutes of simulated time for each of two cells, at 10 ms an operation.
const EXPERIMENT: &str = "name: nightly
targets: {device: 'sim:?latency=10ms'}
workloads:
  rr: {ops: read, access: random, block_size: 4KiB}
  _warm_up: {ops: write, block_size: 16KiB}
stages: {measure: {at_least: 1s, at_most: 700s}}
steady: {storperf: {sample: 60s, samples: 10}}
";

fn export(lab: &Lab, more: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(["export", "last", "--output", "storperf", "--results"]).arg(lab.path("results.sqlite"));
    run(command.args(more).env("HOME", lab.directory.path()))
}

/// The report of a run of this experiment; it follows its schema.
fn report(lab: &Lab, experiment: &str) -> Value {
    let file = lab.experiment("experiment.yaml", experiment);
    let ended = run(lab.command().arg(&file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let exported = export(lab, &[]);
    assert_eq!((exported.code, exported.stderr.as_str()), (Some(0), ""), "{exported:#?}");
    let report: Value = serde_json::from_str(&exported.stdout).unwrap();
    let schema = include_str!("../../../schemas/storperf-report.schema.json");
    jsonschema::validate(&serde_json::from_str(schema).unwrap(), &report).unwrap();
    report
}

#[test]
fn a_steady_run_passes_with_the_figures_of_its_target() {
    let lab = Lab::new();
    let report = report(&lab, EXPERIMENT);
    assert_eq!((&report["criteria"], &report["project_name"]), (&"PASS".into(), &"storperf".into()));
    let metrics = &report["details"]["metrics"];
    let of = |name: &str| metrics[format!("rr.queue-depth.1.block-size.4096.{name}")].as_f64().unwrap();
    // 100 operations of 4 KiB a second; latencies are kept within 0.1 %.
    assert!((of("read.iops") - 100.0).abs() < 0.1, "{metrics}");
    assert!((of("read.bw") - 400.0).abs() < 0.4, "{metrics}");
    assert!((of("read.lat_ns.mean") / 1e7 - 1.0).abs() < 0.001, "{metrics}");
    assert_eq!(of("write.iops"), 0.0);
    let series = &report["details"]["report_data"]["_warm_up.queue-depth.1.block-size.16384"]["bw"]["write"];
    assert_eq!(series["series"].as_array().unwrap().len(), 10, "{series}");
    assert_eq!((&series["series"][0][0], &series["series"][9][0]), (&1.0.into(), &10.0.into()));
}

#[test]
fn too_few_minutes_are_not_steady() {
    let lab = Lab::new();
    let short = EXPERIMENT.replace("steady: {storperf: {sample: 60s, samples: 10}}", "steady: none");
    let report = report(&lab, &short.replace("at_most: 700s", "at_most: 200s").replace("1s", "200s"));
    assert_eq!(report["criteria"], "FAIL");
    let cell = "rr.queue-depth.1.block-size.4096";
    assert_eq!(report["details"]["steady_state"][cell], false);
    let series = &report["details"]["report_data"][cell]["iops"]["read"]["series"];
    assert_eq!(series.as_array().unwrap().len(), 3, "whole minutes only: {series}");
}

#[test]
fn intervals_and_hosts_have_no_place_in_it() {
    let lab = Lab::new();
    report(&lab, &EXPERIMENT.replace("700s", "150s").replace("samples: 10", "samples: 2"));
    let ended = export(&lab, &["--intervals"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("take --intervals and --hosts away"), "{}", ended.stderr);
}
