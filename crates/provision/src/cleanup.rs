//! Finishing what dead runs left, as their journals say: nothing else is touched.

use std::time::Duration;

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
    for path in journal.files()? {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        match Journal::take_over(&path) {
            Ok(Opened::Gone) => {}
            Ok(Opened::Alive) => {
                say(&format!("run {name} is still running: left alone"));
                report.alive.push(name);
            }
            Ok(Opened::Dead(run)) => {
                let failures = finish(&run, options, helper, say);
                if failures.is_empty() {
                    say(&format!("run {name}: nothing is left"));
                    report.cleaned.push(name);
                } else {
                    report
                        .failures
                        .extend(failures.into_iter().map(|failure| format!("run {name}: {failure}")));
                }
            }
            Err(error) => report.failures.push(format!("run {name}: {error}")),
        }
    }
    Ok(report)
}

/// Finishes one run; what remains.
fn finish(
    run: &Run,
    options: &CleanupOptions,
    helper: &mut dyn Helper,
    say: &mut dyn FnMut(&str),
) -> Vec<String> {
    let outstanding = run.outstanding();
    for entry in &outstanding {
        say(&format!("run {}: {} is to be removed", run.id(), entry.thing));
    }
    let mut failures = Vec::new();
    let outside = |entry: &&Entry| !entry.thing.is_on_array() && !is_inside(&entry.thing, &outstanding);
    // Before the array is touched: with its user goes the key to a bucket that stays.
    for entry in outstanding.iter().filter(outside) {
        match &entry.thing {
            Thing::Directory(place) => note(run, entry, helper.remove_directory(place), &mut failures),
            Thing::LocalDirectory(place) if !place.is_here() => {
                let elsewhere =
                    Err(format!("it is on another machine; next: run `manometer cleanup` on {}", place.host));
                note(run, entry, elsewhere, &mut failures);
            }
            Thing::LocalDirectory(place) => {
                note(run, entry, helper.remove_local_directory(place), &mut failures);
            }
            _ => {}
        }
    }
    let objects: Vec<&Entry> =
        outstanding.iter().filter(outside).filter(|entry| matches!(entry.thing, Thing::Objects(_))).collect();
    if !outstanding.iter().any(|entry| entry.thing.is_on_array()) {
        for entry in objects {
            if let Thing::Objects(place) = &entry.thing {
                note(run, entry, helper.remove_objects(place, None), &mut failures);
            }
        }
        return failures;
    }
    let mut client = match open(run, options, helper) {
        Ok(client) => client,
        Err(error) => {
            failures.push(error);
            return failures;
        }
    };
    for entry in objects {
        let outcome = Remover::new(&mut client, run, Some(helper)).objects(entry);
        note(run, entry, outcome, &mut failures);
    }
    failures.extend(Remover::new(&mut client, run, Some(helper)).everything());
    if let Err(error) = client.logout() {
        say(&error.to_string());
    }
    failures
}

/// Logs in to the array of a run.
fn open(run: &Run, options: &CleanupOptions, helper: &mut dyn Helper) -> Result<Client, String> {
    let ArrayFacts { address, trust, .. } =
        run.array().ok_or("the journal does not say which array it is about")?;
    let token = helper.token_for(&address)?;
    let trust = options.trust.clone().unwrap_or(trust);
    let management = Management { address, token, trust, call_timeout: options.call_timeout };
    Client::open(&management, &Cancel::new()).map_err(|error| error.to_string())
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
