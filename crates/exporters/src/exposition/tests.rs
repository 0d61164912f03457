//! What a scrape sees.

use std::collections::BTreeMap;

use experiment::Plan;
use metrics::OpKind;
use runner::test_support::interval;
use runner::{Events, RunEvent};

use super::*;
use crate::current::{MAX_CELLS, MAX_HOST_POINTS};

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
