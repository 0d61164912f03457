//! Baselines: the stored run that a new run is compared against, and the name under which a run is kept.

use store::{Baseline, CellRecord, RunRecord, State, Store, StoreError};

use crate::begin::RunError;
use crate::options::RunOptions;
use crate::timestamp;

/// Looks up the requested baseline and checks that the new name is free, before anything is measured.
///
/// # Errors
/// No baseline of this name exists, or the new name cannot be used.
pub fn asked(store: &Store, options: &RunOptions) -> Result<Option<Baseline>, RunError> {
    let usage = |error: StoreError| RunError::Usage(error.to_string());
    options.save_baseline.as_deref().map_or(Ok(()), Baseline::check_name).map_err(usage)?;
    options.baseline.as_deref().map(|name| store.baseline(name)).transpose().map_err(usage)
}

/// Keeps a run as a baseline; returns a line that says so.
///
/// # Errors
/// One line: the run did not finish or measured nothing, or the results file cannot be written.
pub fn keep(store: &Store, run: &RunRecord, cells: &[CellRecord], name: &str) -> Result<String, String> {
    let refused = |why: &str, next: &str| format!("--save-baseline {name}: not kept: {why}; next: {next}");
    if run.state != State::Finished {
        let next = format!("manometer run --resume {} --save-baseline {name}", run.id);
        return Err(refused("the run did not come to its end", &next));
    }
    let kept = Baseline::of_run(name, timestamp::now(), run, cells);
    let kept = kept.ok_or_else(|| refused("no cell measured anything", "look at what its cells say"))?;
    store.save_baseline(&kept).map_err(|error| error.to_string())?;
    Ok(format!("kept as baseline {name} in {}", store.path().display()))
}
