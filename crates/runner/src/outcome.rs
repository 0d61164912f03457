//! Results of a cell, kept in memory for callers that ask for them.

use std::sync::PoisonError;

use experiment::{Cell, SteadyRule};
use fleet::PartResult;
use store::CellResult;

use super::context::Context;
use super::job;
use super::measure::Measured;
use crate::job_outcome::{CellOutcome, HostOutcome, JobFailure, Samples};

/// Keeps the results of a cell.
pub fn keep(context: &Context, cell: &Cell, measured: &Measured, result: &CellResult) {
    put(context, || CellOutcome {
        load: Some(measured.result.clone()),
        samples: measured.samples.clone(),
        steady: (cell.steady != SteadyRule::None).then(|| measured.steady.clone()),
        failure: job::fault(cell, measured),
        verdict: Some(result.verdict.clone()),
        limit: result.limit.as_deref().cloned(),
        hosts: hosts(context, measured),
        ..nothing(cell)
    });
}

/// Each host of a fleet separately.
fn hosts(context: &Context, measured: &Measured) -> Vec<HostOutcome> {
    if !context.host_group.tells_hosts_apart() {
        return Vec::new();
    }
    let of_part = |part: &PartResult| HostOutcome {
        name: part.name.clone(),
        load: part.result.clone(),
        samples: measured.host_samples.get(&part.member).cloned().unwrap_or_default(),
        failure: job::fault_of_host(part),
    };
    measured.parts.iter().map(of_part).collect()
}

/// Keeps the reason why a cell could not run.
pub fn keep_failure(context: &Context, cell: &Cell, failure: Option<&str>) {
    let failure = failure.map(|text| JobFailure { code: libc::EIO, text: text.to_owned() });
    put(context, || CellOutcome { failure, ..nothing(cell) });
}

/// A cell that did not run.
pub fn nothing(cell: &Cell) -> CellOutcome {
    CellOutcome {
        cell: cell.clone(),
        load: None,
        samples: Samples::default(),
        steady: None,
        failure: None,
        verdict: None,
        limit: None,
        hosts: Vec::new(),
    }
}

fn put(context: &Context, outcome: impl FnOnce() -> CellOutcome) {
    if let Some(outcomes) = &context.outcomes {
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome());
    }
}
