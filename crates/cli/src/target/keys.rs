//! Access keys that job files give. They stand in no plan, journal, log or results file, and in no driver's messages.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

pub use experiment::fio::meaning::ObjectKey;

/// By the target's name.
static KEYS: RwLock<BTreeMap<String, ObjectKey>> = RwLock::new(BTreeMap::new());

/// Keeps the keys of job files for as long as the process lives; targets of these names are opened with them.
pub fn hold(keys: BTreeMap<String, ObjectKey>) {
    KEYS.write().unwrap_or_else(PoisonError::into_inner).extend(keys);
}

/// The key of a target, if a job file gave one.
pub(super) fn of(target: &str) -> Option<ObjectKey> {
    KEYS.read().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
}
