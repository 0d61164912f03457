//! Removes what a run's journal lists as outstanding, in the order that the array requires.
//!
//! Every removal may be repeated: by the run itself, by its drop, and by `manometer cleanup` after it died at any
//! point. Each one therefore first checks what exists, and finding nothing is success.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::cleanup::Helper;
use crate::client::{Client, Parameters};
use crate::error::{CallError, Failure};
use crate::journal::{Entry, Resource, Run, State};
use crate::leftover::LeftoverError;
use crate::session::{BucketAccess, create_access_key, look};
use crate::steps::ManagementStep;
use crate::version::Generation;

/// Attempts at one removal while failures are temporary.
const TRIES: u32 = 4;
/// Attempts when the array rejects it: it may briefly not see that something was just removed.
const REFUSED_TRIES: u32 = 2;
/// Pause after the first attempt; each one doubles.
const PAUSE: Duration = Duration::from_millis(250);
/// Maximum wait for an unanswered creation to take effect.
const SETTLING: Duration = Duration::from_secs(10);

/// One removal of everything outstanding.
pub(crate) struct Remover<'a> {
    client: &'a mut Client,
    run: &'a Run,
    helper: Option<&'a mut dyn Helper>,
    remaining: Vec<String>,
    /// The array has stopped answering: each further removal is tried only once.
    silence: bool,
}

impl<'a> Remover<'a> {
    /// With a helper, a bucket that the array refuses to destroy is emptied over S3.
    pub(crate) fn new(client: &'a mut Client, run: &'a Run, helper: Option<&'a mut dyn Helper>) -> Self {
        client.interruptible = false;
        Self { client, run, helper, remaining: Vec::new(), silence: false }
    }

    /// Removes everything and returns what remains, with the reasons.
    pub(crate) fn everything(mut self) -> Vec<String> {
        let all = self.run.outstanding();
        let of = |wanted: fn(&Resource) -> bool| all.iter().filter(move |entry| wanted(&entry.resource));
        let mut buckets_gone = true;
        for entry in of(|resource| matches!(resource, Resource::Bucket { .. })) {
            buckets_gone &= self.patiently(entry, |this, name| this.bucket(name, entry));
        }
        let mut users_gone = true;
        for entry in of(|resource| matches!(resource, Resource::User { .. })) {
            users_gone &= self.patiently(entry, |this, name| this.user(name, entry));
        }
        for entry in of(|resource| matches!(resource, Resource::Account { .. })) {
            if buckets_gone && users_gone {
                self.patiently(entry, |this, name| this.account(name, entry));
            } else {
                self.remaining.push(format!("{}: not tried while something in it remains", entry.resource));
            }
        }
        for entry in of(|resource| matches!(resource, Resource::FileSystem { .. })) {
            self.patiently(entry, |this, name| this.file_system(name, entry));
        }
        self.keys_without_user();
        self.remaining
    }

    /// Removing a user removes its keys; an older version may have been killed between recording the two.
    fn keys_without_user(&mut self) {
        let outstanding = self.run.outstanding();
        let has_user = |user: &str| {
            outstanding.iter().any(|entry| matches!(&entry.resource, Resource::User { name } if name == user))
        };
        for entry in &outstanding {
            if let Resource::AccessKey { user } = &entry.resource
                && !has_user(user)
            {
                self.settle(entry);
            }
        }
    }

    /// Our objects in a bucket that is not ours: removed over S3, with a new key if the run had a user there.
    pub(crate) fn objects(&mut self, entry: &Entry) -> Result<(), LeftoverError> {
        let Resource::Place(place) = &entry.resource else { return Ok(()) };
        let bucket = place.bucket().unwrap_or_default();
        let user = self.run.outstanding().into_iter().find_map(|other| match other.resource {
            Resource::User { name } if other.state == State::Created => Some(name),
            _ => None,
        });
        let access = match user {
            None => None,
            Some(user) => {
                let (access_key, secret_key) = create_access_key(self.client, self.run, &user)?;
                Some(BucketAccess { bucket: bucket.to_owned(), access_key, secret_key })
            }
        };
        match &mut self.helper {
            Some(helper) => helper.remove(place, access.as_ref()).map_err(LeftoverError::Place),
            None => Err(LeftoverError::NoHelper),
        }
    }

    /// Retries until it works or is hopeless; returns whether the resource is gone.
    fn patiently(&mut self, entry: &Entry, once: impl Fn(&mut Self, &str) -> Result<(), CallError>) -> bool {
        let (Resource::Bucket { name }
        | Resource::User { name }
        | Resource::Account { name }
        | Resource::FileSystem { name }) = &entry.resource
        else {
            return true;
        };
        let mut attempt = 0;
        loop {
            let error = match once(self, name) {
                Ok(()) => return self.settle(entry),
                Err(error) => error,
            };
            attempt += 1;
            let tries = if error.failure.is_passing() { TRIES } else { REFUSED_TRIES };
            if self.silence || attempt >= tries {
                self.silence |= error.failure.is_silence();
                self.remaining.push(format!("{}: {error}", entry.resource));
                return false;
            }
            self.client.pause(PAUSE * (1 << (attempt - 1)));
        }
    }

    /// Records that a resource and its contents are gone.
    fn settle(&mut self, entry: &Entry) -> bool {
        // The resource is gone; if the journal cannot be written, it is only checked again later.
        if let Err(error) = self.run.removed(entry.id) {
            self.remaining.push(format!("{} is removed, but {error}", entry.resource));
        }
        true
    }

    fn bucket(&mut self, name: &str, entry: &Entry) -> Result<(), CallError> {
        let Some(found) = self.find(ManagementStep::FindBucket, name, entry)? else { return Ok(()) };
        if !is_true(&found, "destroyed") {
            let mut parameters = Parameters::named(name);
            parameters.body = Some(json!({ "destroyed": true }));
            match self.client.call(ManagementStep::DestroyBucket, &parameters) {
                Err(error) if is_refusal(&error) && self.empty(name) => {
                    self.client.call(ManagementStep::DestroyBucket, &parameters)?;
                }
                outcome => drop(outcome?),
            }
        }
        self.delete(ManagementStep::EradicateBucket, name, "names")
    }

    /// Empties a bucket of ours over S3; returns whether there was a helper to do it.
    fn empty(&mut self, name: &str) -> bool {
        if self.helper.is_none() {
            return false;
        }
        let inside =
            |entry: &Entry| matches!(&entry.resource, Resource::Place(place) if place.is_in_bucket(name));
        let inside: Vec<Entry> = self.run.outstanding().into_iter().filter(inside).collect();
        let mut emptied = !inside.is_empty();
        for entry in inside {
            if let Err(cause) = self.objects(&entry) {
                emptied = false;
                self.remaining.push(format!("{}: {cause}", entry.resource));
            }
        }
        emptied
    }

    fn user(&mut self, name: &str, entry: &Entry) -> Result<(), CallError> {
        let Some(found) = self.find(ManagementStep::FindUser, name, entry)? else { return Ok(()) };
        // All keys of our user are ours, including one whose creation was never answered.
        let keys = found.get("access_keys").and_then(Value::as_array).into_iter().flatten();
        let keys: Vec<String> = keys.filter_map(|key| key.get("name")?.as_str().map(str::to_owned)).collect();
        for key in keys {
            self.delete(ManagementStep::RemoveAccessKey, &key, "names")?;
        }
        self.delete(ManagementStep::RemoveUser, name, "names")
    }

    fn account(&mut self, name: &str, entry: &Entry) -> Result<(), CallError> {
        match self.find(ManagementStep::FindAccount, name, entry)? {
            Some(_) => self.delete(ManagementStep::RemoveAccount, name, "names"),
            None => Ok(()),
        }
    }

    fn file_system(&mut self, name: &str, entry: &Entry) -> Result<(), CallError> {
        let Some(found) = self.find(ManagementStep::FindFileSystem, name, entry)? else { return Ok(()) };
        let by = match self.client.generation() {
            Generation::One => "name",
            Generation::Two => "names",
        };
        if !is_true(&found, "destroyed") {
            let protocols = ["enabled", "v3_enabled", "v4_1_enabled"];
            let nfs = found.get("nfs").cloned().unwrap_or_default();
            let on: Vec<&str> = protocols.into_iter().filter(|protocol| is_true(&nfs, protocol)).collect();
            if !on.is_empty() {
                // Turns off only what is on: older arrays do not know all of the names.
                let off: serde_json::Map<String, Value> =
                    on.into_iter().map(|protocol| (protocol.to_owned(), false.into())).collect();
                self.patch(ManagementStep::DisableNfs, name, by, json!({ "nfs": off }))?;
            }
            self.patch(ManagementStep::DestroyFileSystem, name, by, json!({ "destroyed": true }))?;
        }
        self.delete(ManagementStep::EradicateFileSystem, name, by)
    }

    /// Looks for a resource. One whose creation was not answered gets time to appear.
    fn find(&mut self, step: ManagementStep, name: &str, entry: &Entry) -> Result<Option<Value>, CallError> {
        let mut left = self.unsettled(entry);
        loop {
            let found = look(self.client, step, name)?;
            if found.is_some() || left.is_zero() {
                return Ok(found);
            }
            let pause = left.min(2 * PAUSE);
            self.client.pause(pause);
            left -= pause;
        }
    }

    /// How long the creation of a resource may still take effect: until its timeout, plus a margin for an array that
    /// processes a request whose sender is gone.
    fn unsettled(&self, entry: &Entry) -> Duration {
        if entry.state != State::Intended {
            return Duration::ZERO;
        }
        let settling = self.client.deadline().min(SETTLING);
        let now = reactor::clock::wall().duration_since(UNIX_EPOCH).unwrap_or_default();
        // One second more, because the journal has a resolution of a second. A clock change meanwhile must not lengthen
        // this.
        let end = Duration::from_secs(entry.at_s + 1) + self.client.deadline() + settling;
        end.saturating_sub(now).min(settling + Duration::from_secs(1))
    }

    fn patch(
        &mut self,
        step: ManagementStep,
        name: &str,
        by: &'static str,
        body: Value,
    ) -> Result<(), CallError> {
        let parameters =
            Parameters { subject: name.to_owned(), query: vec![(by, name.to_owned())], body: Some(body) };
        self.client.call(step, &parameters).map(drop)
    }

    fn delete(&mut self, step: ManagementStep, name: &str, by: &'static str) -> Result<(), CallError> {
        let parameters =
            Parameters { subject: name.to_owned(), query: vec![(by, name.to_owned())], body: None };
        match self.client.call(step, &parameters) {
            Err(error) if error.failure.says_absent() => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

fn is_true(object: &Value, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool) == Some(true)
}

fn is_refusal(error: &CallError) -> bool {
    matches!(error.failure, Failure::Status { status: 400..=499, .. }) && !error.failure.is_passing()
}
