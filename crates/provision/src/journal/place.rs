//! A run's own places on targets, as journaled.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run's own place on a target, such as a directory or a prefix. Only the protocol that created it knows what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlace {
    /// Scheme of the protocol that removes it, such as `nfs`.
    pub scheme: String,
    /// The name that it bears, such as `manometer-abcdefgh`. If that is not the run's own name, it is never touched.
    pub name: String,
    /// Description for people: `directory manometer-abcdefgh on 10.0.0.1:/export`.
    pub title: String,
    /// Its container, if the run may have created that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Container>,
    /// The container that it is itself: removing it removes the places within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Container>,
    /// What the protocol needs to find it again; no secrets.
    pub place: Value,
}

/// What a run creates to contain places. Removing it removes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Container {
    /// An exported file system of this name.
    FileSystem(String),
    /// A bucket of this name.
    Bucket(String),
    /// Something of this name that the tools of a server created, such as a volume.
    Provisioned(String),
}

impl RecordedPlace {
    /// Whether it lies in this file system.
    pub(crate) fn is_in_file_system(&self, name: &str) -> bool {
        matches!(&self.within, Some(Container::FileSystem(within)) if within == name)
    }

    /// Whether it lies in this bucket.
    pub(crate) fn is_in_bucket(&self, name: &str) -> bool {
        self.bucket() == Some(name)
    }

    /// Whether it lies in what another place is.
    pub(crate) fn is_in_place(&self, other: &Self) -> bool {
        self.within.is_some() && self.within == other.holds
    }

    /// The bucket that it lies in.
    pub fn bucket(&self) -> Option<&str> {
        match &self.within {
            Some(Container::Bucket(name)) => Some(name),
            _ => None,
        }
    }
}
