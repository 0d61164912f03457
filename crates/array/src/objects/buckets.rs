//! Buckets: created, destroyed, recovered, eradicated.

use std::sync::Arc;

use super::{ApiRefusal, Birth, Bucket, Objects, wall_ms};
use crate::s3::Contents;

impl Objects {
    /// Creates a bucket; its name must be unique across all accounts, including destroyed buckets.
    pub(crate) fn create_bucket(&mut self, name: &str, account: &str) -> Result<(), ApiRefusal> {
        check_name(name)?;
        if !self.accounts.contains_key(account) {
            return Err(ApiRefusal::missing(account, "Account"));
        }
        if self.buckets.contains_key(name) {
            return Err(ApiRefusal::exists(name, "Bucket"));
        }
        let made = Bucket {
            birth: Birth::now(),
            account: account.into(),
            versioning: "none".into(),
            destroyed_ms: None,
            contents: Arc::new(Contents::new(Arc::clone(self.files.capacity()))),
        };
        self.buckets.insert(name.into(), made);
        Ok(())
    }

    /// Destroys a bucket or recovers it, and sets its versioning.
    pub(crate) fn change_bucket(
        &mut self,
        name: &str,
        destroyed: Option<bool>,
        versioning: Option<&str>,
    ) -> Result<(), ApiRefusal> {
        let Some(bucket) = self.buckets.get_mut(name) else {
            return Err(ApiRefusal::missing(name, "Bucket"));
        };
        if let Some(versioning) = versioning {
            if !["none", "enabled", "suspended"].contains(&versioning) {
                return Err(ApiRefusal::new(name, "Invalid versioning."));
            }
            bucket.versioning = versioning.into();
        }
        match destroyed {
            Some(true) if bucket.destroyed_ms.is_none() => bucket.destroyed_ms = Some(wall_ms()),
            Some(false) => bucket.destroyed_ms = None,
            _ => {}
        }
        Ok(())
    }

    /// Permanently removes a destroyed bucket. Arrays eradicate it together with its contents.
    pub(crate) fn eradicate_bucket(&mut self, name: &str) -> Result<(), ApiRefusal> {
        match self.buckets.get(name) {
            None => Err(ApiRefusal::missing(name, "Bucket")),
            Some(found) if found.destroyed_ms.is_none() => {
                Err(ApiRefusal::new(name, "Bucket must be destroyed before it can be eradicated."))
            }
            Some(_) => {
                self.buckets.remove(name);
                Ok(())
            }
        }
    }

    /// Removes a bucket as S3 does: at once, and only if empty.
    pub(crate) fn delete_empty_bucket(&mut self, name: &str) -> Result<(), ApiRefusal> {
        match self.live_bucket(name) {
            None => Err(ApiRefusal::missing(name, "Bucket")),
            Some(found) if !found.contents.is_empty() => Err(ApiRefusal::new(name, "Bucket is not empty.")),
            Some(_) => {
                self.buckets.remove(name);
                Ok(())
            }
        }
    }
}

/// Checks the name of a bucket: 3 to 63 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends.
fn check_name(name: &str) -> Result<(), ApiRefusal> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fits = (3..=63).contains(&name.len())
        && name.starts_with(plain)
        && name.ends_with(plain)
        && name.chars().all(|c| plain(c) || "-.".contains(c));
    if fits { Ok(()) } else { Err(ApiRefusal::new(name, "Invalid bucket name.")) }
}
