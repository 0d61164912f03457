//! Removes what a dead run left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provision::{ApiSecret, BucketAccess, Helper, Journal, PlaceError, RecordedPlace, RunId, cleanup_run};
use runner::Events;
use serde::Serialize;
use targets::{AccessKey, HeldSecrets, Removal};
use utoipa::ToSchema;

use super::{CarryOutError, JOURNAL, Place, RunEnd, Task, joined};
use crate::database::AskedState;
use crate::observer::Observer;
use crate::work::CleanUp;

/// What a clean-up did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CleanUpResult {
    /// The run that had left something.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// Nothing is left of it.
    cleaned: bool,
    /// What was removed, in words.
    removed: Vec<String>,
    /// What is left, in words.
    left: Vec<String>,
    /// Why: one line each.
    failures: Vec<String>,
}

/// A place cannot be removed with what was sent.
#[derive(Debug, thiserror::Error)]
#[error(
    "no key for {0} was sent; next: post the clean-up again with {{\"keys\": {{\"{0}\": {{\"id\": …, \"secret\": …}}}}}}"
)]
struct NoKey(String);

/// The secrets that came with a clean-up, and the protocols to use them with.
struct SentSecrets {
    token: Option<ApiSecret>,
    keys: BTreeMap<String, AccessKey>,
    removal: Removal,
}

impl Helper for SentSecrets {
    fn token_for(&mut self, _: &str) -> Option<ApiSecret> {
        self.token.clone()
    }

    fn remove(&mut self, place: &RecordedPlace, access: Option<&BucketAccess>) -> Result<(), PlaceError> {
        if let Some(removed) = provisioners::remove_left(place) {
            return Ok(removed?);
        }
        let key = access.map(AccessKey::from).or_else(|| self.keys.get(&place.scheme).cloned());
        // Without one, the keys of the service's own account would be looked for.
        if key.is_none() && place.bucket().is_some() {
            return Err(NoKey(place.scheme.clone()).into());
        }
        Ok(self.removal.remove(place, key)?)
    }
}

/// What is left of a run, in words.
fn left(journal: &Journal, run: &RunId) -> Vec<String> {
    let listing = journal.listing(run);
    listing.iter().flat_map(|listing| listing.left()).map(|item| item.what.clone()).collect()
}

pub(super) fn clean_up(work: &CleanUp, task: Task, place: &Place<'_>) -> Result<RunEnd, CarryOutError> {
    let journal = Journal::open(&place.directory.join(JOURNAL))?;
    let before = left(&journal, &work.run);
    let mut helper = SentSecrets {
        token: task.secrets.array_token,
        keys: task.secrets.keys,
        removal: Removal::new(Arc::new(HeldSecrets::default()), None, None),
    };
    let events: Arc<dyn Events> = Arc::new(Observer::new(task.log, task.progress));
    let stopped = || task.stop.is_requested();
    let say = &mut |line: &str| events.note(line);
    let report = cleanup_run(&journal, &work.run, &work.options, &stopped, &mut helper, say);
    let after = left(&journal, &work.run);
    let still: BTreeSet<&String> = after.iter().collect();
    let removed = before.iter().filter(|what| !still.contains(what)).cloned().collect();
    let mut failures = report.failures;
    failures.extend(report.alive.iter().map(|run| format!("run {run} is still running: left alone")));
    let by = task.stop.reason().map(|reason| format!("stopped by {}", reason.name()));
    let state = if by.is_some() { AskedState::Interrupted } else { AskedState::Finished };
    let more = failures.len().saturating_sub(1);
    let first = failures.first().map(|first| match more {
        0 => first.clone(),
        more => format!("{first} (and {more} more lines in the result)"),
    });
    let cleaned = failures.is_empty() && after.is_empty();
    let result = CleanUpResult { run: work.run.to_string(), cleaned, removed, left: after, failures };
    let result = serde_json::to_string_pretty(&result).expect("all keys are strings");
    Ok(RunEnd { state, reason: joined([by, first]), result: Some(result) })
}
