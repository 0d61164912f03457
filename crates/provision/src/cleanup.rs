//! Finishing what dead runs left, as their journals say: nothing else is touched.

use std::collections::BTreeSet;
use std::time::Duration;

use reactor::clock;

use crate::cancel::Cancel;
use crate::client::{Client, Management};
use crate::error::ProvisionError;
use crate::http::Trust;
use crate::journal::{ArrayFacts, Entry, Journal, LocalPlace, NfsPlace, Opened, Run, S3Place, Thing};
use crate::remove::Remover;
use crate::secret::Secret;
use crate::session::BucketAccess;

/// What clean-up needs from outside: secrets, and the protocols of the data path.
pub trait Helper {
    /// The API token for the array at `address`, as the run was given it.
    ///
    /// # Errors
    /// There is none: one line that says where it was looked for.
    fn token_for(&mut self, address: &str) -> Result<Secret, String>;

    /// Removes our directory and what is in it. Not finding it is success.
    ///
    /// # Errors
    /// One line: what failed, and the next step.
    fn remove_directory(&mut self, place: &NfsPlace) -> Result<(), String>;

    /// Removes all objects and unfinished uploads below our prefix; `access` has the keys if the array
    /// made them, else they come from where the run got them. Finding none is success.
    ///
    /// # Errors
    /// One line: what failed, and the next step.
    fn remove_objects(&mut self, place: &S3Place, access: Option<&BucketAccess>) -> Result<(), String>;

    /// Removes our directory in a file system of this machine, and our files in it. Not finding it is success.
    ///
    /// # Errors
    /// One line: what failed, and the next step.
    fn remove_local_directory(&mut self, place: &LocalPlace) -> Result<(), String>;
}

/// How to clean up.
#[derive(Clone, Debug)]
pub struct CleanupOptions {
    /// Deadline of each management call.
    pub call_timeout: Duration,
    /// Trust to use in place of the recorded one.
    pub trust: Option<Trust>,
    /// After this time no further removal is begun; one that is under way comes to its end.
    pub time_limit: Duration,
}

/// What became of the runs in a journal directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// Runs of which nothing is left.
    pub cleaned: Vec<String>,
    /// Runs that are alive: left alone.
    pub alive: Vec<String>,
    /// What could not be removed, and why: one line each.
    pub failures: Vec<String>,
    /// Runs whose journals stay, because something in them could not be removed.
    pub unfinished: Vec<String>,
}

/// Finishes what dead runs left. `say` gets a line for each thing that happens. May be repeated at will.
///
/// # Errors
/// The journal directory cannot be read. What fails for one run is in the report and does not keep the
/// others from being cleaned.
pub fn cleanup(
    journal: &Journal,
    options: &CleanupOptions,
    helper: &mut dyn Helper,
    say: &mut dyn FnMut(&str),
) -> Result<CleanupReport, ProvisionError> {
    let mut report = CleanupReport::default();
    let mut work = Work { options, silent: BTreeSet::new(), begun_ns: clock::now_ns() };
    let files = journal.files()?;
    for (at, path) in files.iter().enumerate() {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if files.len() > 1 {
            say(&format!("run {name}: journal {} of {}", at + 1, files.len()));
        }
        match Journal::take_over(path) {
            Ok(Opened::Gone) => {}
            Ok(Opened::Alive) => {
                say(&format!("run {name} is still running: left alone"));
                report.alive.push(name);
            }
            Ok(Opened::Dead(run)) => {
                let failures = work.finish(&run, helper, say);
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
    Ok(report)
}

/// One clean-up of many journals.
struct Work<'a> {
    options: &'a CleanupOptions,
    /// Arrays that did not answer: they are not waited for again.
    silent: BTreeSet<String>,
    begun_ns: u64,
}

impl Work<'_> {
    /// Finishes one run; what remains.
    fn finish(&mut self, run: &Run, helper: &mut dyn Helper, say: &mut dyn FnMut(&str)) -> Vec<String> {
        let mut failures: Vec<String> = run.foreign().iter().map(|thing| refused(run, thing)).collect();
        let outstanding = run.outstanding();
        for entry in &outstanding {
            say(&format!("run {}: {} is to be removed", run.id(), entry.thing));
        }
        let outside = |entry: &&Entry| !entry.thing.is_on_array() && !is_inside(&entry.thing, &outstanding);
        let on_array = outstanding.iter().any(|entry| entry.thing.is_on_array());
        // Before the array is touched: with its user goes the key to a bucket that stays.
        for entry in outstanding.iter().filter(outside) {
            if on_array && matches!(entry.thing, Thing::Objects(_)) {
                continue;
            }
            let outcome = self.in_time().and_then(|()| {
                say(&format!("run {}: removing {}", run.id(), entry.thing));
                match &entry.thing {
                    Thing::Directory(place) => helper.remove_directory(place),
                    Thing::LocalDirectory(place) if !place.is_here() => Err(format!(
                        "it is on another machine; next: run `manometer cleanup` on {}",
                        place.host
                    )),
                    Thing::LocalDirectory(place) => helper.remove_local_directory(place),
                    Thing::Objects(place) => helper.remove_objects(place, None),
                    _ => Ok(()),
                }
            });
            note(run, entry, outcome, &mut failures);
        }
        if !on_array {
            return failures;
        }
        let mut client = match self.in_time().and_then(|()| self.open(run, helper, say)) {
            Ok(client) => client,
            Err(error) => {
                failures.push(error);
                return failures;
            }
        };
        let objects = |entry: &&Entry| matches!(entry.thing, Thing::Objects(_));
        for entry in outstanding.iter().filter(outside).filter(objects) {
            say(&format!("run {}: removing {}", run.id(), entry.thing));
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

    /// Whether something more may be begun.
    fn in_time(&self) -> Result<(), String> {
        let spent = Duration::from_nanos(clock::now_ns().saturating_sub(self.begun_ns));
        if spent < self.options.time_limit {
            return Ok(());
        }
        Err(format!(
            "not tried: the clean-up has taken {} s; next: run it again, or allow more with --time-limit",
            spent.as_secs()
        ))
    }

    /// Logs in to the array of a run.
    fn open(
        &mut self,
        run: &Run,
        helper: &mut dyn Helper,
        say: &mut dyn FnMut(&str),
    ) -> Result<Client, String> {
        let ArrayFacts { address, trust, .. } =
            run.array().ok_or("the journal does not say which array it is about")?;
        if self.silent.contains(&address) {
            return Err(format!("not tried: the array at {address} did not answer for an earlier journal"));
        }
        let token = helper.token_for(&address)?;
        let trust = self.options.trust.clone().unwrap_or(trust);
        say(&format!("run {}: logging in to the array at {address}", run.id()));
        let call_timeout = self.options.call_timeout;
        let management = Management { address: address.clone(), token, trust, call_timeout };
        Client::open(&management, &Cancel::new()).map_err(|error| {
            if error.is_silence() {
                self.silent.insert(address);
            }
            error.to_string()
        })
    }
}

/// A thing in the journal that is not the run's.
fn refused(run: &Run, thing: &str) -> String {
    format!(
        "{thing}: refused: it does not bear the run's own name {}, so manometer did not make it and does not touch it",
        run.id().object_name()
    )
}

fn note(run: &Run, entry: &Entry, outcome: Result<(), String>, failures: &mut Vec<String>) {
    let outcome = outcome.and_then(|()| run.removed(entry.mark).map_err(|error| error.to_string()));
    if let Err(cause) = outcome {
        failures.push(format!("{}: {cause}", entry.thing));
    }
}

/// Whether a thing goes when something else that is outstanding goes.
fn is_inside(thing: &Thing, outstanding: &[Entry]) -> bool {
    outstanding.iter().any(|other| match (thing, &other.thing) {
        (Thing::Directory(place), Thing::FileSystem { name }) => place.export.strip_prefix('/') == Some(name),
        (Thing::Objects(place), Thing::Bucket { name }) => place.bucket == *name,
        _ => false,
    })
}
