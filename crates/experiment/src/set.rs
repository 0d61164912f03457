//! `--set KEY=VALUE`: parameters first, then dotted paths of the file.

use std::rc::Rc;

use crate::known::{FILE, MATRIX, STAGES, WORKLOAD};
use crate::matrix::Matrix;
use crate::nearest::hint;
use crate::parameters::{Parameters, from_outside};
use crate::parse::near_names;
use crate::place::Log;
use crate::source::Settings;
use crate::tree::{Entry, Node, Value};

/// Applies every `--set`, in order.
pub(crate) fn apply(
    mut root: Node,
    parameters: &mut Parameters<'_>,
    settings: &Settings<'_>,
    log: &Log,
) -> Node {
    for (key, value) in settings.set {
        if parameters.set(key, value) {
            continue;
        }
        let origin = log.origin(format!("--set {key}={value}"));
        let segments: Vec<&str> = key.split('.').collect();
        let first = segments[0];
        if !FILE.iter().any(|known| known.name == first) {
            let names: Vec<_> = root.get("workloads").map_or(&[][..], Node::entries).iter().collect();
            let hint = if WORKLOAD.iter().any(|known| known.name == first) {
                let name = names.first().map_or("NAME", |entry| &*entry.key);
                format!(
                    "say which workload: --set workloads.{name}.{key}=…, or declare a parameter {first:?}"
                )
            } else if names.iter().any(|entry| *entry.key == *first) {
                format!("write --set workloads.{key}=…")
            } else if STAGES.iter().any(|known| known.name == first) {
                format!("write --set stages.{key}=…")
            } else {
                near_names(first, parameters)
            };
            log.fault(origin, format!("there is no parameter and no key {first:?}"), hint);
            continue;
        }
        if let Some((what, names)) = unknown_name(&root, &segments) {
            let name = segments[1];
            log.fault(
                origin,
                format!("there is no {what} {name:?}"),
                hint(name, names.iter().map(String::as_str)),
            );
            continue;
        }
        if segments.iter().any(|segment| segment.is_empty()) {
            log.fault(origin, format!("{key:?} has an empty part"), "write it as in stages.measure.at_least");
            continue;
        }
        root = with(root, &segments, from_outside(value, origin));
    }
    root
}

/// User-defined names must exist in the file: for an unknown one, its kind and the known names.
fn unknown_name(root: &Node, segments: &[&str]) -> Option<(&'static str, Vec<String>)> {
    let what = match segments.first() {
        Some(&"workloads") => "workload",
        Some(&"targets") => "target",
        Some(&"parameters") => "parameter",
        _ => return None,
    };
    let name = segments.get(1)?;
    let section = root.get(segments[0]).map_or(&[][..], Node::entries);
    let known = section.iter().any(|entry| *entry.key == **name);
    (!known).then(|| (what, section.iter().map(|entry| entry.key.to_string()).collect()))
}

/// The tree with the value at a path replaced.
fn with(node: Node, path: &[&str], value: Node) -> Node {
    let Some((first, rest)) = path.split_first() else { return value };
    let mut entries = node.entries().to_vec();
    // A bare URL is a target, and a bare duration a measurement: expand them into maps with the corresponding key.
    if let Value::Scalar(_) = &node.value {
        let key = match *first {
            "at_most" | "at_least_bytes" => Some("at_least"),
            "from" | "to" | "tolerance" | "trial" => Some("goal"),
            _ if node.text().contains(':') => Some("url"),
            _ => None,
        };
        entries.extend(key.map(|key| Entry { key: key.into(), key_place: node.place, node: node.clone() }));
    }
    match entries.iter_mut().find(|entry| *entry.key == **first) {
        Some(entry) => entry.node = with(entry.node.clone(), rest, value),
        None => {
            let below =
                with(Node { place: value.place, value: Value::Empty, note: None }, rest, value.clone());
            entries.push(Entry { key: (*first).into(), key_place: value.place, node: below });
        }
    }
    Node { place: node.place, value: Value::Map(Rc::new(entries)), note: node.note }
}

/// Rejects a setting that the matrix overrides, which would silently do nothing.
pub(crate) fn check_crossed(
    matrix: &Matrix,
    parameters: &Parameters<'_>,
    settings: &Settings<'_>,
    log: &Log,
) {
    for (key, value) in settings.set {
        let axis = if parameters.get(key).is_some() {
            matrix.parameters().contains(key.as_str()).then_some(key.as_str())
        } else {
            let path = match key.split_once('.') {
                Some(("workloads" | "targets", rest)) => rest.split_once('.').map(|(_, path)| (key, path)),
                Some(("defaults", path)) => Some((key, path)),
                Some(("stages", _)) => Some((key, key.as_str())),
                _ if WORKLOAD.iter().any(|known| known.name == key) => Some((key, key.as_str())),
                _ => None,
            };
            path.and_then(|(key, path)| match key.starts_with("targets.") {
                true => matrix.axis_of(&format!("target.{path}")),
                false => matrix.axis_of(path),
            })
        };
        let Some(axis) = axis.filter(|axis| !MATRIX.iter().any(|key| key.name == *axis)) else { continue };
        let origin = log.origin(format!("--set {key}={value}"));
        log.fault(
            origin,
            format!("the matrix crosses {axis:?}, so this has no effect"),
            format!("write --set matrix.{axis}=[{value}]"),
        );
    }
}
