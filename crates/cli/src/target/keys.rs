//! Access keys that job files, or the side that leads, give. They stand in no plan, journal, log or results file, and in no driver's messages.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use drivers::s3::{Credentials, Secret};
use fleet::AccessKey;

pub use experiment::fio::meaning::ObjectKey;

/// By the target's name.
static KEYS: RwLock<BTreeMap<String, Credentials>> = RwLock::new(BTreeMap::new());

/// Keeps the keys of job files for as long as the process lives; targets of these names are opened with them.
pub fn hold(keys: BTreeMap<String, ObjectKey>) {
    let keys = keys.into_iter().map(|(name, key)| (name, Credentials::new(key.id, key.secret)));
    KEYS.write().unwrap_or_else(PoisonError::into_inner).extend(keys);
}

/// The key of a target, if one was given.
pub(super) fn of(target: &str) -> Option<Credentials> {
    KEYS.read().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
}

/// Keeps the key that came to this agent for a target, for as long as the process lives.
pub fn hold_for_agent(target: &str, key: &AccessKey) {
    let credentials = Credentials {
        session_token: key.token.clone().map(Secret::new),
        ..Credentials::new(&*key.id, &*key.secret)
    };
    KEYS.write().unwrap_or_else(PoisonError::into_inner).insert(target.to_owned(), credentials);
}
