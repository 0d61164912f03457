//! Everything created by management: file systems, accounts, users, keys and buckets, and the rules between them. No
//! protocol and no JSON here; the same rules serve both API generations and S3.

mod accounts;
mod buckets;
mod file_systems;
mod initial;
mod keys;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use accounts::FULL_ACCESS;
pub(crate) use accounts::POLICIES;
pub(crate) use file_systems::{FileSystemChange, NewFileSystem};
pub use initial::S3Key;
pub(crate) use keys::Secret;

use crate::files::{Files, SpaceUsage};
use crate::s3::Contents;

/// Why the array rejects a request: the object, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{context}: {message}")]
pub struct ApiRefusal {
    /// The name in the request.
    pub context: String,
    /// The reason, in the wording of arrays.
    pub message: String,
}

impl ApiRefusal {
    pub(crate) fn new(context: impl Into<String>, message: impl Into<String>) -> Self {
        Self { context: context.into(), message: message.into() }
    }

    fn missing(context: &str, what: &str) -> Self {
        Self::new(context, format!("{what} does not exist."))
    }

    fn exists(context: &str, what: &str) -> Self {
        Self::new(context, format!("{what} already exists."))
    }
}

/// Id and creation time of everything that has a name.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    /// A UUID.
    pub(crate) id: String,
    /// Milliseconds since 1970.
    pub(crate) created_ms: u64,
}

impl Birth {
    fn now() -> Self {
        Self { id: uuid(), created_ms: wall_ms() }
    }
}

/// Milliseconds since 1970.
pub(crate) fn wall_ms() -> u64 {
    let since = reactor::clock::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How long destroyed objects can be recovered: a day.
const ERADICATION_DELAY_MS: u64 = 86_400_000;

/// Milliseconds left until an object destroyed at that time would be eradicated automatically.
pub(crate) fn time_remaining_ms(destroyed_ms: u64) -> u64 {
    (destroyed_ms + ERADICATION_DELAY_MS).saturating_sub(wall_ms())
}

/// A random UUID (version 4).
pub(crate) fn uuid() -> String {
    let mut bytes: [u8; 16] = std::array::from_fn(|_| fastrand::u8(..));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A file system.
#[derive(Clone, Debug)]
pub(crate) struct FileSystem {
    pub(crate) birth: Birth,
    pub(crate) provisioned: u64,
    pub(crate) hard_limit: bool,
    pub(crate) nfs_rules: String,
    pub(crate) v3_enabled: bool,
    pub(crate) v4_1_enabled: bool,
    pub(crate) smb_enabled: bool,
    pub(crate) http_enabled: bool,
    pub(crate) fast_remove: bool,
    pub(crate) snapshot_directory: bool,
    pub(crate) writable: bool,
    /// When it was destroyed, in milliseconds since 1970.
    pub(crate) destroyed_ms: Option<u64>,
}

/// An object store user, named `account/user`.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) birth: Birth,
    pub(crate) account: String,
    pub(crate) policies: BTreeSet<String>,
}

/// An access key, named by its id.
#[derive(Clone, Debug)]
pub(crate) struct AccessKey {
    pub(crate) created_ms: u64,
    pub(crate) user: String,
    pub(crate) secret: Secret,
    pub(crate) enabled: bool,
}

/// A bucket.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) birth: Birth,
    pub(crate) account: String,
    pub(crate) versioning: String,
    pub(crate) destroyed_ms: Option<u64>,
    /// The objects in it, shared with the S3 service.
    pub(crate) contents: Arc<Contents>,
}

/// Everything created by management.
pub(crate) struct Objects {
    pub(crate) file_systems: BTreeMap<String, FileSystem>,
    pub(crate) accounts: BTreeMap<String, Birth>,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) keys: BTreeMap<String, AccessKey>,
    pub(crate) buckets: BTreeMap<String, Bucket>,
    files: Arc<Files>,
}

impl Objects {
    /// An array on which nothing has been created.
    pub(crate) fn new(files: Arc<Files>) -> Self {
        Self {
            file_systems: BTreeMap::new(),
            accounts: BTreeMap::new(),
            users: BTreeMap::new(),
            keys: BTreeMap::new(),
            buckets: BTreeMap::new(),
            files,
        }
    }

    /// The space and node counts of a file system.
    pub(crate) fn usage(&self, file_system: &str) -> Option<SpaceUsage> {
        self.files.usage(file_system).ok()
    }
}

#[cfg(test)]
mod tests;
