//! The schema of `provision`.

use serde_json::{Map, Value, json};

use super::{object, one_of};
use crate::known;

/// The named definitions.
pub(super) fn definitions() -> Map<String, Value> {
    let mut provision = one_of(known::PROVISION);
    provision["minProperties"] = json!(1);
    provision["maxProperties"] = json!(1);
    let mut all = Map::new();
    all.insert("provision".into(), provision);
    for key in known::PROVISION {
        let keys = known::provision_keys(key.name);
        let required: Vec<&str> =
            keys.iter().filter(|key| key.default.is_empty()).map(|key| key.name).collect();
        all.insert(format!("provision_{}", key.name), object(keys, &required));
    }
    all
}
