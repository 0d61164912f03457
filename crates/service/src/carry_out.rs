//! One run of the service, on its own thread, with its own options, events, stop token and secrets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use exporters::{CurrentRun, GraphitePush};
use provision::RunId;
use runner::bottleneck::own_host;
use runner::progress::SharedProgress;
use runner::{Events, RunError, RunOptions, RunOutcome, StopToken};
use store::State;

use crate::database::AskedState;
use crate::event::{MessageEvent, MessageSeverity};
use crate::event_log::EventLog;
use crate::new_experiment::RunSecrets;
use crate::observer::Observer;
use crate::options::RequestPolicy;
use crate::policy;
use crate::stored_results::StoredResults;

/// What a run needs from the service.
pub(crate) struct Task {
    /// Its id.
    pub id: String,
    /// The text of its experiment.
    pub experiment: String,
    /// Its keys, and how to log in to its hosts.
    pub secrets: RunSecrets,
    /// Ends it.
    pub stop: StopToken,
    /// Receives its events.
    pub log: Arc<EventLog>,
    /// Set once it begins.
    pub progress: Arc<OnceLock<Arc<SharedProgress>>>,
    /// Set once its plan is known.
    pub current: Arc<OnceLock<Arc<CurrentRun>>>,
    /// Receives its measurements.
    pub graphite: Option<Arc<GraphitePush>>,
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
    /// The operator's options for ssh.
    pub ssh_options: &'a [String],
}

/// The directory of the journals, below the service's directory.
pub(crate) const JOURNAL: &str = "journal";

/// Executes a run, from its start or from where an earlier attempt ended; returns how it ended, and why if not as planned.
pub(crate) fn carry_out(task: Task, place: &Place<'_>) -> (AskedState, Option<String>) {
    let (id, stop, log) = (task.id.clone(), task.stop.clone(), Arc::clone(&task.log));
    // A defect in one run must not leave its hosts occupied for ever.
    let (state, reason) = match catch_unwind(AssertUnwindSafe(|| execute(task, place))) {
        Ok(Ok(outcome)) => return ended(&outcome),
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
    (state, Some(reason))
}

fn execute(task: Task, place: &Place<'_>) -> Result<RunOutcome, RunError> {
    let Place { directory, results, policy, ssh_options } = *place;
    // The policy applies when a run starts: it may have changed while the run waited, and so may links in paths.
    let plan =
        policy::plan(&task.experiment, policy).map_err(|faults| RunError::Usage(faults.to_string()))?;
    let id: RunId = task.id.parse().map_err(|_| RunError::Failure("the run's id is damaged".to_owned()))?;
    let failed = |error: std::io::Error| RunError::Failure(format!("the ssh key cannot be held: {error}"));
    let RunSecrets { keys, login } = task.secrets;
    // The key is readable for as long as its file is open.
    let (login, _key) = login.for_ssh(ssh_options).map_err(failed)?;
    let options = RunOptions {
        login,
        destroy: task.overwrites.into_iter().collect(),
        id: Some(id),
        results: Some(results.file().to_owned()),
        database: results.server().cloned(),
        journal: Some(directory.join(JOURNAL)),
        command: "manometer serve".to_owned(),
        ..RunOptions::new(directory.to_owned())
    };
    let current = Arc::new(CurrentRun::new(&task.id, &plan));
    // Each run has a task of its own.
    let _ = task.current.set(Arc::clone(&current));
    let mut observers: Vec<Arc<dyn Events>> =
        vec![Arc::new(Observer { log: task.log, progress: task.progress }), current];
    if let Some(graphite) = &task.graphite {
        observers.push(Arc::new(graphite.observe(&task.id, &plan, &own_host())));
    }
    // What is stored of it comes from an earlier attempt.
    let begun = match results.run(&task.id).map_err(|error| RunError::Failure(error.to_string()))? {
        Some(_) => runner::resume(&task.id, None, &options, &observers)?,
        None => runner::new_run(plan, &options)?,
    };
    runner::execute(begun, &options, Arc::new(observers), &task.stop, Arc::new(keys))
}

fn ended(outcome: &RunOutcome) -> (AskedState, Option<String>) {
    let state = match outcome.record.state {
        State::Finished => AskedState::Finished,
        State::Interrupted => AskedState::Interrupted,
        State::Failed | State::Pending | State::Running => AskedState::Failed,
    };
    let stopped = outcome.stopped.map(|reason| format!("stopped by {}", reason.name()));
    let left = match outcome.left_behind.is_empty() {
        true => None,
        false => Some(format!("left behind: {}", outcome.left_behind.join(", "))),
    };
    let reasons: Vec<String> = [outcome.failure.clone(), stopped, left].into_iter().flatten().collect();
    (state, (!reasons.is_empty()).then(|| reasons.join("; ")))
}
