//! Everything that exists on the array, in a fixed order, for comparing before and after.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

use crate::objects::Objects;

/// Sources of the state.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) objects: Arc<RwLock<Objects>>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// The state: names, counts and bytes, without ids, times, secrets and sessions, which differ from run to run.
pub(crate) fn state(parts: &Parts) -> Value {
    let objects = parts.objects.read().unwrap_or_else(PoisonError::into_inner);
    // Summed over what is listed here, so that everything is from one moment: a removed object may hold its space until
    // a response that contains it is sent, and an incoming request holds some before its object exists.
    let mut used_bytes = 0;
    let file_systems: Vec<Value> = objects
        .file_systems
        .iter()
        .map(|(name, found)| {
            let usage = objects.usage(name);
            let count = |pick: fn(&crate::files::NodeCounts) -> u64| {
                usage.as_ref().map_or(0, |usage| pick(&usage.counts))
            };
            let bytes = usage.as_ref().map_or(0, |usage| usage.bytes);
            used_bytes += bytes;
            json!({
                "name": name,
                "destroyed": found.destroyed_ms.is_some(),
                "nfs_v3": found.v3_enabled,
                "nfs_v4_1": found.v4_1_enabled,
                "nfs_rules": found.nfs_rules,
                "provisioned": found.provisioned,
                "files": count(|counts| counts.files),
                "directories": count(|counts| counts.directories),
                "others": count(|counts| counts.others),
                "bytes": bytes,
            })
        })
        .collect();
    let users: Vec<Value> =
        objects.users.iter().map(|(name, user)| json!({ "name": name, "policies": user.policies })).collect();
    let keys: Vec<Value> = objects
        .keys
        .iter()
        .map(|(id, key)| json!({ "name": id, "user": key.user, "enabled": key.enabled }))
        .collect();
    let buckets: Vec<Value> = objects
        .buckets
        .iter()
        .map(|(name, bucket)| {
            let totals = bucket.contents.totals();
            used_bytes += totals.bytes + totals.upload_bytes;
            json!({
                "name": name,
                "account": bucket.account,
                "destroyed": bucket.destroyed_ms.is_some(),
                "versioning": bucket.versioning,
                "objects": totals.objects,
                "bytes": totals.bytes,
                "open_uploads": totals.uploads,
                "open_upload_bytes": totals.upload_bytes,
            })
        })
        .collect();
    json!({
        "file_systems": file_systems,
        "object_store_accounts": objects.accounts.keys().collect::<Vec<_>>(),
        "object_store_users": users,
        "object_store_access_keys": keys,
        "buckets": buckets,
        "used_bytes": used_bytes,
    })
}
