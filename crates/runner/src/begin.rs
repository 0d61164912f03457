//! Starting a run, new or interrupted, and opening its results file.

use std::path::PathBuf;

use experiment::Plan;
use provision::{Journal, Run, RunId, RunIdError};
use store::{Baseline, CellRecord, MADE_BY, RunMaker, RunRecord, State, Store};
use targets::Finding;

use super::baseline;
use crate::events::Events;
use crate::options::RunOptions;
use crate::timestamp::now;

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The request cannot be carried out: one line, with what to do about it.
    #[error("{0}")]
    Usage(String),
    /// Targets that cannot be used: every fault, a line each. Nothing was created or written.
    #[error("{}", .0.iter().map(|fault| &*fault.text).collect::<Vec<_>>().join("; "))]
    NotReady(Vec<Finding>),
    /// Anything else: one line.
    #[error("{0}")]
    Failure(String),
}

/// A run that is ready to start.
pub struct Begun {
    /// The run's id and plan.
    pub record: RunRecord,
    /// The cells as an earlier attempt left them; empty for a new run.
    pub cells: Vec<CellRecord>,
    /// The results file.
    pub store: Store,
    /// The journal.
    pub run: Run,
    /// The baseline that the results are compared against.
    pub baseline: Option<Baseline>,
    /// The run continues an interrupted one.
    pub resumed: bool,
}

/// Prepares a new run of `plan`.
///
/// # Errors
/// The results file or the journal cannot be written.
pub fn new_run(plan: Plan, options: &RunOptions) -> Result<Begun, RunError> {
    let usage = |error: store::StoreError| RunError::Usage(error.to_string());
    let store = match &options.database {
        Some(server) => Store::open_server(server).map_err(usage)?,
        None => Store::open(&results(options, plan.results.as_deref())?).map_err(usage)?,
    };
    let baseline = baseline::asked(&store, options)?;
    let id = options.id.clone().unwrap_or_else(RunId::random);
    let run = journal(options)?.begin(&id).map_err(|error| RunError::Failure(error.to_string()))?;
    let record = RunRecord {
        id: id.to_string(),
        name: plan.name.clone(),
        started: now(),
        finished: None,
        state: State::Running,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        environment: store::Environment::default(),
        hosts: Vec::new(),
        plan,
    };
    Ok(Begun { record, cells: Vec::new(), store, run, baseline, resumed: false })
}

/// Resumes an interrupted run.
///
/// # Errors
/// There is no such run, it has finished, it is still running, or the named file is a different experiment.
pub fn resume(
    wanted: &str,
    given: Option<Plan>,
    options: &RunOptions,
    events: &dyn Events,
) -> Result<Begun, RunError> {
    let usage = |text: String| RunError::Usage(text);
    let store = match &options.database {
        Some(server) => Store::open_server(server),
        None => {
            Store::open_existing(&results(options, given.as_ref().and_then(|plan| plan.results.as_deref()))?)
        }
    }
    .map_err(|error| usage(error.to_string()))?;
    let record = store.run(wanted).map_err(|error| usage(error.to_string()))?;
    let cells = store.cells(&record.id).map_err(|error| RunError::Failure(error.to_string()))?;
    if let Some(given) = given
        && given != record.plan
    {
        return Err(usage(format!(
            "this is not the experiment of run {}: it was changed, or run with other flags; \
             next: omit FILE to resume the stored plan, or start a new run",
            record.id
        )));
    }
    if let Some(maker) = record.environment.facts.get(MADE_BY) {
        let what = RunMaker::of_command(maker).map_or(maker.as_str(), |known| known.noun());
        return Err(usage(format!(
            "run {} is a {what}: only runs of experiments can be resumed; next: start again with `manometer {maker}`",
            record.id
        )));
    }
    let left = cells.iter().filter(|cell| cell.state != State::Finished).count();
    if left == 0 {
        return Err(usage(format!(
            "run {} is finished: there is nothing to resume; next: manometer report {}",
            record.id, record.id
        )));
    }
    let baseline = baseline::asked(&store, options)?;
    let id: RunId = record.id.parse().map_err(|error: RunIdError| usage(error.to_string()))?;
    store.resume_run(&record.id).map_err(|error| usage(error.to_string()))?;
    let run = journal(options)?.reopen(&id).map_err(|error| usage(error.to_string()))?;
    events.note(&format!("resuming run {}: {left} of {} cells are left", record.id, cells.len()));
    Ok(Begun { record, cells, store, run, baseline, resumed: true })
}

/// Path of the results file: from the command line, else from the experiment, else in the user's data directory.
fn results(options: &RunOptions, plan: Option<&str>) -> Result<PathBuf, RunError> {
    match (&options.results, plan) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(path)) => Ok(PathBuf::from(path)),
        (None, None) => store::default_path().map_err(|error| RunError::Usage(error.to_string())),
    }
}

fn journal(options: &RunOptions) -> Result<Journal, RunError> {
    let failure = |error: provision::ProvisionError| RunError::Failure(error.to_string());
    let directory = match &options.journal {
        Some(directory) => directory.clone(),
        None => Journal::default_directory().map_err(failure)?,
    };
    Journal::open(&directory).map_err(failure)
}
