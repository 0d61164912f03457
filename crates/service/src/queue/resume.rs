//! Runs that did not come to their end: what a restart finds, and resuming them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use database::DatabaseError;
use runner::timestamp::now;
use store::{State, StoreError};
use targets::AccessKey;

use super::{Posted, RunQueue, Shared, broken, new_log};
use crate::carry_out::JOURNAL;
use crate::database::{AskedRun, AskedState};
use crate::new_work::RunSecrets;
use crate::policy;
use crate::problem::Problem;
use crate::stored_results::StoredResults;
use crate::work::RunKind;

/// How long a run whose end is recorded may take to leave the queue.
const ENDING: Duration = Duration::from_secs(10);

/// What the results have of a run.
enum Stored {
    /// Nothing: it did not begin, or was removed.
    Nothing,
    /// All its cells are finished.
    Complete,
    /// Cells are left.
    Incomplete,
}

impl Stored {
    fn of(results: &StoredResults, run: &str) -> Result<Self, StoreError> {
        let Some((store, _)) = results.run(run)? else { return Ok(Self::Nothing) };
        match store.cells(run)?.iter().all(|cell| cell.state == State::Finished) {
            true => Ok(Self::Complete),
            false => Ok(Self::Incomplete),
        }
    }
}

impl RunQueue {
    /// Marks the runs of an earlier process that it did not end, and keeps those that wait.
    pub(super) fn recover(&self) -> Result<(), DatabaseError> {
        let database = self.database();
        for run in database.in_state(AskedState::Running)? {
            let reason = format!("the service ended while it ran; next: {}", self.remedy(&run));
            self.messages.add(&format!("run {} of {}: interrupted: {reason}", run.id, run.name));
            database.end(&run.id, AskedState::Interrupted, Some(&reason), now())?;
            if let Err(error) = self.results.interrupt(&run.id) {
                self.messages.add(&error.to_string());
            }
        }
        for run in database.in_state(AskedState::Queued)? {
            if run.has_keys {
                let next = if run.started.is_some() { "resume it with its keys" } else { "post it again" };
                let reason =
                    format!("the service ended before it started, and secrets are not kept; next: {next}");
                database.end(&run.id, AskedState::Interrupted, Some(&reason), now())?;
            } else {
                self.shared().logs.insert(run.id, new_log());
            }
        }
        Ok(())
    }

    /// What to do about a run that was cut off.
    fn remedy(&self, run: &AskedRun) -> String {
        let journal = self.directory.join(JOURNAL);
        let resume = match (run.kind, Stored::of(&self.results, &run.id)) {
            (RunKind::Experiment, Ok(Stored::Incomplete)) => "resume it",
            _ => "post it again",
        };
        match journal.join(format!("{}.jsonl", run.id)).exists() {
            true => format!(
                "{resume}; or `manometer cleanup --journal-dir {}` removes what it left",
                journal.display()
            ),
            false => resume.to_owned(),
        }
    }

    /// Puts an interrupted or failed run back into the queue; it continues with the first cell that is not finished.
    /// A run that waits or runs stays as it is.
    pub(crate) fn resume(
        self: &Arc<Self>,
        id: &str,
        keys: BTreeMap<String, AccessKey>,
    ) -> Result<Posted, Problem> {
        let run = self.run(id)?;
        // Its service has its journal, and alone starts it.
        if !self.database().owns(&run) {
            let detail = format!(
                "run {id} belongs to another service with this database; next: ask that service, or post its \
                 experiment again (GET /api/v3/runs/{id}/experiment)"
            );
            return Err(Problem::new(StatusCode::CONFLICT, "another-service", detail));
        }
        if matches!(run.state, AskedState::Queued | AskedState::Running) {
            return Ok(Posted { run, new: false });
        }
        self.check_resume(&run, &keys)?;
        // Its end is recorded before it leaves the queue.
        let ending = |shared: &mut Shared| {
            let ended = |run: AskedRun| !matches!(run.state, AskedState::Queued | AskedState::Running);
            shared.running.contains_key(id) && self.run(id).is_ok_and(ended)
        };
        let waited = self.ended.wait_timeout_while(self.shared(), ENDING, ending);
        let (mut shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if ending(&mut shared) {
            let detail = "the run is just ending; next: try again";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail));
        }
        shared.admit()?;
        let has_keys = run.has_keys || !keys.is_empty();
        // Another request may have resumed it in the meantime.
        let new = self.database().requeue(id, has_keys).map_err(broken)?;
        if new {
            shared.ended.retain(|ended| ended != id);
            shared.logs.insert(id.to_owned(), new_log());
            let secrets = RunSecrets { keys, ..RunSecrets::default() };
            shared.secrets.insert(id.to_owned(), secrets);
        }
        drop(shared);
        self.start_ready();
        Ok(Posted { run: self.run(id)?, new })
    }

    fn check_resume(&self, run: &AskedRun, keys: &BTreeMap<String, AccessKey>) -> Result<(), Problem> {
        let id = &run.id;
        let refuse =
            |code: &'static str, detail: String| Err(Problem::new(StatusCode::CONFLICT, code, detail));
        if run.kind != RunKind::Experiment {
            let (kind, path) = (run.kind.words(), run.kind.path());
            return refuse(
                "not-an-experiment",
                format!(
                    "run {id} is {kind}, and only experiments are resumed; next: post it again (POST {path})"
                ),
            );
        }
        let again = format!("next: post its experiment again (GET /api/v3/runs/{id}/experiment)");
        match run.state {
            AskedState::Interrupted | AskedState::Failed => {}
            AskedState::Cancelled => {
                return refuse(
                    "no-results",
                    format!("run {id} was taken from the queue before it began; {again}"),
                );
            }
            AskedState::Finished | AskedState::Queued | AskedState::Running => {
                return refuse(
                    "finished",
                    format!(
                        "run {id} is finished: there is nothing to resume; next: GET /api/v3/runs/{id}/report"
                    ),
                );
            }
        }
        match Stored::of(&self.results, id).map_err(Problem::internal)? {
            Stored::Incomplete => {}
            Stored::Nothing => {
                return refuse(
                    "no-results",
                    format!(
                        "run {id} has no results to continue: it had not begun, or they were removed; {again}"
                    ),
                );
            }
            Stored::Complete => {
                return refuse(
                    "finished",
                    format!(
                        "all cells of run {id} are finished: there is nothing to resume; next: GET \
                         /api/v3/runs/{id}/report"
                    ),
                );
            }
        }
        let text = self.request(run)?;
        let is_job = self.database().storperf(id).map_err(Problem::internal)?.is_some();
        if run.has_keys && is_job {
            return refuse(
                "secrets",
                format!("the password or key of job {id} was in memory only; next: post the job again"),
            );
        }
        if run.has_keys && keys.is_empty() {
            return refuse(
                "secrets",
                format!(
                    "the keys of run {id} were in memory only; next: send them again as JSON: {{\"keys\": \
                     {{\"TARGET\": {{\"id\": …, \"secret\": …}}}}}}"
                ),
            );
        }
        // The operator may allow less than when it was posted.
        policy::plan(&text, &self.policy).map(drop).map_err(Problem::faults)
    }
}
