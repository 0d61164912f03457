//! Probes on scripted targets: the result with half and twice as much in flight is exact, and never part of the
//! measurement.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use run_support::Lab;
use serde_json::Value;
use stats::limit::{Bound, Cause, Confidence, Probe, ProbeFinding};
use store::CellResult;
use support::run;

/// Four lanes on a target with the parameters in `?…`.
fn experiment(target: &str, more: &str) -> String {
    format!(
        "
targets: {{t: 'sim:?{target}'}}
workloads: {{w: {{ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB{more}}}}}
stages: {{warm_up: 1s, measure: 10s, probe: 2s}}
steady: none
"
    )
}

fn probed(lab: &Lab, text: &str) -> (CellResult, Probe) {
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = lab.results().remove(0);
    let probe = result.limit.as_ref().and_then(|limit| limit.probe.clone()).unwrap();
    (result, probe)
}

/// `(lanes, operations per second)` of half, the measurement, and double, rounded.
fn points(probe: &Probe) -> Vec<(f64, f64)> {
    let all = [probe.half, Some(probe.measured), Some(probe.double)];
    all.into_iter().flatten().map(|point| (point.lanes, (point.ops_per_s / 10.0).round() * 10.0)).collect()
}

#[test]
fn a_target_that_takes_its_time_for_each_has_room() {
    let lab = Lab::new();
    let (result, probe) = probed(&lab, &experiment("latency=1ms", ""));
    assert_eq!(points(&probe), [(2.0, 2000.0), (4.0, 4000.0), (8.0, 8000.0)]);
    assert_eq!((probe.says, probe.seconds), (ProbeFinding::Room, 2.0));
    let limit = result.limit.unwrap();
    assert_eq!((limit.bound, limit.cause, limit.confidence), (Bound::Tool, Cause::Depth, Confidence::High));
    let says = "twice the operations in flight (8) gave 2.00 times the throughput and 1.00 times the latency";
    assert!(limit.sentence.contains(says), "{}", limit.sentence);
    let stages: Vec<&str> = result.stages.iter().map(|stage| &*stage.name).collect();
    assert_eq!(stages, ["prepare", "warm-up", "measure", "probe", "probe"]);
    lab.assert_clean();
}

#[test]
fn a_full_target_gives_no_more() {
    let lab = Lab::new();
    // 4 KiB through a pipe of 4.096 MB/s: 1 ms each, in sequence.
    let (result, probe) = probed(&lab, &experiment("latency=1us&bandwidth=4.096MB/s", ""));
    assert_eq!(points(&probe), [(2.0, 1000.0), (4.0, 1000.0), (8.0, 1000.0)]);
    assert_eq!(probe.says, ProbeFinding::Full);
    let says = "the target or the path is full";
    assert!(result.limit.unwrap().sentence.ends_with(says));
}

#[test]
fn a_rate_is_halved_and_doubled() {
    let lab = Lab::new();
    let (result, probe) = probed(&lab, &experiment("latency=1ms", ", rate: 1000/s"));
    assert_eq!(points(&probe), [(4.0, 500.0), (4.0, 1000.0), (4.0, 2000.0)]);
    let asked = [probe.half.unwrap(), probe.measured, probe.double].map(|point| point.asked_ops_per_s);
    assert_eq!(asked, [Some(500.0), Some(1000.0), Some(2000.0)]);
    assert_eq!(result.limit.unwrap().cause, Cause::Rate, "what was measured kept its rate");
    let (_, probe) = probed(&lab, &experiment("latency=1ms", ", rate: 3500/s"));
    assert_eq!((probe.says, probe.double.ops_per_s.round()), (ProbeFinding::Full, 4000.0));
}

#[test]
fn the_figures_are_those_without_a_probe() {
    let lab = Lab::new();
    let text = experiment("latency=exponential 1ms&noise=10%", "");
    let (with, _) = probed(&lab, &text);
    let intervals = |lab: &Lab, stage: &str| {
        let store = lab.store();
        let run = store.run("last").unwrap().id;
        store.intervals(&run, 0, stage, 0, 0..u32::MAX).unwrap().count()
    };
    let measured = intervals(&lab, "measure");
    assert!(intervals(&lab, "probe") > 0, "trials are kept, as a stage of their own");
    lab.run(&text.replace(", probe: 2s", ""));
    let without = lab.results().remove(0);
    assert_eq!(
        (&with.total, &with.steady, with.measured_s),
        (&without.total, &without.steady, without.measured_s)
    );
    assert_eq!((measured, intervals(&lab, "probe")), (intervals(&lab, "measure"), 0));
    assert!(without.limit.is_none(), "on a virtual clock nothing is seen of hosts");
}

#[test]
fn hosts_are_probed_together() {
    let lab = Lab::new();
    let file = lab.experiment("fleet.yaml", &experiment("latency=1ms", ""));
    let ended = run(lab.command().args(["--local", "3", "--output", "json"]).arg(file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let probe: Probe =
        serde_json::from_value(document["cells"][0]["result"]["limit"]["probe"].clone()).unwrap();
    assert_eq!(points(&probe), [(6.0, 6000.0), (12.0, 12_000.0), (24.0, 24_000.0)]);
}

#[test]
fn the_flag_asks_for_it_and_what_cannot_be_probed_says_why() {
    let lab = Lab::new();
    let plain = experiment("latency=1ms", "").replace(", probe: 2s", "");
    let with = |lab: &Lab, text: &str, flag: &str| {
        let file = lab.experiment("experiment.yaml", text);
        run(lab.command().arg(flag).arg(file))
    };
    let ended = with(&lab, &plain, "--probe");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.results()[0].limit.as_ref().unwrap().probe.as_ref().unwrap().seconds, 5.0);
    let verified = plain.replace("file_size: 1MiB", "file_size: 1MiB, verify: true");
    let ended = with(&lab, &verified, "--probe=1s");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("no probe: its data is verified"), "{}", ended.stderr);
    with(&lab, &plain, "--probe=500ms").assert_one_line(2, &["--probe=500ms", "at least one second"]);
    let short = lab.run(&experiment("latency=1ms", "").replace("probe: 2s", "probe: 10ms"));
    assert_eq!(short.code, Some(2), "{short:#?}");
    assert!(short.stderr.contains("a trial of a probe takes at least one second"), "{}", short.stderr);
    let url = run(lab.command().args(["sim:?latency=1ms", "--print-experiment", "--probe=3s"]));
    assert!(url.stdout.contains("probe: 3s"), "{}", url.stdout);
}

#[test]
fn a_cell_that_writes_can_be_probed_and_the_next_one_finds_what_it_needs() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA'}
workloads:
  write: {ops: write, queue_depth: 2, files: 2, file_size: 1MiB, block_size: 4KiB}
  read: {ops: read, verify: true, queue_depth: 2, files: 2, file_size: 1MiB, block_size: 4KiB}
stages: {warm_up: 0s, measure: 1s, probe: 1s}
steady: none
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let results = lab.results();
    assert_eq!(results.iter().map(|result| result.total.failed).sum::<u64>(), 0);
    let probed = |result: &CellResult| result.limit.as_ref().is_some_and(|limit| limit.probe.is_some());
    assert_eq!(results.iter().filter(|result| probed(result)).count(), 1, "what is compared is not probed");
    lab.assert_clean();
}
