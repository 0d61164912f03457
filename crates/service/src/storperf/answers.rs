//! What clients read about a job: its status, metrics, metadata and report, in `StorPerf`'s structure.

use serde_json::{Map, Value, json};
use store::{RunRecord, State, Store, StoreError};

use super::job::StorperfJob;
use crate::database::{AskedRun, AskedState};

/// A job's state in `StorPerf`'s words, and in further ones where its own would say that a failed job completed.
const fn word(state: AskedState) -> &'static str {
    match state {
        AskedState::Queued => "Queued",
        AskedState::Running => "Running",
        AskedState::Finished => "Completed",
        AskedState::Interrupted => "Interrupted",
        AskedState::Failed => "Failed",
        AskedState::Cancelled => "Cancelled",
    }
}

/// The job's status; of one that runs, the state of each cell.
///
/// # Errors
/// The results file cannot be read.
pub(crate) fn status(run: &AskedRun, stored: Option<&(Store, RunRecord)>) -> Result<Value, StoreError> {
    let mut status = json!({ "Status": word(run.state) });
    if let Some(reason) = &run.reason {
        status["Reason"] = reason.as_str().into();
    }
    if let (AskedState::Running, Some((store, record))) = (run.state, stored) {
        let cells = store.cells(&record.id)?;
        let state = |index: u32| match cells.iter().find(|cell| cell.index == index).map(|cell| cell.state) {
            None | Some(State::Pending) => "Pending",
            Some(State::Running) => "Running",
            Some(State::Finished | State::Interrupted | State::Failed) => "Completed",
        };
        let keys = report::storperf_cell_keys(&record.plan.cells);
        let states = record.plan.cells.iter().zip(keys);
        let states: Map<String, Value> =
            states.map(|(cell, key)| (format!("{}.{key}", run.id), state(cell.index).into())).collect();
        status["Workloads"] = states.into();
    }
    Ok(status)
}

/// The average of each metric over the last samples, by name; empty before the first sample.
///
/// # Errors
/// The results file cannot be read.
pub(crate) fn metrics(stored: Option<&(Store, RunRecord)>) -> Result<Value, StoreError> {
    let Some((store, record)) = stored else { return Ok(json!({})) };
    let mut report = report::storperf_report(store, record)?;
    Ok(report["details"]["metrics"].take())
}

/// The job's parameters, and once it has ended its report.
///
/// # Errors
/// The results file cannot be read.
pub(crate) fn metadata(
    job: &StorperfJob,
    run: &AskedRun,
    stored: Option<&(Store, RunRecord)>,
) -> Result<Value, StoreError> {
    let mut metadata = job.metadata.clone();
    if let Some(report) = finished_report(job, run, stored)? {
        metadata.insert("report".to_owned(), report);
    }
    Ok(metadata.into())
}

/// The report of a job that has ended and measured.
///
/// # Errors
/// The results file cannot be read.
pub(crate) fn finished_report(
    job: &StorperfJob,
    run: &AskedRun,
    stored: Option<&(Store, RunRecord)>,
) -> Result<Option<Value>, StoreError> {
    let Some((store, record)) = stored.filter(|_| run.finished.is_some()) else { return Ok(None) };
    let mut report = report::storperf_report(store, record)?;
    for (name, value) in &job.metadata {
        report[name] = value.clone();
    }
    for (name, value) in job.reported() {
        report[name] = value.clone();
    }
    if let Some(test) = job.metadata.get("test_case") {
        report["case_name"] = test.clone();
    }
    if run.state != AskedState::Finished {
        // A job that broke off may have been steady until then.
        report["criteria"] = "FAIL".into();
    }
    Ok(Some(report))
}
