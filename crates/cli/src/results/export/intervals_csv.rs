//! A run as CSV (RFC 4180): a row per interval and operation, for all hosts combined and for each. Column names contain
//! the units.

use std::io::Write;

use anyhow::Result;
use experiment::Cell;
use store::{RunRecord, SeriesPoint, StageKey, Store};

use super::SeriesChoice;
use super::csv::row;

const COLUMNS: [&str; 24] = [
    "run",
    "cell",
    "name",
    "stage",
    "trial",
    "interval",
    "start_s",
    "length_s",
    "op",
    "ok",
    "failed",
    "bytes",
    "rpcs",
    "retries",
    "ops_per_s",
    "bytes_per_s",
    "response_mean_ns",
    "response_p50_ns",
    "response_p99_ns",
    "response_p999_ns",
    "response_max_ns",
    "workload",
    "repetition",
    "target",
];

/// Streams a row per interval and operation.
///
/// # Errors
/// The results file cannot be read, or the output cannot be written.
pub fn write(store: &Store, run: &RunRecord, series: SeriesChoice, out: &mut dyn Write) -> Result<()> {
    let mut header = COLUMNS.to_vec();
    header.extend(series.hosts.then_some("host"));
    row(out, &header)?;
    for cell in &run.plan.cells {
        series.each(store, run, cell.index, &mut |key, host| {
            let of = (key.stage.as_str(), key.trial, host.unwrap_or(""));
            for point in store.host_series_of(&run.id, cell.index, of, 0..u32::MAX)? {
                let mut cells = of_point(run, cell, key, &point?);
                cells.extend(series.hosts.then(|| host.unwrap_or("").to_owned()));
                row(out, &cells)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn of_point(run: &RunRecord, cell: &Cell, key: &StageKey, point: &SeriesPoint) -> Vec<String> {
    let length_s = point.length_ns as f64 / 1e9;
    let rate = |count: u64| if length_s > 0.0 { count as f64 / length_s } else { 0.0 };
    let time = |ns: u64| if point.ok > 0 { ns.to_string() } else { String::new() };
    vec![
        run.id.clone(),
        cell.index.to_string(),
        cell.name.clone(),
        key.stage.clone(),
        key.trial.to_string(),
        point.interval.to_string(),
        (point.start_ns as f64 / 1e9).to_string(),
        length_s.to_string(),
        point.op.map_or("", metrics::OpKind::name).to_owned(),
        point.ok.to_string(),
        point.failed.to_string(),
        point.bytes.to_string(),
        point.rpcs.to_string(),
        point.retries.to_string(),
        rate(point.ok).to_string(),
        rate(point.bytes).to_string(),
        if point.ok > 0 { point.mean_ns.to_string() } else { String::new() },
        time(point.p50_ns),
        time(point.p99_ns),
        time(point.p999_ns),
        time(point.max_ns),
        cell.workload_name.clone(),
        cell.repetition.to_string(),
        cell.target.name.clone(),
    ]
}
