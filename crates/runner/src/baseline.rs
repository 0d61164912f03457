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

/// Why a run is not kept as a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineNotKept {
    /// It did not come to its end.
    #[error(
        "--save-baseline {name}: not kept: the run did not come to its end; next: manometer run --resume {run} \
         --save-baseline {name}"
    )]
    Unfinished {
        /// The name that was asked for.
        name: String,
        /// The run's id.
        run: String,
    },
    /// It has no figures.
    #[error("--save-baseline {name}: not kept: no cell measured anything; next: look at what its cells say")]
    NothingMeasured {
        /// The name that was asked for.
        name: String,
    },
    /// The results file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps a run as a baseline; returns a line that says so.
///
/// # Errors
/// The run did not finish or measured nothing, or the results file cannot be written.
pub fn keep(
    store: &Store,
    run: &RunRecord,
    cells: &[CellRecord],
    name: &str,
) -> Result<String, BaselineNotKept> {
    if run.state != State::Finished {
        return Err(BaselineNotKept::Unfinished { name: name.to_owned(), run: run.id.clone() });
    }
    let kept = Baseline::of_run(name, timestamp::now(), run, cells);
    let kept = kept.ok_or_else(|| BaselineNotKept::NothingMeasured { name: name.to_owned() })?;
    store.save_baseline(&kept)?;
    Ok(format!("kept as baseline {name} in {}", store.path().display()))
}
