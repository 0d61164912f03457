//! Secrets of a run: they appear in no plan, journal, log, results file or driver message.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use provision::BucketAccess;
use serde::{Deserialize, Serialize};

/// A key pair: an S3 access key, or another protocol's credentials.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    /// The key's name.
    pub id: String,
    /// The secret.
    pub secret: String,
    /// The session token of temporary keys.
    pub token: Option<String>,
}

impl From<&BucketAccess> for AccessKey {
    /// The key that an array made for a bucket.
    fn from(access: &BucketAccess) -> Self {
        Self { id: access.access_key.clone(), secret: access.secret_key.reveal().to_owned(), token: None }
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Where a run's targets find their secrets.
pub trait Secrets: fmt::Debug + Send + Sync {
    /// The key of the target with this name in the plan; `None` when its options or environment variables locate the
    /// key.
    fn key(&self, target: &str) -> Option<AccessKey>;

    /// The value of an environment variable that a protocol's tools read, such as `AWS_ACCESS_KEY_ID` or `AWS_REGION`.
    /// A program that serves several users returns each user's values, or none.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The environment of this process, for programs that work for the user who started them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Secrets for ProcessEnvironment {
    fn key(&self, _target: &str) -> Option<AccessKey> {
        None
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

/// Secrets in memory: from job files, or sent to an agent by a coordinator. Variables come only from the layer beneath,
/// if any.
#[derive(Debug, Default)]
pub struct HeldSecrets {
    keys: BTreeMap<String, AccessKey>,
    beneath: Option<Arc<dyn Secrets>>,
}

impl HeldSecrets {
    /// Falls back to `beneath` for what is not held here.
    pub fn over(self, beneath: Arc<dyn Secrets>) -> Self {
        Self { beneath: Some(beneath), ..self }
    }
}

impl FromIterator<(String, AccessKey)> for HeldSecrets {
    /// Keys by target name.
    fn from_iter<I: IntoIterator<Item = (String, AccessKey)>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect(), beneath: None }
    }
}

impl Secrets for HeldSecrets {
    fn key(&self, target: &str) -> Option<AccessKey> {
        self.keys.get(target).cloned().or_else(|| self.beneath.as_ref()?.key(target))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.beneath.as_ref()?.variable(name)
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

    #[test]
    fn the_environment_of_the_process_is_asked_only_where_it_is_put_beneath() {
        let alone = HeldSecrets::default();
        assert!(ProcessEnvironment.variable("PATH").is_some() && alone.variable("PATH").is_none());
        let key = AccessKey { id: "ID".into(), secret: "hush".into(), token: None };
        let lower: HeldSecrets = [("data".to_owned(), key)].into_iter().collect();
        let upper = alone.over(Arc::new(lower.over(Arc::new(ProcessEnvironment))));
        assert_eq!(upper.variable("PATH"), ProcessEnvironment.variable("PATH"));
        assert_eq!(upper.key("data").unwrap().id, "ID");
    }
}
