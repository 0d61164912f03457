//! The keys that a matrix crosses, and what each of them changes.

use std::rc::Rc;

use crate::known::{FILES, FIND, Key, MATRIX, MEASURE, STAGES, SWEEP, WORKLOAD};
use crate::parameters::Parameters;
use crate::place::Place;
use crate::reader::Reader;
use crate::tree::{Entry, Node, Value};

/// What a matrix key changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Parameter,
    /// The server, by a command; nothing in the cell.
    Server,
    /// A path of the workload: `queue_depth`, `target.direct`, `stages.warm_up`.
    Path(Rc<str>),
}

/// A key and its values.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub name: Rc<str>,
    pub key_place: Place,
    pub reach: Reach,
    pub values: Vec<(Node, String)>,
}

/// The axes of a matrix; a `whole` one also has an order and repetitions.
pub(crate) fn axes(reader: &Reader<'_>, node: Option<&Node>, whole: bool) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for entry in node.map_or(&[][..], Node::entries) {
        if MATRIX.iter().any(|key| key.name == &*entry.key) {
            if !whole {
                let text = format!("{:?} holds for the whole experiment", entry.key);
                reader.log.fault(entry.key_place, text, "write it in the matrix at the top of the file");
            }
            continue;
        }
        let Some(axis) = axis(reader, entry) else { continue };
        if let Some(twice) = axes.iter().find(|other| other.reach == axis.reach) {
            let text = format!("{:?} and {:?} are the same", twice.name, axis.name);
            reader.log.fault(entry.key_place, text, "cross it once");
        } else {
            axes.push(axis);
        }
    }
    axes
}

fn axis(reader: &Reader<'_>, entry: &Entry) -> Option<Axis> {
    let Some(reach) = reach(&entry.key, reader.parameters) else {
        let names = reader.parameters.all.iter().map(|parameter| &*parameter.name);
        let known = WORKLOAD.iter().chain(STAGES).chain(MATRIX).map(|key| key.name);
        let ours = crate::foreign::in_our_words(&entry.key);
        let hint = match (ours, crate::nearest(&entry.key, names.chain(known))) {
            (Some(ours), _) => ours,
            (None, Some(near)) => format!("did you mean {near:?}?"),
            (None, None) => {
                "cross a parameter, a key of workloads or stages, or a target's option such as target.direct"
                    .to_owned()
            }
        };
        reader.log.fault(
            entry.key_place,
            format!("the matrix crosses {:?}, which nothing has", entry.key),
            hint,
        );
        return None;
    };
    let node = reader.resolve(&entry.node)?;
    let Value::List(items) = &node.value else {
        let text = node.text();
        let hint = match node.value {
            Value::Empty => format!("write {}: [a, b]", entry.key),
            _ => format!("write {}: [{text}], or give it in the workload", entry.key),
        };
        reader.fault(&node, format!("the matrix needs a list of values for {:?}", entry.key), hint);
        return None;
    };
    if items.is_empty() {
        let text = format!("the list of {:?} is empty, so there is no cell", entry.key);
        reader.fault(&node, text, "write at least one value, or remove the key");
        return None;
    }
    let mut values: Vec<(Node, String)> = Vec::new();
    for item in items.iter() {
        let item = reader.resolve(item)?;
        let text = item.text();
        if matches!(item.value, Value::Empty) {
            reader.fault(&item, "a value is missing here", "write one, or remove the comma");
        } else if values.iter().any(|(_, other)| *other == text) {
            reader.fault(
                &item,
                format!("{text:?} is in the list twice"),
                "use repetitions to measure it more often",
            );
        } else {
            values.push((item, text));
        }
    }
    Some(Axis { name: entry.key.clone(), key_place: entry.key_place, reach, values })
}

/// The meaning of a matrix key: a parameter, otherwise a key of workloads, then of stages, then a target option.
fn reach(name: &str, parameters: &Parameters<'_>) -> Option<Reach> {
    if parameters.get(name).is_some() {
        return Some(Reach::Parameter);
    }
    let path = |path: &str| Some(Reach::Path(path.into()));
    let crossable = |key: &Key| !matches!(key.name, "stages" | "gates" | "matrix" | "scale");
    if WORKLOAD.iter().any(|key| key.name == name && crossable(key)) {
        return path(name);
    }
    if STAGES.iter().any(|key| key.name == name) {
        return path(&format!("stages.{name}"));
    }
    let option = |name: &str| {
        let option = parameters.kinds().iter().any(|kind| kind.option(name).is_some());
        option || name == "url"
    };
    if option(name) && name != "url" {
        return path(&format!("target.{name}"));
    }
    let known = match name.split_once('.')? {
        ("target", rest) => option(rest),
        ("stages", rest) => {
            STAGES.iter().any(|key| key.name == rest)
                || rest
                    .strip_prefix("measure.")
                    .is_some_and(|rest| MEASURE.iter().any(|key| key.name == rest))
        }
        ("measure", rest) if MEASURE.iter().any(|key| key.name == rest) => {
            return path(&format!("stages.{name}"));
        }
        ("files", rest) => FILES.iter().any(|key| key.name == rest),
        ("find", rest) => FIND.iter().any(|key| key.name == rest),
        ("sweep", rest) => SWEEP.iter().any(|key| key.name == rest),
        _ => false,
    };
    if known { path(name) } else { None }
}
