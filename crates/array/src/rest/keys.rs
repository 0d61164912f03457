//! `object-store-access-keys`: the secret is revealed when the key is created, and never again.

use serde_json::{Value, json};

use super::api::Api;
use super::call::{Call, Failure, Outcome};
use super::network::reference;
use super::page::List;
use super::version::Version;
use crate::objects::{AccessKey, Objects, Secret};

pub(super) fn list(api: &Api, call: &Call) -> Outcome {
    let objects = api.read();
    let items = objects.keys.iter().map(|(id, key)| item(&objects, id, key, call.version)).collect();
    List { call, items, kind: "Access key", page_items: api.page_items, total: None }.answer()
}

pub(super) fn create(api: &Api, call: &Call) -> Outcome {
    call.only_fields(&["user", "secret_access_key"])?;
    let mut objects = api.write();
    let user = match (call.field::<String>("/user/name")?, call.field::<String>("/user/id")?) {
        (Some(name), _) => name,
        (None, Some(id)) => {
            let found = objects.users.iter().find(|(_, user)| user.birth.id == id);
            found.map(|(name, _)| name.clone()).ok_or_else(|| Failure::bad(&id, "User does not exist."))?
        }
        (None, None) => return Err(Failure::bad("user", "A user must be specified.")),
    };
    let names = call.query.list("names");
    let import = match (names.first(), call.field::<String>("/secret_access_key")?) {
        (Some(name), Some(secret)) => Some((name.as_str(), Secret::new(secret))),
        (None, None) => None,
        _ => {
            return Err(Failure::bad(
                "names",
                "To import a key, both its name and its secret must be given.",
            ));
        }
    };
    let imported = import.is_some();
    let id = objects.create_key(&user, import)?;
    let Some(key) = objects.keys.get(&id) else { return Err(Failure::status(500, "The key vanished.")) };
    let mut made = item(&objects, &id, key, call.version);
    if let Some(fields) = made.as_object_mut().filter(|_| !imported) {
        fields.insert("secret_access_key".into(), json!(key.secret.reveal()));
    }
    call.changed(vec![made])
}

pub(super) fn change(api: &Api, call: &Call) -> Outcome {
    call.only_fields(&["name", "created", "enabled", "user", "secret_access_key"])?;
    let names = call.targets(|_| None)?;
    let mut objects = api.write();
    if let Some(enabled) = call.field("/enabled")? {
        for name in &names {
            objects.enable_key(name, enabled)?;
        }
    }
    let shown =
        names.iter().filter_map(|name| Some(item(&objects, name, objects.keys.get(name)?, call.version)));
    call.changed(shown.collect())
}

pub(super) fn delete(api: &Api, call: &Call) -> Outcome {
    let names = call.targets(|_| None)?;
    let mut objects = api.write();
    for name in names {
        objects.delete_key(&name)?;
    }
    Ok(None)
}

fn item(objects: &Objects, id: &str, key: &AccessKey, version: Version) -> Value {
    let user_id = objects.users.get(&key.user).map_or("", |user| user.birth.id.as_str());
    let mut item = json!({
        "name": id,
        "created": key.created_ms,
        "user": reference(version, "object-store-users", user_id, &key.user),
        "enabled": key.enabled,
    });
    // Since 2.27 a key's id differs from its name.
    if let Some(fields) = item.as_object_mut().filter(|_| version.is_2() && version.minor >= 27) {
        fields.insert("access_key_id".into(), json!(id));
    }
    item
}
