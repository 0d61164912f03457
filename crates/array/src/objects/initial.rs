//! Exports and buckets that exist from the start, without a call to the management API.

use std::fmt;

use super::keys::Secret;
use super::{ApiRefusal, FileSystemChange, NewFileSystem, Objects};

/// The account that owns the buckets, and its user.
const ACCOUNT: &str = "manometer";
const USER: &str = "manometer/manometer";

/// An access key for S3. Its `Debug` does not reveal the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Key {
    id: String,
    secret: Secret,
}

impl S3Key {
    /// The key's id (`AWS_ACCESS_KEY_ID`).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The secret (`AWS_SECRET_ACCESS_KEY`), for its owner; never to be logged.
    pub fn reveal_secret(&self) -> &str {
        self.secret.reveal()
    }
}

impl fmt::Debug for S3Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Key").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Objects {
    /// Creates file systems that everyone may mount, and buckets; returns a key with full access to the buckets, if
    /// there are any.
    ///
    /// # Errors
    /// A name that arrays reject, or one that is given twice.
    pub(crate) fn create_initial(
        &mut self,
        exports: &[String],
        buckets: &[String],
    ) -> Result<Option<S3Key>, ApiRefusal> {
        for name in exports {
            let enabled = Some(true);
            let change = FileSystemChange {
                v3_enabled: enabled,
                v4_1_enabled: enabled,
                ..FileSystemChange::default()
            };
            self.create_file_system(name, &NewFileSystem { change, ..NewFileSystem::default() })?;
        }
        if buckets.is_empty() {
            return Ok(None);
        }
        self.create_account(ACCOUNT)?;
        self.create_user(USER, true)?;
        for name in buckets {
            self.create_bucket(name, ACCOUNT)?;
        }
        let id = self.create_key(USER, None)?;
        let secret = self.keys[&id].secret.clone();
        Ok(Some(S3Key { id, secret }))
    }
}
