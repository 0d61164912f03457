//! Access keys: the secret is revealed once.

use std::fmt;

use super::{AccessKey, ApiRefusal, Bucket, FULL_ACCESS, Objects, wall_ms};

/// Maximum access keys per user.
const MAX_KEYS: usize = 2;

/// A secret access key. Its `Debug` reveals nothing.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// A secret given by the user, who imports a key.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn random() -> Self {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        Self((0..40).map(|_| char::from(ALPHABET[fastrand::usize(..64)])).collect())
    }

    /// The secret itself: for its owner, or to verify a signature.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Objects {
    /// Creates an access key for a user, or imports the given one; returns its id.
    pub(crate) fn create_key(
        &mut self,
        user: &str,
        import: Option<(&str, Secret)>,
    ) -> Result<String, ApiRefusal> {
        if !self.users.contains_key(user) {
            return Err(ApiRefusal::missing(user, "User"));
        }
        if self.keys.values().filter(|key| key.user == user).count() >= MAX_KEYS {
            return Err(ApiRefusal::new(user, "User already has the maximum number of access keys."));
        }
        let (id, secret) = match import {
            Some((id, secret)) => (id.to_owned(), secret),
            None => (format!("PSFB{}", random_id(16)), Secret::random()),
        };
        if self.keys.contains_key(&id) {
            return Err(ApiRefusal::exists(&id, "Access key"));
        }
        let made = AccessKey { created_ms: wall_ms(), user: user.into(), secret, enabled: true };
        self.keys.insert(id.clone(), made);
        Ok(id)
    }

    /// Enables or disables a key.
    pub(crate) fn enable_key(&mut self, id: &str, enabled: bool) -> Result<(), ApiRefusal> {
        match self.keys.get_mut(id) {
            Some(key) => key.enabled = enabled,
            None => return Err(ApiRefusal::missing(id, "Access key")),
        }
        Ok(())
    }

    /// Removes a key.
    pub(crate) fn delete_key(&mut self, id: &str) -> Result<(), ApiRefusal> {
        self.keys.remove(id).map(|_| ()).ok_or_else(|| ApiRefusal::missing(id, "Access key"))
    }

    /// The account and user of a key, if a policy of the user grants one of `policies` (or everything).
    pub(crate) fn allowed(&self, key: &str, policies: &[&str]) -> Option<&str> {
        let user = self.users.get(&self.keys.get(key)?.user)?;
        let allows = |policy: &&str| user.policies.contains(*policy);
        (user.policies.contains(FULL_ACCESS) || policies.iter().any(allows)).then_some(user.account.as_str())
    }

    /// A bucket that is not destroyed.
    pub(crate) fn live_bucket(&self, name: &str) -> Option<&Bucket> {
        self.buckets.get(name).filter(|bucket| bucket.destroyed_ms.is_none())
    }
}

/// Random characters of the alphabet of base 32.
fn random_id(length: usize) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    (0..length).map(|_| char::from(ALPHABET[fastrand::usize(..32)])).collect()
}
