//! The lines of a journal file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::earlier;
use super::place::RecordedPlace;
use crate::http::Trust;
use crate::run_id::RunId;

/// Version of the file format, in the first line of every file. Version 1 had a kind of resource for each protocol's
/// places.
pub(super) const FORMAT: u32 = 2;

/// This machine's name, as used in journals.
pub fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Something to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Resource {
    FileSystem {
        name: String,
    },
    Account {
        name: String,
    },
    /// `account/user`, as the API names users.
    User {
        name: String,
    },
    /// The array chooses a key's name, so only its user is known before creation.
    AccessKey {
        user: String,
    },
    Bucket {
        name: String,
    },
    /// On a target, created and removed by its protocol.
    Place(RecordedPlace),
}

impl Resource {
    /// Whether it bears the name of this run, as everything does that the run creates. Anything else is never touched:
    /// a journal may have been edited, damaged or mixed up with another, and eradication is final.
    pub(crate) fn is_of(&self, run: &RunId) -> bool {
        let own = run.object_name();
        match self {
            Self::FileSystem { name } | Self::Account { name } | Self::Bucket { name } => *name == own,
            Self::User { name } | Self::AccessKey { user: name } => {
                name.rsplit_once('/').is_some_and(|(account, user)| !account.is_empty() && user == own)
            }
            // The protocol checks again what is behind the name.
            Self::Place(place) => place.name == own,
        }
    }

    /// Whether removing this removes that as well.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::FileSystem { name }, Self::Place(place)) => place.is_in_file_system(name),
            (Self::Bucket { name }, Self::Place(place)) => place.is_in_bucket(name),
            (Self::Place(outer), Self::Place(place)) => place.is_in_place(outer),
            (Self::User { name }, Self::AccessKey { user }) => user == name,
            _ => false,
        }
    }

    /// The name of its kind, as in the file.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::FileSystem { .. } => "file-system",
            Self::Account { .. } => "account",
            Self::User { .. } => "user",
            Self::AccessKey { .. } => "access-key",
            Self::Bucket { .. } => "bucket",
            Self::Place(_) => "place",
        }
    }

    /// Scheme of the protocol that removes it, if it is a place on a target.
    pub(crate) fn scheme(&self) -> Option<&str> {
        match self {
            Self::Place(place) => Some(&place.scheme),
            _ => None,
        }
    }

    /// Whether the management API removes it.
    pub(crate) fn is_on_array(&self) -> bool {
        !matches!(self, Self::Place(_))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSystem { name } => write!(f, "file system {name}"),
            Self::Account { name } => write!(f, "object store account {name}"),
            Self::User { name } => write!(f, "object store user {name}"),
            Self::AccessKey { user } => write!(f, "access key of {user}"),
            Self::Bucket { name } => write!(f, "bucket {name}"),
            Self::Place(place) => f.write_str(&place.title),
        }
    }
}

/// The management API that a run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ArrayFacts {
    /// As the user wrote it.
    pub address: String,
    pub trust: Trust,
    /// Version of the API that was spoken, for the reader.
    pub api: String,
}

/// State of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// About to be created: it may or may not exist.
    Intended,
    /// Created.
    Created,
    /// Rejected, or not ours: there is nothing to remove.
    Void,
    /// Removed.
    Removed,
    /// It does not bear the run's name: it is never touched, and the journal stays.
    Foreign,
}

impl State {
    /// Nothing is left to do about the resource.
    pub(crate) fn is_settled(self) -> bool {
        matches!(self, Self::Void | Self::Removed)
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Record {
    /// First line of a file.
    Run { format: u32, id: String, pid: u32, host: String, started: String },
    /// The array that the run uses.
    Array(ArrayFacts),
    /// About to be created.
    Intend {
        n: u32,
        at_s: u64,
        #[serde(rename = "thing", deserialize_with = "earlier::resource")]
        resource: Resource,
    },
    /// Was created.
    Created { n: u32 },
    /// Was rejected, or is not ours.
    Void { n: u32, why: String },
    /// Was removed.
    Removed { n: u32 },
}
