//! One run of the service, on its own thread, with its own options, events, stop token and secrets.

mod clean_up;
mod measurement;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use checks::CheckError;
use experiment::{Fleet, Plan};
use exporters::{CurrentRun, Pushes};
use provision::{ProvisionError, RunId, RunIdError};
use runner::progress::SharedProgress;
use runner::{Events, RunError, RunOptions, RunOutcome, StopToken};
use store::{CalibrationError, State, StoreError};
use targets::HeldSecrets;

use crate::agents::LiveAgents;
use crate::database::AskedState;
use crate::event::{MessageEvent, MessageSeverity};
use crate::event_log::EventLog;
use crate::new_work::RunSecrets;
use crate::observer::Observer;
use crate::options::RequestPolicy;
use crate::stored_results::StoredResults;
use crate::work::{RunKind, Work};
pub(crate) use clean_up::CleanUpResult;

/// What a run needs from the service.
pub(crate) struct Task {
    /// Its id.
    pub id: String,
    /// What it does.
    pub kind: RunKind,
    /// What was posted.
    pub text: String,
    /// What is in memory only.
    pub secrets: RunSecrets,
    /// Ends it.
    pub stop: StopToken,
    /// Receives its events.
    pub log: Arc<EventLog>,
    /// Set once it begins.
    pub progress: Arc<OnceLock<Arc<SharedProgress>>>,
    /// Set once its plan is known.
    pub current: Arc<OnceLock<Arc<CurrentRun>>>,
    /// What its agents last reported.
    pub agents: Arc<LiveAgents>,
    /// Receives its measurements.
    pub pushes: Arc<Pushes>,
    /// A device that it may overwrite even if it holds data.
    pub overwrites: Option<PathBuf>,
}

/// Where runs are carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The service's directory.
    pub directory: &'a Path,
    /// What requests may use of this host.
    pub policy: &'a RequestPolicy,
    /// Where results are stored.
    pub results: &'a StoredResults,
    /// The `manometer` program.
    pub program: &'a Path,
    /// The operator's options for ssh.
    pub ssh_options: &'a [String],
}

/// The command that results name.
const COMMAND: &str = "manometer serve";

/// The directory of the journals, below the service's directory.
pub(crate) const JOURNAL: &str = "journal";

/// The directory of what exists only during runs, below the service's directory.
pub(crate) const SCRATCH: &str = "scratch";

/// How a run ended.
pub(crate) struct RunEnd {
    /// Its state from now on.
    pub state: AskedState,
    /// Why it did not end as planned, what it left behind, or what it found broken.
    pub reason: Option<String>,
    /// What it found, as JSON, unless it is an experiment.
    pub result: Option<String>,
}

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
enum CarryOutError {
    /// It is not valid any more, or not allowed any more.
    #[error("{0}")]
    Refused(String),
    /// Its id is damaged.
    #[error(transparent)]
    Id(#[from] RunIdError),
    /// The ssh key of its hosts.
    #[error("the ssh key cannot be held: {0}")]
    Key(std::io::Error),
    /// The results.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An experiment failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Other work failed.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
    /// A calibration cannot be kept.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
}

/// Executes a run, an experiment from where an earlier attempt ended; returns how it ended.
pub(crate) fn carry_out(task: Task, place: &Place<'_>) -> RunEnd {
    let (id, stop, log) = (task.id.clone(), task.stop.clone(), Arc::clone(&task.log));
    // A defect in one run must not leave its hosts occupied for ever.
    let (state, reason) = match catch_unwind(AssertUnwindSafe(|| execute(task, place))) {
        Ok(Ok(end)) => return end,
        Ok(Err(error)) => {
            let state = if stop.is_requested() { AskedState::Interrupted } else { AskedState::Failed };
            (state, error.to_string())
        }
        Err(_) => (AskedState::Failed, "the run failed by a defect of the service".to_owned()),
    };
    // A run that could not be resumed has results, and can be resumed later.
    if let Err(error) = place.results.interrupt(&id) {
        log.add("message", &MessageEvent { severity: MessageSeverity::Error, text: &error.to_string() });
    }
    RunEnd { state, reason: Some(reason), result: None }
}

fn execute(task: Task, place: &Place<'_>) -> Result<RunEnd, CarryOutError> {
    // The policy applies when a run starts: it may have changed while the run waited, and so may links in paths.
    let work = Work::read(task.kind, &task.text, &task.secrets, place.policy)
        .map_err(|problem| CarryOutError::Refused(problem.detail().to_owned()))?;
    match work {
        Work::Experiment(plan) => experiment(*plan, task, place),
        Work::Check(request) => measurement::check(*request, task, place),
        Work::NetworkTest(test) => measurement::network(test.request, task, place),
        Work::Calibration(calibration) => measurement::calibrate(calibration, task, place),
        Work::CleanUp(work) => clean_up::clean_up(&work, task, place),
    }
}

fn experiment(plan: Plan, task: Task, place: &Place<'_>) -> Result<RunEnd, CarryOutError> {
    let Place { directory, results, ssh_options, .. } = *place;
    let id: RunId = task.id.parse()?;
    let RunSecrets { keys, login, .. } = task.secrets;
    // The key is readable for as long as its file is open.
    let (login, _key) = login.for_ssh(ssh_options).map_err(CarryOutError::Key)?;
    let options = RunOptions {
        login,
        destroy: task.overwrites.into_iter().collect(),
        id: Some(id),
        results: Some(results.file().to_owned()),
        database: results.server().cloned(),
        journal: Some(directory.join(JOURNAL)),
        command: COMMAND.to_owned(),
        ..RunOptions::new(directory.to_owned())
    };
    let current = Arc::new(CurrentRun::new(&task.id, &plan));
    // Each run has a task of its own.
    let _ = task.current.set(Arc::clone(&current));
    let names = plan.fleet.as_ref().and_then(Fleet::host_names).unwrap_or_default();
    let observer = Observer::new(task.log, task.progress).with_hosts(names);
    let (graphite, _pushed) = task.pushes.observe(&plan, &current);
    let mut observers: Vec<Arc<dyn Events>> = vec![Arc::new(observer), current, task.agents];
    observers.extend(graphite);
    // What is stored of it comes from an earlier attempt.
    let begun = match results.run(&task.id)? {
        Some(_) => runner::resume(&task.id, None, &options, &observers)?,
        None => runner::new_run(plan, &options)?,
    };
    let keys: HeldSecrets = keys.into_iter().collect();
    let outcome = runner::execute(begun, &options, Arc::new(observers), &task.stop, Arc::new(keys))?;
    Ok(ended(&outcome))
}

fn ended(outcome: &RunOutcome) -> RunEnd {
    let state = match outcome.record.state {
        State::Finished => AskedState::Finished,
        State::Interrupted => AskedState::Interrupted,
        State::Failed | State::Pending | State::Running => AskedState::Failed,
    };
    let stopped = outcome.stopped.map(|reason| format!("stopped by {}", reason.name()));
    let reasons = [outcome.failure.clone(), stopped, left_behind(&outcome.left_behind)];
    RunEnd { state, reason: joined(reasons), result: None }
}

/// What remains, in words.
fn left_behind(left: &[String]) -> Option<String> {
    (!left.is_empty()).then(|| format!("left behind: {}", left.join(", ")))
}

fn joined(reasons: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
