//! What a cell found, kept in memory for those who ask for it.

use std::sync::PoisonError;

use experiment::{Cell, SteadyRule};
use store::CellResult;

use super::context::Context;
use super::job;
use super::measure::Measured;
use crate::fio::outcome::{CellOutcome, Failure, Samples};

/// Keeps what a cell found.
pub fn keep(context: &Context, cell: &Cell, measured: &Measured, result: &CellResult) {
    put(context, || CellOutcome {
        load: Some(measured.result.clone()),
        samples: measured.samples.clone(),
        steady: (cell.steady != SteadyRule::None).then(|| measured.steady.clone()),
        failure: job::fault(measured),
        verdict: Some(result.verdict.clone()),
        limit: result.limit.as_deref().cloned(),
        ..nothing(cell)
    });
}

/// Keeps why a cell could not be run.
pub fn keep_failure(context: &Context, cell: &Cell, failure: Option<&str>) {
    let failure = failure.map(|text| Failure { code: libc::EIO, text: text.to_owned() });
    put(context, || CellOutcome { failure, ..nothing(cell) });
}

/// A cell that was not run.
pub fn nothing(cell: &Cell) -> CellOutcome {
    CellOutcome {
        cell: cell.clone(),
        load: None,
        samples: Samples::default(),
        steady: None,
        failure: None,
        verdict: None,
        limit: None,
    }
}

fn put(context: &Context, outcome: impl FnOnce() -> CellOutcome) {
    if let Some(outcomes) = &context.outcomes {
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome());
    }
}
