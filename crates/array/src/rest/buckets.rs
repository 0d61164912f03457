//! `buckets`.

use serde_json::{Value, json};

use super::api::Api;
use super::array_info::{space_of, total_space};
use super::call::{Call, Failure, Outcome};
use super::network::reference;
use super::page::List;
use super::version::Version;
use crate::objects::{Bucket, Objects, time_remaining_ms};

const NEW_FIELDS: &[&str] = &[
    "account",
    "bucket_type",
    "eradication_config",
    "hard_limit_enabled",
    "object_lock_config",
    "quota_limit",
    "retention_lock",
    "node_group",
    "workload",
];

const CHANGE_FIELDS: &[&str] = &[
    "destroyed",
    "versioning",
    "eradication_config",
    "hard_limit_enabled",
    "object_lock_config",
    "public_access_config",
    "qos_policy",
    "quota_limit",
    "retention_lock",
    "storage_class",
    "workload",
];

pub(super) fn list(api: &Api, call: &Call) -> Outcome {
    let objects = api.read();
    let items =
        objects.buckets.iter().map(|(name, found)| item(&objects, name, found, call.version)).collect();
    List { call, items, kind: "Bucket", page_items: api.page_items, total: Some(total_space) }.answer()
}

pub(super) fn create(api: &Api, call: &Call) -> Outcome {
    call.only_fields(NEW_FIELDS)?;
    let names = call.targets(|_| None)?;
    let mut objects = api.write();
    let account = match (call.field::<String>("/account/name")?, call.field::<String>("/account/id")?) {
        (Some(name), _) => name,
        (None, Some(id)) => {
            let found = objects.accounts.iter().find(|(_, birth)| birth.id == id);
            found.map(|(name, _)| name.clone()).ok_or_else(|| Failure::bad(&id, "Account does not exist."))?
        }
        (None, None) => return Err(Failure::bad("account", "An account must be specified.")),
    };
    for name in &names {
        objects.create_bucket(name, &account)?;
    }
    shown(&objects, call, &names)
}

pub(super) fn change(api: &Api, call: &Call) -> Outcome {
    call.only_fields(CHANGE_FIELDS)?;
    let mut objects = api.write();
    let names = call.targets(|id| id_of(&objects, id))?;
    let versioning = call.field::<String>("/versioning")?;
    let destroyed = call.field("/destroyed")?;
    for name in &names {
        objects.change_bucket(name, destroyed, versioning.as_deref())?;
    }
    shown(&objects, call, &names)
}

pub(super) fn eradicate(api: &Api, call: &Call) -> Outcome {
    let mut objects = api.write();
    for name in call.targets(|id| id_of(&objects, id))? {
        objects.eradicate_bucket(&name)?;
    }
    Ok(None)
}

fn id_of(objects: &Objects, id: &str) -> Option<String> {
    objects.buckets.iter().find(|(_, found)| found.birth.id == id).map(|(name, _)| name.clone())
}

fn shown(objects: &Objects, call: &Call, names: &[String]) -> Outcome {
    let items =
        names.iter().filter_map(|name| Some(item(objects, name, objects.buckets.get(name)?, call.version)));
    call.changed(items.collect())
}

fn item(objects: &Objects, name: &str, found: &Bucket, version: Version) -> Value {
    let totals = found.contents.totals();
    let account_id = objects.accounts.get(&found.account).map_or("", |birth| birth.id.as_str());
    let mut item =
        json!({ "name": name, "created": found.birth.created_ms, "space": space_of(totals.bytes) });
    let later = [
        (4, "object_count", json!(totals.objects)),
        (5, "account", reference(version, "object-store-accounts", account_id, &found.account)),
        (5, "destroyed", json!(found.destroyed_ms.is_some())),
        (5, "time_remaining", json!(found.destroyed_ms.map(time_remaining_ms))),
        (6, "versioning", json!(found.versioning)),
        (8, "id", json!(found.birth.id)),
    ];
    if let Some(fields) = item.as_object_mut() {
        fields.extend(
            later
                .into_iter()
                .filter(|(since, ..)| version.since(*since))
                .map(|(_, field, value)| (field.to_owned(), value)),
        );
    }
    item
}
