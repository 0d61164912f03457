//! Places of a run's own on targets, as the journal keeps them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A place of a run's own on a target, such as a directory or a prefix. What it is only the protocol knows that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlace {
    /// Scheme of the protocol that removes it, such as `nfs`.
    pub scheme: String,
    /// The name that it bears, such as `manometer-abcdefgh`. Where that is not the run's own name it is never touched.
    pub name: String,
    /// What it is, for people: `directory manometer-abcdefgh on 10.0.0.1:/export`.
    pub title: String,
    /// What it lies in, if an array may have made that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Container>,
    /// What the protocol needs to find it again; no secrets.
    pub place: Value,
}

/// What an array makes for places to lie in. When it is removed, they are gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Container {
    /// A file system of this name, exported under it.
    FileSystem(String),
    /// A bucket of this name.
    Bucket(String),
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

    /// The bucket that it lies in.
    pub(crate) fn bucket(&self) -> Option<&str> {
        match &self.within {
            Some(Container::Bucket(name)) => Some(name),
            _ => None,
        }
    }
}
