//! Removes what dead runs left, according to their journals; touches nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use reactor::clock;

use crate::cancel::Cancel;
use crate::client::{Client, Management};
use crate::error::ProvisionError;
use crate::http::Trust;
use crate::journal::{ArrayFacts, Entry, Journal, Opened, RecordedPlace, Resource, Run};
use crate::leftover::{LeftoverError, PlaceError};
use crate::remove::Remover;
use crate::run_id::RunId;
use crate::secret::ApiSecret;
use crate::session::BucketAccess;

/// What cleanup needs from its caller: secrets, and the protocols of the data path.
pub trait Helper {
    /// The API token for the array at `address`, as given to the run; `None` if there is none.
    fn token_for(&mut self, address: &str) -> Option<ApiSecret>;

    /// Removes a place of the run's own with everything in it; `access` has the keys if the array created them, else
    /// they come from where the run got them. The protocol checks that the place really bears the run's name, as the
    /// entry claims. A missing place counts as removed.
    ///
    /// # Errors
    /// One line: what failed, and the next step.
    fn remove(&mut self, place: &RecordedPlace, access: Option<&BucketAccess>) -> Result<(), PlaceError>;
}

/// Options of a cleanup.
#[derive(Clone, Debug)]
pub struct CleanupOptions {
    /// Timeout of each management call.
    pub call_timeout: Duration,
    /// Trust to use instead of the recorded one.
    pub trust: Option<Trust>,
    /// No removal starts after this time; one in progress is completed.
    pub time_limit: Duration,
}

/// Outcome for the runs in a journal directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// Runs of which nothing remains.
    pub cleaned: Vec<String>,
    /// Runs that are still alive: left alone.
    pub alive: Vec<String>,
    /// What could not be removed, and why: one line each.
    pub failures: Vec<String>,
    /// Runs whose journals stay, because something in them could not be removed.
    pub unfinished: Vec<String>,
}

/// Removes what dead runs left. `say` receives a line for each step. May be repeated at any time.
///
/// # Errors
/// The journal directory cannot be read. Failures of one run are in the report and do not keep the others from being
/// cleaned up.
pub fn cleanup(
    journal: &Journal,
    options: &CleanupOptions,
    helper: &mut dyn Helper,
    say: &mut dyn FnMut(&str),
) -> Result<CleanupReport, ProvisionError> {
    let mut report = CleanupReport::default();
    let mut work = Work::new(options, &|| false);
    let files = journal.files()?;
    for (at, path) in files.iter().enumerate() {
        let name = name_of(path);
        if files.len() > 1 {
            say(&format!("run {name}: journal {} of {}", at + 1, files.len()));
        }
        work.one(path, &mut report, helper, say);
    }
    Ok(report)
}

/// Removes what one dead run left, as [`cleanup`] does. No removal starts after `stopped`.
pub fn cleanup_run(
    journal: &Journal,
    run: &RunId,
    options: &CleanupOptions,
    stopped: &dyn Fn() -> bool,
    helper: &mut dyn Helper,
    say: &mut dyn FnMut(&str),
) -> CleanupReport {
    let mut report = CleanupReport::default();
    Work::new(options, stopped).one(&journal.file_of(run), &mut report, helper, say);
    report
}

/// The id of the run that a journal file is about.
fn name_of(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned()
}

/// One cleanup over many journals.
struct Work<'a> {
    options: &'a CleanupOptions,
    stopped: &'a dyn Fn() -> bool,
    /// Arrays that did not answer: later calls do not wait for them again.
    silent: BTreeSet<String>,
    begun_ns: u64,
}

impl<'a> Work<'a> {
    fn new(options: &'a CleanupOptions, stopped: &'a dyn Fn() -> bool) -> Self {
        Self { options, stopped, silent: BTreeSet::new(), begun_ns: clock::now_ns() }
    }

    /// Cleans up the run of a journal file.
    fn one(
        &mut self,
        path: &Path,
        report: &mut CleanupReport,
        helper: &mut dyn Helper,
        say: &mut dyn FnMut(&str),
    ) {
        let name = name_of(path);
        match Journal::take_over(path) {
            Ok(Opened::Gone) => {}
            Ok(Opened::Alive) => {
                say(&format!("run {name} is still running: left alone"));
                report.alive.push(name);
            }
            Ok(Opened::Dead(run)) => {
                let failures = self.finish(&run, helper, say);
                if failures.is_empty() {
                    say(&format!("run {name}: nothing is left"));
                    report.cleaned.push(name);
                } else {
                    report
                        .failures
                        .extend(failures.into_iter().map(|failure| format!("run {name}: {failure}")));
                    report.unfinished.push(name);
                }
            }
            Err(error) => {
                report.failures.push(format!("run {name}: {error}"));
                report.unfinished.push(name);
            }
        }
    }

    /// Cleans up one run; returns what remains.
    fn finish(&mut self, run: &Run, helper: &mut dyn Helper, say: &mut dyn FnMut(&str)) -> Vec<String> {
        let mut failures: Vec<String> = run.foreign().iter().map(|title| refused(run, title)).collect();
        let outstanding = run.outstanding();
        for entry in &outstanding {
            say(&format!("run {}: {} is to be removed", run.id(), entry.resource));
        }
        // What goes with something else is not removed on its own.
        let is_inside =
            |entry: &Entry| outstanding.iter().any(|other| other.resource.contains(&entry.resource));
        let outside = |entry: &&Entry| !entry.resource.is_on_array() && !is_inside(entry);
        let on_array = outstanding.iter().any(|entry| entry.resource.is_on_array());
        // Before the array is touched: removing its user also removes the key to a bucket that stays.
        for entry in outstanding.iter().filter(outside) {
            let Resource::Place(place) = &entry.resource else { continue };
            if on_array && place.bucket().is_some() {
                continue;
            }
            let outcome = self.in_time().and_then(|()| {
                say(&format!("run {}: removing {}", run.id(), place.title));
                helper.remove(place, None).map_err(LeftoverError::Place)
            });
            note(run, entry, outcome, &mut failures);
        }
        if !on_array {
            return failures;
        }
        let mut client = match self.in_time().and_then(|()| self.open(run, helper, say)) {
            Ok(client) => client,
            Err(error) => {
                failures.push(error.to_string());
                return failures;
            }
        };
        let objects =
            |entry: &&Entry| matches!(&entry.resource, Resource::Place(place) if place.bucket().is_some());
        for entry in outstanding.iter().filter(outside).filter(objects) {
            say(&format!("run {}: removing {}", run.id(), entry.resource));
            let outcome = Remover::new(&mut client, run, Some(helper)).objects(entry);
            note(run, entry, outcome, &mut failures);
        }
        say(&format!("run {}: removing what is on the array", run.id()));
        failures.extend(Remover::new(&mut client, run, Some(helper)).everything());
        if let Err(error) = client.logout() {
            say(&error.to_string());
        }
        failures
    }

    /// Whether another removal may start.
    fn in_time(&self) -> Result<(), LeftoverError> {
        if (self.stopped)() {
            return Err(LeftoverError::Stopped);
        }
        let spent = Duration::from_nanos(clock::now_ns().saturating_sub(self.begun_ns));
        if spent < self.options.time_limit {
            return Ok(());
        }
        Err(LeftoverError::OutOfTime { spent })
    }

    /// Logs in to a run's array.
    fn open(
        &mut self,
        run: &Run,
        helper: &mut dyn Helper,
        say: &mut dyn FnMut(&str),
    ) -> Result<Client, LeftoverError> {
        let ArrayFacts { address, trust, .. } = run.array().ok_or(LeftoverError::NoArray)?;
        if self.silent.contains(&address) {
            return Err(LeftoverError::Silent(address));
        }
        let token = helper.token_for(&address).ok_or_else(|| LeftoverError::NoToken(address.clone()))?;
        let trust = self.options.trust.clone().unwrap_or(trust);
        say(&format!("run {}: logging in to the array at {address}", run.id()));
        let call_timeout = self.options.call_timeout;
        let management = Management { address: address.clone(), token, trust, call_timeout };
        Client::open(&management, &Cancel::new()).map_err(|error| {
            if error.is_silence() {
                self.silent.insert(address);
            }
            error.into()
        })
    }
}

/// Message for a journaled resource that does not belong to the run.
fn refused(run: &Run, title: &str) -> String {
    format!(
        "{title}: refused: it does not bear the run's own name {}, so manometer did not make it and does not touch it",
        run.id().object_name()
    )
}

fn note(run: &Run, entry: &Entry, outcome: Result<(), LeftoverError>, failures: &mut Vec<String>) {
    let outcome = outcome.and_then(|()| Ok(run.removed(entry.id)?));
    if let Err(cause) = outcome {
        failures.push(format!("{}: {cause}", entry.resource));
    }
}
