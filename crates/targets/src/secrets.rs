//! Secrets of a run: they stand in no plan, journal, log or results file, and in no driver's messages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

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
    /// The key of the target with this name in the plan; `None` when its options or variables say where its key is.
    fn key(&self, target: &str) -> Option<AccessKey>;

    /// The value of an environment variable that the tools of a protocol read, such as `AWS_ACCESS_KEY_ID` or `AWS_REGION`. Whoever
    /// runs something for several users answers with their values, or with none.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The environment of this process: for programs that work for the user who started them.
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

/// Secrets in memory: from job files, or as a coordinator sent them to an agent. There are no variables unless others are beneath.
#[derive(Debug, Default)]
pub struct HeldSecrets {
    keys: BTreeMap<String, AccessKey>,
    beneath: Option<Arc<dyn Secrets>>,
}

impl HeldSecrets {
    /// Looks in `beneath` for what is not held here.
    pub fn over(self, beneath: Arc<dyn Secrets>) -> Self {
        Self { beneath: Some(beneath), ..self }
    }
}

impl FromIterator<(String, AccessKey)> for HeldSecrets {
    /// Keys by the names of their targets.
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
