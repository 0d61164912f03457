//! `object-store-accounts` and `object-store-users`.

use serde_json::{Value, json};

use super::api::Api;
use super::array_info::{space_of, total_space};
use super::call::{Call, Outcome};
use super::network::reference;
use super::page::List;
use super::version::Version;
use crate::objects::{Birth, Objects, User};

pub(super) fn list_accounts(api: &Api, call: &Call) -> Outcome {
    let objects = api.read();
    let items =
        objects.accounts.iter().map(|(name, birth)| account(&objects, name, birth, call.version)).collect();
    List { call, items, kind: "Account", page_items: api.page_items, total: Some(total_space) }.answer()
}

pub(super) fn create_accounts(api: &Api, call: &Call) -> Outcome {
    call.only_fields(&["bucket_defaults", "hard_limit_enabled", "quota_limit", "account_exports"])?;
    let names = call.targets(|_| None)?;
    let mut objects = api.write();
    for name in &names {
        objects.create_account(name)?;
    }
    let made = names
        .iter()
        .filter_map(|name| Some(account(&objects, name, objects.accounts.get(name)?, call.version)));
    call.changed(made.collect())
}

pub(super) fn delete_accounts(api: &Api, call: &Call) -> Outcome {
    let mut objects = api.write();
    let id_of =
        |id: &str| objects.accounts.iter().find(|(_, birth)| birth.id == id).map(|(name, _)| name.clone());
    for name in call.targets(id_of)? {
        objects.delete_account(&name)?;
    }
    Ok(None)
}

fn account(objects: &Objects, name: &str, birth: &Birth, version: Version) -> Value {
    let totals = || {
        objects
            .buckets
            .values()
            .filter(|bucket| bucket.account == name)
            .map(|bucket| bucket.contents.totals())
    };
    let mut item = json!({
        "name": name,
        "created": birth.created_ms,
        "object_count": totals().map(|totals| totals.objects).sum::<u64>(),
        "space": space_of(totals().map(|totals| totals.bytes).sum()),
    });
    if let Some(fields) = item.as_object_mut().filter(|_| version.since(8)) {
        fields.insert("id".into(), json!(birth.id));
    }
    item
}

pub(super) fn list_users(api: &Api, call: &Call) -> Outcome {
    let objects = api.read();
    let items = objects.users.iter().map(|(name, found)| user(&objects, name, found, call.version)).collect();
    List { call, items, kind: "User", page_items: api.page_items, total: None }.answer()
}

pub(super) fn create_users(api: &Api, call: &Call) -> Outcome {
    let names = call.targets(|_| None)?;
    // Before access policies, every user had full access.
    let full_access = call.query.truth("full_access")?.unwrap_or(!call.version.since(12));
    let mut objects = api.write();
    for name in &names {
        objects.create_user(name, full_access)?;
    }
    let made =
        names.iter().filter_map(|name| Some(user(&objects, name, objects.users.get(name)?, call.version)));
    call.changed(made.collect())
}

pub(super) fn delete_users(api: &Api, call: &Call) -> Outcome {
    let mut objects = api.write();
    let id_of =
        |id: &str| objects.users.iter().find(|(_, user)| user.birth.id == id).map(|(name, _)| name.clone());
    for name in call.targets(id_of)? {
        objects.delete_user(&name)?;
    }
    Ok(None)
}

fn user(objects: &Objects, name: &str, found: &User, version: Version) -> Value {
    let keys = objects.keys.iter().filter(|(_, key)| key.user == name);
    let account_id = objects.accounts.get(&found.account).map_or("", |birth| birth.id.as_str());
    let mut item = json!({
        "name": name,
        "created": found.birth.created_ms,
        "account": reference(version, "object-store-accounts", account_id, &found.account),
        "access_keys": keys.map(|(id, _)| key_reference(version, id)).collect::<Vec<_>>(),
    });
    if let Some(fields) = item.as_object_mut().filter(|_| version.since(8)) {
        fields.insert("id".into(), json!(found.birth.id));
    }
    item
}

/// Keys have no id besides their name.
fn key_reference(version: Version, name: &str) -> Value {
    if version.since(9) {
        json!({ "name": name, "resource_type": "object-store-access-keys" })
    } else {
        json!({ "name": name })
    }
}
