//! The schema of `accounting`.

use serde_json::{Map, Value, json};

use super::{object, reference};
use crate::known;

/// The named definitions.
pub(super) fn definitions() -> Map<String, Value> {
    let words = || json!({"type": "array", "items": reference("text"), "minItems": 1});
    let one_of = |keys: &[known::Key]| {
        let mut out = object(keys, &[]);
        for property in out["properties"].as_object_mut().into_iter().flatten().map(|(_, property)| property)
        {
            let text = property["description"].as_str().unwrap_or("").replace(" (required)", "");
            property["description"] = json!(text);
        }
        out
    };
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
