//! Removal of the places that dead runs left, from their journals.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use drivers::DriverError;
use drivers::s3::Fingerprint;
use metrics::ErrorKind;
use provision::RecordedPlace;

use super::journaled_place::JournaledPlace;
use super::{AccessKey, PROTOCOLS, Secrets};

/// Why a place left by a dead run cannot be removed: one line, with the next step.
#[derive(Debug, thiserror::Error)]
pub enum RemoveLeftError {
    /// It does not belong to the run: the journal was edited, damaged, or mixed up with another.
    #[error(
        "refused: it does not bear the run's own name {0}, so manometer did not make it and does not touch it"
    )]
    NotOurs(String),
    /// This program has no such protocol.
    #[error("this program has no protocol {0}:; next: run `manometer cleanup` of the version that made it")]
    NoProtocol(String),
    /// The journal's entry is not a place of its protocol.
    #[error("its entry cannot be read: {0}; next: remove it by hand, then --forget the run")]
    Unreadable(#[from] serde_json::Error),
    /// It is in a file system of another machine.
    #[error("it is on another machine; next: run `manometer cleanup` on {0}")]
    Elsewhere(String),
    /// The server already failed to answer before.
    #[error("not tried: {0} did not answer for an earlier journal")]
    Silent(String),
    /// Something needed to reach it is missing or wrong.
    #[error("{0}")]
    Input(String),
    /// The server or file system refused or did not answer.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Removes what dead runs left, one place after another.
#[derive(Debug)]
pub struct Removal {
    /// Supplies environment variables that locate keys.
    secrets: Arc<dyn Secrets>,
    /// File with keys, in place of the one that the run used.
    credentials_file: Option<PathBuf>,
    /// Fingerprint of the server certificate to trust, in place of what the run trusted.
    pinned: Option<Fingerprint>,
    /// Servers that did not answer: later places do not wait for them again.
    silent: BTreeSet<String>,
}

impl Removal {
    /// Creates it for the owner of `secrets`, with the user's keys file and fingerprint, where given.
    pub fn new(
        secrets: Arc<dyn Secrets>,
        credentials_file: Option<PathBuf>,
        pinned: Option<Fingerprint>,
    ) -> Self {
        Self { secrets, credentials_file, pinned, silent: BTreeSet::new() }
    }

    /// Removes a place with all that is in it and nothing else; a missing place counts as removed. `key` is the one
    /// that an array created for it. Blocks.
    ///
    /// # Errors
    /// [`RemoveLeftError`].
    pub fn remove(&mut self, place: &RecordedPlace, key: Option<AccessKey>) -> Result<(), RemoveLeftError> {
        let protocol = PROTOCOLS.iter().find(|protocol| protocol.kind().scheme == place.scheme);
        let protocol = protocol.ok_or_else(|| RemoveLeftError::NoProtocol(place.scheme.clone()))?;
        protocol.remove_left(&place.place, &mut RemovalContext { name: &place.name, key, removal: self })
    }
}

/// What a protocol needs to remove a place, besides the journal's entry.
pub struct RemovalContext<'a> {
    /// The run's own name, which the place must bear.
    name: &'a str,
    /// The key that an array created for it.
    pub key: Option<AccessKey>,
    removal: &'a mut Removal,
}

impl RemovalContext<'_> {
    /// Parses the place from its journal entry and checks that it bears the run's own name.
    pub(super) fn read<P: JournaledPlace>(&self, place: &serde_json::Value) -> Result<P, RemoveLeftError> {
        let place = P::deserialize(place)?;
        if place.name() != Some(self.name) {
            return Err(RemoveLeftError::NotOurs(self.name.to_owned()));
        }
        Ok(place)
    }

    /// File with keys, in place of the one that the run used.
    pub(super) fn credentials_file(&self) -> Option<&PathBuf> {
        self.removal.credentials_file.as_ref()
    }

    /// An environment variable.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.removal.secrets.variable(name)
    }

    /// Fingerprint to trust, in place of what the run trusted.
    pub(super) fn pinned(&self) -> Option<Fingerprint> {
        self.removal.pinned
    }

    /// Removes something on a server, unless the server is known to be silent.
    pub(super) fn on_server<T>(
        &mut self,
        server: String,
        remove: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<(), RemoveLeftError> {
        if self.removal.silent.contains(&server) {
            return Err(RemoveLeftError::Silent(server));
        }
        remove().map(drop).map_err(|error| {
            if matches!(error.kind, ErrorKind::TimedOut | ErrorKind::ConnectFailed) {
                self.removal.silent.insert(server);
            }
            error.into()
        })
    }
}
