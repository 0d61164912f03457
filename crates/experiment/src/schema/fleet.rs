//! The schema of `fleet`, `observe` and `scale`.

use serde_json::{Map, Value, json};

use super::{object, or_nothing, reference};
use crate::known::{self, Key};

/// The named definitions.
pub(super) fn definitions() -> Map<String, Value> {
    let list = |items: Value| json!({"type": "array", "items": items, "minItems": 1});
    let all = json!({
        "fleet": launched(known::FLEET),
        "observe": launched(known::OBSERVE),
        "hosts": {"description": "a list of hosts, a range such as node[01-16], or @file", "anyOf": [
            {"type": "string", "minLength": 1}, list(reference("text")),
        ]},
        "slurm": {"anyOf": [reference("count"), or_nothing(object(known::SLURM, &[]))]},
        "kubernetes": object(known::KUBERNETES, &["count", "image"]),
        "claim": object(known::CLAIM, &["name", "path"]),
        "command": object(known::COMMAND, &["hosts", "command"]),
        "arguments": {"anyOf": [{"type": "string"}, {"type": "array", "items": reference("text")}]},
        "texts": {"type": ["object", "null"], "additionalProperties": reference("text")},
        "variables": {"type": ["object", "null"], "additionalProperties": {
            "type": ["object", "null"], "propertyNames": {"pattern": "^[A-Za-z0-9_]{1,64}$"}, "additionalProperties": reference("text"),
        }},
        "variable": {"type": "string", "pattern": r"\{[A-Za-z0-9_ ]+\}"},
        "agents": {"anyOf": [{"const": "all"}, reference("count")]},
        "numbers": {"anyOf": [reference("count"), list(reference("count"))]},
        "counts": {"anyOf": [{"enum": ["doubling", "none"]}, list(reference("agents")), reference("parameter")]},
        "sizes": list(json!({"anyOf": [reference("text"), {"type": "number"}]})),
        "server_scale": object(known::SERVER_SCALE, &["values", "set"]),
        "scale": {"anyOf": [reference("counts"), {"type": "object", "minProperties": 1, "additionalProperties": false,
            "properties": object(known::SCALE, &[])["properties"]}]},
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

/// A fleet or the observed hosts: all keys, one of which chooses the launcher unless the command line does.
fn launched(keys: &[Key]) -> Value {
    let mut out = object(keys, &[]);
    for name in known::LAUNCHERS {
        let property = &mut out["properties"][*name]["description"];
        *property =
            json!(property.as_str().unwrap_or("").replace("(required)", "(one of the ways to start agents)"));
    }
    let pairs = known::LAUNCHERS.iter().enumerate().flat_map(|(at, first)| {
        known::LAUNCHERS[at + 1..].iter().map(move |second| json!({"required": [first, second]}))
    });
    out["not"] = json!({"anyOf": pairs.collect::<Vec<_>>()});
    or_nothing(out)
}
