//! The schema of `accounting`.

use serde_json::{Map, Value, json};

use super::{object, one_of, reference};
use crate::known;

/// The named definitions.
pub(super) fn definitions() -> Map<String, Value> {
    let words = || json!({"type": "array", "items": reference("text"), "minItems": 1});
    let mut accounting = one_of(known::ACCOUNTING);
    accounting["minProperties"] = json!(1);
    accounting["maxProperties"] = json!(1);
    let all = json!({
        "accounting": accounting,
        "accounting_gluster": {"anyOf": [reference("text"), object(known::ACCOUNTING_GLUSTER, &["volume"])]},
        "accounting_ceph": {"anyOf": [reference("text"), words(), object(known::ACCOUNTING_CEPH, &["mds"])]},
        "accounting_command": {"anyOf": [reference("text"), words(), object(known::ACCOUNTING_COMMAND, &["run"])]},
        "via": {"anyOf": [reference("text"), one_of(known::VIA)]},
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}
