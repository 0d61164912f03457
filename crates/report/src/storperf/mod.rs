//! A run as `StorPerf` (OPNFV) reports a job, for pipelines that read its reports.
//!
//! The structure, the names of the metrics and their units are `StorPerf`'s. Its rule is too, but it gets what happened
//! within each minute, where the original got averages since the start, which flatten by themselves.

mod criteria;
mod names;
mod samples;

use std::collections::BTreeMap;

use experiment::{Cell, SteadyRule};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use stats::storperf;
use store::{RunRecord, Store, StoreError};

use criteria::criteria;
use names::metric_key;
use samples::{DIRECTIONS, StorperfSamples};

pub use names::{CellNames, cell_key, host_key};
pub use samples::{StorperfMetric, StorperfSums};

/// Samples that decide whether a cell is steady, unless the cell's own rule is `StorPerf`'s and says how many.
const USUAL_SAMPLES: usize = 10;
/// Length of a sample, unless that rule says so.
const USUAL_SAMPLE_S: f64 = 60.0;

/// What `StorPerf` writes for what nobody told it.
const UNKNOWN: &str = "Unknown";

/// The report of a run, also while it runs: `project_name` to `details`, with the samples of each cell.
///
/// Cells that measured nothing have no series, and are not steady.
///
/// # Errors
/// The results file cannot be read.
pub fn storperf_report(store: &Store, run: &RunRecord) -> Result<Value, StoreError> {
    let (mut metrics, mut steady, mut data) = (Map::new(), BTreeMap::new(), Map::new());
    let cells = store.cells(&run.id)?;
    for (cell, key) in run.plan.cells.iter().zip(storperf_cell_keys(&run.plan.cells)) {
        let (count, sample_s) = match cell.steady {
            SteadyRule::Storperf { samples, sample_s } => (samples as usize, sample_s),
            _ => (USUAL_SAMPLES, USUAL_SAMPLE_S),
        };
        let measured = cells.iter().find(|record| record.index == cell.index);
        let samples = measured
            .map(|record| StorperfSamples::of(store, run, record, sample_s))
            .transpose()?
            .unwrap_or_default();
        let (mut of_cell, mut is_steady) = (Map::new(), !samples.is_empty());
        for metric in StorperfMetric::ALL {
            let mut of_metric = Map::new();
            for (direction, name) in DIRECTIONS {
                let series = samples.last(metric, direction, count);
                if let Some(average) = storperf::average(&series) {
                    metrics.insert(metric_key(&key, name, metric.name()), json!(average));
                }
                is_steady &= storperf::is_steady(&series, count);
                of_metric.insert(name.to_owned(), series_json(&series, count));
            }
            of_cell.insert(metric.name().to_owned(), of_metric.into());
        }
        steady.insert(key.clone(), is_steady);
        data.insert(key, of_cell.into());
    }
    let criteria = criteria(steady.iter().map(|(name, steady)| (name.as_str(), *steady)));
    let mut report = json!({
        "project_name": "storperf",
        "installer": "Unknown_installer",
        "criteria": criteria,
        "details": { "metrics": metrics, "steady_state": steady, "report_data": data },
    });
    for key in ["pod_name", "version", "scenario", "build_tag", "test_case", "case_name"] {
        report[key] = UNKNOWN.into();
    }
    for (key, value) in dates(run.started, run.finished.unwrap_or(run.started)) {
        report[key] = value;
    }
    Ok(report)
}

/// The keys of a plan's cells in `StorPerf`'s reports, as in `rw.queue-depth.8.block-size.4k`.
pub fn storperf_cell_keys(cells: &[Cell]) -> Vec<String> {
    let mut names = CellNames::default();
    cells.iter().map(|cell| names.of(cell)).collect()
}

/// Start, end and length of a job. Times are in UTC.
fn dates(started: Timestamp, finished: Timestamp) -> [(&'static str, Value); 4] {
    let text = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%S").to_string().into();
    [
        ("start_date", text(started)),
        ("stop_date", text(finished)),
        ("timestart", started.as_second().into()),
        ("duration", (finished.as_second() - started.as_second()).into()),
    ]
}

fn series_json(series: &[(f64, f64)], samples: usize) -> Value {
    json!({
        "series": series,
        "steady_state": storperf::is_steady(series, samples),
        "slope": storperf::slope(series),
        "range": storperf::range(series),
        "average": storperf::average(series),
        "series_slope": storperf::series_slope(series),
        "series_min": storperf::series_min(series),
        "series_max": storperf::series_max(series),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `StorPerf`'s own tests.
    #[test]
    fn every_vector() {
        let text = include_str!("../../tests/data/storperf-vectors.json");
        let file: Value = serde_json::from_str(text).unwrap();
        let vectors = file["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 3);
        for vector in vectors {
            let (input, expected) = (&vector["input"], &vector["expected"]);
            let cells = input["steady_state"].as_object().unwrap();
            let found = criteria(cells.iter().map(|(name, steady)| (name.as_str(), steady == true)));
            assert_eq!(expected["criteria"], found, "{vector}");
            if let (Some(start), Some(end)) = (input["start_time"].as_i64(), input["end_time"].as_i64()) {
                let at = |second| Timestamp::from_second(second).unwrap();
                dates(at(start), at(end)).iter().for_each(|(key, value)| assert_eq!(&expected[*key], value));
            }
        }
    }
}
