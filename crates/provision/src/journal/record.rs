//! The lines of a journal file.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::http::Trust;
use crate::run_id::RunId;

/// Version of the file format, in the first line of every file.
pub(super) const FORMAT: u32 = 1;

/// Our directory on an NFS export, with what is needed to find it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NfsPlace {
    /// Address of the server.
    pub server: IpAddr,
    /// Path of the export, such as `/export`.
    pub export: String,
    /// Name of our directory in it, such as `manometer-abcdefgh`.
    pub directory: String,
    /// TCP port of NFS; `None` asks the portmapper.
    pub nfs_port: Option<u16>,
    /// TCP port of MOUNT; `None` asks the portmapper.
    pub mount_port: Option<u16>,
    /// TCP port of the portmapper.
    pub portmap_port: u16,
    /// User id of AUTH_SYS.
    pub uid: u32,
    /// Group id of AUTH_SYS.
    pub gid: u32,
}

/// Our prefix in a bucket, with what is needed to find it again; the keys come from the user anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct S3Place {
    /// Scheme, host and port, such as `http://10.0.0.1:80`.
    pub endpoint: String,
    /// Address to connect to, where it is not the endpoint's.
    pub connect_to: Option<SocketAddr>,
    /// Name of the bucket.
    pub bucket: String,
    /// What the keys of our objects begin with, such as `manometer-abcdefgh/`.
    pub prefix: String,
    /// Region in the signature.
    pub region: String,
    /// Whether the bucket stands in the path, not in the host name.
    pub path_style: bool,
    /// CA file of the endpoint, if not the system's roots.
    pub ca_file: Option<PathBuf>,
    /// Whether the endpoint's certificate goes unverified.
    pub insecure: bool,
    /// Shared credentials file that the keys came from, if they did.
    pub credentials_file: Option<PathBuf>,
    /// Profile in that file.
    pub profile: Option<String>,
    /// Whether objects may have gone up in parts, so that unfinished uploads may be left. Journals of earlier versions
    /// do not say, and then they may.
    #[serde(default = "unknown_parts")]
    pub may_have_parts: bool,
}

const fn unknown_parts() -> bool {
    true
}

impl S3Place {
    /// True when both are the same prefix, reached in the same way; what was put there may differ.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        let alike = Self { may_have_parts: self.may_have_parts, ..other.clone() };
        *self == alike
    }
}

/// Our directory in a file system of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalPlace {
    /// The machine's name: journals may lie in a home directory that several machines share.
    pub host: String,
    /// The directory, from `/` on.
    pub path: PathBuf,
}

impl LocalPlace {
    /// A directory of this machine.
    pub fn here(path: PathBuf) -> Self {
        Self { host: host(), path }
    }

    /// Whether it is on this machine.
    pub fn is_here(&self) -> bool {
        self.host == host()
    }
}

/// This machine's name.
pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Something to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Thing {
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
    /// The array chooses a key's name, so that before creation only its user is known.
    AccessKey {
        user: String,
    },
    Bucket {
        name: String,
    },
    Directory(NfsPlace),
    Objects(S3Place),
    LocalDirectory(LocalPlace),
}

impl Thing {
    /// Whether it bears the name of this run, as everything does that the run makes. What does not is never touched: a
    /// journal may have been edited, damaged or mixed up with another, and eradication is for ever.
    pub(crate) fn is_of(&self, run: &RunId) -> bool {
        let own = run.object_name();
        match self {
            Self::FileSystem { name } | Self::Account { name } | Self::Bucket { name } => *name == own,
            Self::User { name } | Self::AccessKey { user: name } => {
                name.rsplit_once('/').is_some_and(|(account, user)| !account.is_empty() && user == own)
            }
            Self::Directory(place) => place.directory == own,
            Self::Objects(place) => place.prefix.strip_suffix('/') == Some(&own),
            Self::LocalDirectory(place) => {
                place.path.is_absolute() && place.path.file_name().is_some_and(|name| name == &*own)
            }
        }
    }

    /// Whether the management API removes it.
    pub(crate) fn is_on_array(&self) -> bool {
        !matches!(self, Self::Directory(_) | Self::Objects(_) | Self::LocalDirectory(_))
    }
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSystem { name } => write!(f, "file system {name}"),
            Self::Account { name } => write!(f, "object store account {name}"),
            Self::User { name } => write!(f, "object store user {name}"),
            Self::AccessKey { user } => write!(f, "access key of {user}"),
            Self::Bucket { name } => write!(f, "bucket {name}"),
            Self::Directory(place) => {
                write!(f, "directory {} on {}:{}", place.directory, place.server, place.export)
            }
            Self::Objects(place) => {
                write!(f, "objects {} in bucket {} at {}", place.prefix, place.bucket, place.endpoint)
            }
            Self::LocalDirectory(place) => {
                write!(f, "directory {} on {}", place.path.display(), place.host)
            }
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

/// How far a thing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// About to be created: whether it was is not known.
    Intended,
    /// Created.
    Created,
    /// Refused, or not ours: there is nothing to remove.
    Void,
    /// Removed.
    Removed,
    /// It does not bear the run's name: it is never touched, and keeps the journal.
    Foreign,
}

impl State {
    /// There is nothing left to do about the thing.
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
    /// The array that the run talks to.
    Array(ArrayFacts),
    /// About to be created.
    Intend { n: u32, at_s: u64, thing: Thing },
    /// Was created.
    Created { n: u32 },
    /// Was refused, or is not ours.
    Void { n: u32, why: String },
    /// Was removed.
    Removed { n: u32 },
}
