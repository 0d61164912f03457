//! Secrets of a run: they stand in no plan, journal, log or results file, and in no driver's messages.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A key pair: the access key of S3, or what another protocol signs in with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// The key's name.
    pub id: String,
    /// The secret.
    pub secret: String,
    /// The session token of temporary keys.
    pub token: Option<String>,
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Where the targets of a run find their secrets.
pub trait Secrets: fmt::Debug + Send + Sync {
    /// The key of the target with this name in the plan; `None` when the target finds its own, as its options or the environment say.
    fn key(&self, target: &str) -> Option<AccessKey>;
}

/// Secrets in memory: from job files, or as a coordinator sent them to an agent.
#[derive(Debug, Default)]
pub struct HeldSecrets(BTreeMap<String, AccessKey>);

impl FromIterator<(String, AccessKey)> for HeldSecrets {
    /// Keys by the names of their targets.
    fn from_iter<I: IntoIterator<Item = (String, AccessKey)>>(keys: I) -> Self {
        Self(keys.into_iter().collect())
    }
}

impl Secrets for HeldSecrets {
    fn key(&self, target: &str) -> Option<AccessKey> {
        self.0.get(target).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_belong_to_their_holder_and_are_never_shown() {
        let key = AccessKey { id: "ID".into(), secret: "hush".into(), token: Some("quiet".into()) };
        let first: HeldSecrets = [("data".to_owned(), key)].into_iter().collect();
        let second = HeldSecrets::default();
        assert_eq!(first.key("data").unwrap().secret, "hush");
        assert!(first.key("other").is_none() && second.key("data").is_none());
        let shown = format!("{first:?}");
        assert!(shown.contains("ID") && !shown.contains("hush") && !shown.contains("quiet"), "{shown}");
    }
}
