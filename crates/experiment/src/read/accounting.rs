//! `accounting` of a target: whose counters are read before and after its measurements.

use super::fleet::arguments;
use super::via::{is_plain, names, only_key, timeout_ms, via, words};
use crate::accounting::{ACCOUNTING_TIMEOUT_MS, Accounting, ServerCounters};
use crate::known::{ACCOUNTING, ACCOUNTING_CEPH, ACCOUNTING_COMMAND, ACCOUNTING_GLUSTER, Key};
use crate::reader::Fields;
use crate::tree::{Entry, Node, Value};

/// The accounting of a target; `None` without one, or if something is wrong.
pub(super) fn accounting(target: &Fields<'_>) -> Option<Accounting> {
    if !target.has("accounting") {
        return None;
    }
    let reader = target.reader;
    let before = reader.log.count();
    let fields = target.below("accounting", "accounting", None);
    fields.check_keys(ACCOUNTING);
    let word = only_key(&fields, before, "accounting", "counters", &names(ACCOUNTING))?;
    let (keys, short) = match word {
        "gluster" => (ACCOUNTING_GLUSTER, "volume"),
        "ceph" => (ACCOUNTING_CEPH, "mds"),
        _ => (ACCOUNTING_COMMAND, "run"),
    };
    let below = section(&fields, word, short, keys)?;
    let counters = match word {
        "gluster" => {
            ServerCounters::Gluster { volume: volume(&below)?, options: arguments(&below, "options")? }
        }
        "ceph" => ServerCounters::Ceph { mds: daemons(&below)?, options: arguments(&below, "options")? },
        _ => ServerCounters::Command { run: words(&below, "run")? },
    };
    let timeout_ms = timeout_ms(&below, ACCOUNTING_TIMEOUT_MS);
    let accounting = Accounting { counters, via: via(&below, "via")?, timeout_ms };
    (reader.log.count() == before).then_some(accounting)
}

/// The map of a key, for which a text or a list alone is short for one of its keys, which is required.
fn section<'r>(fields: &Fields<'r>, key: &str, short: &str, keys: &[Key]) -> Option<Fields<'r>> {
    let node = fields.get(key)?;
    let node = match node.value {
        Value::Map(_) => node,
        _ => {
            let place = node.place;
            Node::map(place, vec![Entry { key: short.into(), key_place: place, node }])
        }
    };
    let place = node.place;
    let below = Fields::new(fields.reader, format!("accounting: {{{key}: …}}"), "", place, [node]);
    below.check_keys(keys);
    if !below.has(short) {
        fields.reader.log.fault(
            place,
            format!("accounting: {{{key}: …}} needs {short}"),
            format!("add {short}, or write its value in the place of the map"),
        );
        return None;
    }
    Some(below)
}

fn volume(fields: &Fields<'_>) -> Option<String> {
    let node = fields.get("volume")?;
    let text = fields.reader.text(&node, "write the volume's name")?;
    if !is_plain(&text) {
        fields.reader.fault(
            &node,
            format!("{text:?} is no name of a volume"),
            "use letters, digits, _ and -",
        );
        return None;
    }
    Some(text)
}

fn daemons(fields: &Fields<'_>) -> Option<Vec<String>> {
    let names = words(fields, "mds")?;
    let names: Vec<String> =
        names.into_iter().map(|name| name.strip_prefix("mds.").map_or(name.clone(), str::to_owned)).collect();
    if let Some(name) = names.iter().find(|name| !is_plain(name)) {
        fields.fault(
            "mds",
            format!("{name:?} is no name of a metadata server"),
            "write names as `ceph fs status` shows them",
        );
        return None;
    }
    Some(names)
}
