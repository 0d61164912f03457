//! What is to be run, and where its results go: a new run of a file, or one that was interrupted.

use std::path::{Path, PathBuf};

use experiment::{Plan, Settings, Source};
use provision::{Journal, Run, RunId};
use store::{Baseline, CellRecord, RunRecord, State, Store};

use super::arguments::RunArguments;
use super::baseline;
use crate::messages::Messages;
use crate::moment::now;

/// Why a run cannot begin.
#[derive(Debug)]
pub enum Refusal {
    /// Wrong usage, or something in the file: one line.
    Usage(String),
    /// Faults of the file: each with its place, in several lines.
    Faults(String),
    /// Anything else: one line.
    Failure(String),
}

/// A run that can begin.
pub struct Begun {
    /// The run's id and plan.
    pub record: RunRecord,
    /// The cells as an earlier attempt left them; empty in a new run.
    pub cells: Vec<CellRecord>,
    /// The results file.
    pub store: Store,
    /// The journal.
    pub run: Run,
    /// What the results are to be held against.
    pub baseline: Option<Baseline>,
    /// It goes on where it was interrupted.
    pub resumed: bool,
}

/// Reads the experiment file.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn plan(file: &Path, arguments: &RunArguments) -> Result<Plan, Refusal> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| {
        Refusal::Usage(format!(
            "{name}: {error}; next: name an experiment file, such as those in examples/experiments"
        ))
    })?;
    let text = experiment::decode(&name, &bytes).map_err(|faults| Refusal::Faults(faults.to_string()))?;
    let environment = |name: &str| std::env::var(name).ok();
    let launcher = arguments.fleet.launcher().map_err(Refusal::Usage)?;
    let settings = Settings {
        set: &arguments.set,
        environment: &environment,
        launcher: launcher.as_ref(),
        sharing: arguments.fleet.sharing(),
        read_hosts: &crate::fleet::read_hosts,
    };
    let plan = experiment::parse(&Source { file: &name, text }, &settings)
        .map_err(|faults| Refusal::Faults(faults.to_string()))?;
    let fleet = arguments.fleet.fleet(plan.fleet).map_err(Refusal::Usage)?;
    let plan = Plan { fleet, ..plan };
    if plan.fleet.is_some() {
        crate::fleet::check_for_several(&plan).map_err(Refusal::Usage)?;
    }
    Ok(plan)
}

/// Prepares a new run of `plan`.
///
/// # Errors
/// The results file or the journal cannot be written.
pub fn new(plan: Plan, arguments: &RunArguments) -> Result<Begun, Refusal> {
    let path = results(arguments, plan.results.as_deref())?;
    let store = Store::open(&path).map_err(|error| Refusal::Usage(error.to_string()))?;
    let baseline = baseline::asked(&store, arguments)?;
    let id = RunId::random();
    let run = journal(arguments)?.begin(&id).map_err(|error| Refusal::Failure(error.to_string()))?;
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

/// Takes up an interrupted run.
///
/// # Errors
/// There is no such run, it is over, it is still alive, or the file that is named is another experiment.
pub fn resume(wanted: &str, arguments: &RunArguments, messages: &Messages) -> Result<Begun, Refusal> {
    let usage = |text: String| Refusal::Usage(text);
    let given = arguments.file.as_deref().map(|file| plan(file, arguments)).transpose()?;
    if given.is_none() && !arguments.set.is_empty() {
        return Err(usage("--set: a run that is resumed keeps its stored plan; take --set away".to_owned()));
    }
    let path = results(arguments, given.as_ref().and_then(|plan| plan.results.as_deref()))?;
    let store = Store::open_existing(&path).map_err(|error| usage(error.to_string()))?;
    let record = store.run(wanted).map_err(|error| usage(error.to_string()))?;
    let cells = store.cells(&record.id).map_err(|error| Refusal::Failure(error.to_string()))?;
    if let Some(given) = given
        && given != record.plan
    {
        return Err(usage(format!(
            "the file is not the experiment of run {}: it was changed, or run with other --set; \
             next: leave the file away to go on with the stored plan, or run the file anew",
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
    let baseline = baseline::asked(&store, arguments)?;
    let id: RunId = record.id.parse().map_err(usage)?;
    store.resume_run(&record.id).map_err(|error| usage(error.to_string()))?;
    let run = journal(arguments)?.reopen(&id).map_err(|error| usage(error.to_string()))?;
    messages.note(&format!("run {} goes on: {left} of {} cells are left", record.id, cells.len()));
    Ok(Begun { record, cells, store, run, baseline, resumed: true })
}

/// The results file: as the command line says, else the experiment, else the user's data folder.
fn results(arguments: &RunArguments, plan: Option<&str>) -> Result<PathBuf, Refusal> {
    match (&arguments.results, plan) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(path)) => Ok(PathBuf::from(path)),
        (None, None) => store::default_path().map_err(|error| Refusal::Usage(error.to_string())),
    }
}

fn journal(arguments: &RunArguments) -> Result<Journal, Refusal> {
    let failure = |error: provision::ProvisionError| Refusal::Failure(error.to_string());
    let directory = match &arguments.journal_dir {
        Some(directory) => directory.clone(),
        None => Journal::default_directory().map_err(failure)?,
    };
    Journal::open(&directory).map_err(failure)
}
