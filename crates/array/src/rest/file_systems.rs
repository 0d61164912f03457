//! `file-systems`.

use serde_json::{Value, json};

use super::api::Api;
use super::array_info::{space_of, total_space};
use super::call::{Call, Failure, Outcome};
use super::page::List;
use super::version::Version;
use crate::objects::time_remaining_ms;
use crate::objects::{FileSystem, FileSystemChange, NewFileSystem, Objects};

/// Fields allowed in a body; read-only ones are ignored.
const FIELDS: &[&str] = &[
    "name",
    "id",
    "created",
    "provisioned",
    "hard_limit_enabled",
    "fast_remove_directory_enabled",
    "snapshot_directory_enabled",
    "nfs",
    "smb",
    "http",
    "multi_protocol",
    "default_user_quota",
    "default_group_quota",
    "destroyed",
    "time_remaining",
    "requested_promotion_state",
    "promotion_status",
    "source",
    "space",
    "writable",
    "eradication_config",
    "group_ownership",
    "qos_policy",
    "node_group",
    "storage_class",
    "workload",
];

const NFS_FIELDS: &[&str] = &["rules", "v3_enabled", "v4_1_enabled", "enabled", "export_policy"];

pub(super) fn list(api: &Api, call: &Call) -> Outcome {
    let objects = api.read();
    let items =
        objects.file_systems.iter().map(|(name, found)| item(&objects, name, found, call.version)).collect();
    List { call, items, kind: "File system", page_items: api.page_items, total: Some(total_space) }.answer()
}

pub(super) fn create(api: &Api, call: &Call) -> Outcome {
    // Generation 1 has the name in the body.
    let names = match call.field::<String>("/name")? {
        Some(name) if !call.version.is_2() => vec![name],
        _ => call.targets(|_| None)?,
    };
    let new = NewFileSystem { provisioned: call.field("/provisioned")?, change: change(call)? };
    let mut objects = api.write();
    for name in &names {
        objects.create_file_system(name, &new)?;
    }
    shown(&objects, call, &names)
}

pub(super) fn change_some(api: &Api, call: &Call) -> Outcome {
    let mut objects = api.write();
    let names = call.targets(|id| id_of(&objects, id))?;
    let mut change = change(call)?;
    change.new_name = call.field("/name")?;
    for name in &names {
        objects.change_file_system(name, &change)?;
    }
    shown(&objects, call, &names)
}

pub(super) fn eradicate(api: &Api, call: &Call) -> Outcome {
    let mut objects = api.write();
    for name in call.targets(|id| id_of(&objects, id))? {
        objects.eradicate_file_system(&name)?;
    }
    Ok(None)
}

fn id_of(objects: &Objects, id: &str) -> Option<String> {
    objects.file_systems.iter().find(|(_, found)| found.birth.id == id).map(|(name, _)| name.clone())
}

fn shown(objects: &Objects, call: &Call, names: &[String]) -> Outcome {
    let items = names
        .iter()
        .filter_map(|name| Some(item(objects, name, objects.file_systems.get(name)?, call.version)));
    call.changed(items.collect())
}

fn change(call: &Call) -> Result<FileSystemChange, Failure> {
    call.only_fields(FIELDS)?;
    let nfs = call.field::<serde_json::Map<String, Value>>("/nfs")?.unwrap_or_default();
    if let Some(unknown) = nfs.keys().find(|key| !NFS_FIELDS.contains(&key.as_str())) {
        return Err(Failure::bad(&format!("nfs.{unknown}"), "Unrecognized field."));
    }
    let v3_field = if call.version.since(6) { "/nfs/v3_enabled" } else { "/nfs/enabled" };
    let v3_enabled = match call.field(v3_field)? {
        Some(enabled) => Some(enabled),
        // Kept for old clients of generation 1.
        None if !call.version.is_2() => call.field("/nfs/enabled")?,
        None => None,
    };
    Ok(FileSystemChange {
        new_name: None,
        provisioned: call.field("/provisioned")?,
        hard_limit: call.field("/hard_limit_enabled")?,
        nfs_rules: call.field("/nfs/rules")?,
        v3_enabled,
        v4_1_enabled: call.field("/nfs/v4_1_enabled")?,
        smb_enabled: call.field("/smb/enabled")?,
        http_enabled: call.field("/http/enabled")?,
        fast_remove: call.field("/fast_remove_directory_enabled")?,
        snapshot_directory: call.field("/snapshot_directory_enabled")?,
        writable: call.field("/writable")?,
        destroyed: call.field("/destroyed")?,
    })
}

fn item(objects: &Objects, name: &str, found: &FileSystem, version: Version) -> Value {
    let bytes = objects.usage(name).map_or(0, |usage| usage.bytes);
    let nfs = if version.is_2() {
        json!({ "rules": found.nfs_rules, "v3_enabled": found.v3_enabled, "v4_1_enabled": found.v4_1_enabled })
    } else if version.since(6) {
        json!({
            "enabled": found.v3_enabled,
            "rules": found.nfs_rules,
            "v3_enabled": found.v3_enabled,
            "v4_1_enabled": found.v4_1_enabled,
        })
    } else {
        json!({ "enabled": found.v3_enabled, "rules": found.nfs_rules })
    };
    let mut item = json!({
        "name": name,
        "created": found.birth.created_ms,
        "fast_remove_directory_enabled": found.fast_remove,
        "provisioned": found.provisioned,
        "snapshot_directory_enabled": found.snapshot_directory,
        "nfs": nfs,
        "http": { "enabled": found.http_enabled },
        "smb": { "enabled": found.smb_enabled },
        "space": space_of(bytes),
    });
    let later = [
        (1, "destroyed", json!(found.destroyed_ms.is_some())),
        (1, "time_remaining", json!(found.destroyed_ms.map(time_remaining_ms))),
        (4, "hard_limit_enabled", json!(found.hard_limit)),
        (6, "default_user_quota", json!(0)),
        (6, "default_group_quota", json!(0)),
        (8, "id", json!(found.birth.id)),
        (9, "writable", json!(found.writable)),
        (9, "promotion_status", json!("promoted")),
        (9, "requested_promotion_state", json!("promoted")),
        (9, "source", json!({})),
        (11, "multi_protocol", json!({ "access_control_style": "shared", "safeguard_acls": true })),
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
