//! The array itself.

use serde_json::{Value, json};

use super::api::Api;
use super::version::Version;
use crate::objects::wall_ms;

/// `GET arrays`.
pub(super) fn arrays(api: &Api, version: Version) -> Vec<Value> {
    let mut item = json!({
        "name": api.name,
        "id": api.array_id,
        "ntp_servers": [],
        "os": "Purity//FB",
        "revision": "simulated",
        "time_zone": "UTC",
        "version": "4.5.0",
        "banner": "Simulated array: nothing is kept.",
        "idle_timeout": 1_800_000,
    });
    if let Some(fields) = item.as_object_mut().filter(|_| version.is_2()) {
        fields.insert("as_of".into(), json!(wall_ms()));
    }
    vec![item]
}

/// `GET arrays/space`.
pub(super) fn space(api: &Api) -> Vec<Value> {
    let used = api.capacity.used();
    vec![json!({
        "name": api.name,
        "id": api.array_id,
        "capacity": api.capacity.total(),
        "parity": 1.0,
        "space": space_of(used),
        "time": wall_ms(),
    })]
}

/// The `space` of any object: nothing is reduced, shared or kept in snapshots here.
pub(super) fn space_of(bytes: u64) -> Value {
    json!({ "virtual": bytes, "data_reduction": 1.0, "unique": bytes, "snapshots": 0, "total_physical": bytes })
}

/// The `total` of a list of objects with a `space`.
pub(super) fn total_space(items: &[Value]) -> Value {
    let bytes = |item: &Value| item.pointer("/space/virtual").and_then(Value::as_u64).unwrap_or(0);
    json!({ "space": space_of(items.iter().map(bytes).sum()) })
}
