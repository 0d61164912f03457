//! What a scrape sees.

use std::collections::{BTreeMap, BTreeSet};

use experiment::Plan;
use metrics::OpKind;
use runner::test_support::interval;
use runner::{Events, RunEvent};
use serde_json::json;
use stats::limit::{Bottleneck, Bound, Cause, Confidence};
use store::{CellRecord, CellResult, State};

use super::families::QUANTILES;
use super::*;
use crate::current::{MAX_CELLS, MAX_ENDED, MAX_HOST_POINTS};

fn plan(cells: usize) -> Plan {
    let sizes: Vec<String> = (1..=cells).map(|number| format!("{}KiB", number * 4)).collect();
    let text = format!(
        "name: 'say \"hi\"'\ntargets: {{disk: 'sim:?latency=1ms'}}\nworkloads: {{rand: {{ops: {{read: 70%, write: 30%}}, \
         file_size: 1MiB, files: 1}}}}\nmatrix: {{block_size: [{}]}}\nstages: {{measure: 1s}}\nsteady: none\n",
        sizes.join(", ")
    );
    crate::test_support::plan(&text)
}

fn scrape(run: &Arc<CurrentRun>) -> String {
    let run = Arc::clone(run);
    text(&registry(move || vec![Arc::clone(&run)])).unwrap()
}

fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
}

#[test]
fn a_scrape_has_the_current_interval_and_all_since_the_stage_began() {
    let run = Arc::new(CurrentRun::new("k3nq8x2a", &plan(1)));
    for index in 0..3 {
        let read = (OpKind::Read, 100, 4096, 1_500_000);
        run.event(RunEvent::Interval {
            cell: 0,
            stage: "measure",
            trial: 0,
            interval: &interval(index, &[read]),
        });
    }
    let text = scrape(&run);
    let labels = "run=\"k3nq8x2a\",experiment=\"say \\\"hi\\\"\",cell=\"0\",target=\"disk\",stage=\"measure\",operation=\"read\"";
    assert_eq!(value(&text, &format!("manometer_operations_per_second{{{labels}}}")), 100.0);
    assert_eq!(value(&text, &format!("manometer_payload_bytes_total{{{labels}}}")), 3.0 * 100.0 * 4096.0);
    assert_eq!(value(&text, &format!("manometer_response_time_seconds_count{{{labels}}}")), 300.0);
    let bucket =
        |le: &str| value(&text, &format!("manometer_response_time_seconds_bucket{{le=\"{le}\",{labels}}}"));
    assert_eq!((bucket("0.0013"), bucket("0.0018"), bucket("+Inf")), (0.0, 300.0, 300.0));
    let p99 =
        value(&text, &format!("manometer_interval_response_time_seconds{{{labels},quantile=\"0.99\"}}"));
    assert!((p99 / 0.0015 - 1.0).abs() < 0.01, "{p99}");
    assert!(text.contains("workload=\"rand\"") && text.ends_with("# EOF\n"), "{text}");

    // Another stage begins at zero.
    let write = (OpKind::Write, 10, 4096, 1000);
    run.event(RunEvent::Interval { cell: 0, stage: "verify", trial: 0, interval: &interval(0, &[write]) });
    let text = scrape(&run);
    assert!(!text.contains("operation=\"read\""), "{text}");
    assert!(text.contains("stage=\"verify\",operation=\"write\"} 10\n"), "{text}");
}

#[test]
fn the_number_of_series_is_bounded() {
    let run = Arc::new(CurrentRun::new("k3nq8x2a", &plan(40)));
    let ops: Vec<_> = OpKind::ALL.iter().map(|op| (*op, 1, 1, 1000)).collect();
    let (one, all) = (interval(0, &ops[..1]), interval(0, &ops));
    for cell in 0..40 {
        for host in 0..200 {
            let host = format!("host{host}");
            run.event(RunEvent::HostInterval {
                cell,
                stage: "measure",
                trial: 0,
                host: &host,
                interval: &one,
            });
        }
        run.event(RunEvent::Interval { cell, stage: "measure", trial: 0, interval: &all });
    }
    let text = scrape(&run);
    let mut series: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        *series.entry(line.split('{').next().unwrap()).or_default() += 1;
    }
    let points = MAX_CELLS * OpKind::COUNT;
    assert_eq!(series["manometer_operations_per_second"], points);
    assert_eq!(series["manometer_interval_response_time_seconds"], points * QUANTILES.len());
    assert_eq!(series["manometer_response_time_seconds_bucket"], points * (crate::buckets::BOUNDS + 1));
    assert_eq!(series["manometer_host_operations_per_second"], MAX_HOST_POINTS);
    assert_eq!(series["manometer_cell"], MAX_CELLS);
    assert!(
        value(&text, "manometer_intervals_left_out{run=\"k3nq8x2a\",experiment=\"say \\\"hi\\\"\"}") > 0.0
    );
    let most = points * (crate::buckets::BOUNDS + 16) + 3 * MAX_HOST_POINTS + 100;
    assert!(series.values().sum::<usize>() < most, "{series:?}");
}

#[test]
fn an_operation_that_stalls_is_zero_not_absent() {
    let run = Arc::new(CurrentRun::new("k3nq8x2a", &plan(1)));
    for (index, count) in [(0, 7), (1, 0)] {
        let stage = "measure";
        let interval = interval(index, &[(OpKind::Read, count, 4096, 1000)]);
        run.event(RunEvent::HostInterval { cell: 0, stage, trial: 0, host: "node1", interval: &interval });
        run.event(RunEvent::Interval { cell: 0, stage, trial: 0, interval: &interval });
    }
    let text = scrape(&run);
    let zeros = text.lines().filter(|line| line.contains("operations_per_second{") && line.ends_with(" 0.0"));
    assert_eq!(zeros.count(), 2, "all hosts, and one: {text}");
    assert!(!text.contains("quantile="), "nothing has a latency: {text}");
}

#[test]
fn ended_cells_have_a_verdict_and_what_limited_them() {
    let run = Arc::new(CurrentRun::new("k3nq8x2a", &plan(1)));
    for _ in 0..2 * MAX_ENDED {
        run.event(RunEvent::CellEnded(&ended()));
    }
    let text = scrape(&run);
    let cell = "run=\"k3nq8x2a\",experiment=\"say \\\"hi\\\"\",cell=\"0\",target=\"disk\"";
    assert_eq!(value(&text, &format!("manometer_cell_verdict{{{cell}}}")), 1.0);
    let limit = format!("{cell},bound=\"target\",cause=\"service\",place=\"\"");
    assert_eq!(value(&text, &format!("manometer_cell_limit{{{limit}}}")), 2.0);
    assert_eq!(value(&text, &format!("manometer_cell_limit_utilisation{{{limit}}}")), 0.75);
    assert_eq!(value(&text, &format!("manometer_cell_evidence{{{cell},evidence=\"cpu.busiest\"}}")), 0.25);
    let verdicts = text.lines().filter(|line| line.starts_with("manometer_cell_verdict{")).count();
    assert_eq!(verdicts, 1, "a cell ends once");
}

/// A cell that ended with a result.
fn ended() -> CellRecord {
    let zero = json!({ "mean": 0.0, "low": 0.0, "high": 0.0, "deviation": 0.0, "samples": 0, "effective_samples": 0.0,
        "autocorrelation": 0.0 });
    let latency = json!({ "count": 0, "min_ns": 0, "mean_ns": 0.0, "p50_ns": 0, "p90_ns": 0, "p95_ns": 0, "p99_ns": 0,
        "p999_ns": 0, "p9999_ns": 0, "max_ns": 0 });
    let result = json!({
        "measured_s": 1.0, "window_start_s": 0.0, "window_end_s": 1.0, "ops": [], "open_loop": null, "stages": [],
        "gates": [], "error_samples": [], "cache": "kept", "target": {},
        "steady": { "rule": "none", "reached": true, "reason": "", "window": { "first": 0, "end": 1 }, "criteria": [],
            "series": [], "shape": "flat", "regimes": [], "pts": [], "notes": [] },
        "total": { "op": null, "ok": 0, "failed": 0, "errors": {}, "bytes": 0, "rpcs": 0, "retries": 0,
            "bytes_per_s": zero, "ops_per_s": zero, "service": latency, "response": latency, "p99_ns": zero },
        "verdict": { "validity": "WARN", "reasons": [] },
        "client": { "cpu.busiest": 0.25 },
    });
    let mut result: CellResult = serde_json::from_value(result).unwrap();
    result.limit = Some(Box::new(Bottleneck {
        bound: Bound::Target,
        cause: Cause::Service,
        confidence: Confidence::Medium,
        place: String::new(),
        share: Some(0.75),
        sentence: String::new(),
        next: String::new(),
        evidence: Vec::new(),
        hosts: Vec::new(),
        servers: Vec::new(),
        doubts: Vec::new(),
        probe: None,
    }));
    let state = State::Finished;
    CellRecord { index: 0, state, started: None, finished: None, result: Some(result), failure: None }
}

/// The names of all metrics, as queries write them.
fn names() -> BTreeSet<String> {
    let text = scrape(&Arc::new(CurrentRun::new("k3nq8x2a", &plan(1))));
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "histogram" => format!("{name}_bucket"),
            _ => name.to_owned(),
        })
        .collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let dashboard = include_str!("../../../../examples/grafana/manometer.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    assert!(dashboard["schemaVersion"].as_u64().is_some() && dashboard["uid"].is_string());
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let names = names();
    for panel in panels {
        let place = &panel["gridPos"];
        assert!(place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24, "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let words = target["expr"].as_str().unwrap();
            let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let asked: Vec<_> = words.filter(|word| word.starts_with("manometer_")).collect();
            assert!(!asked.is_empty(), "{target}");
            assert!(asked.iter().all(|name| names.contains(*name)), "{target}");
        }
    }
}

#[test]
fn the_document_lists_every_metric() {
    let document = include_str!("../../../../docs/metrics.md");
    for name in names() {
        let name = name.trim_start_matches("manometer_").trim_end_matches("_bucket");
        assert!(document.contains(&format!("`{name}`")), "docs/metrics.md does not list {name}");
    }
}
