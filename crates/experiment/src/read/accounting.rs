//! `accounting` of a target: whose counters are read before and after its measurements.

use super::fleet::arguments;
use crate::accounting::{ACCOUNTING_TIMEOUT_MS, Accounting, ServerCounters, Via};
use crate::fleet::host_list;
use crate::known::{ACCOUNTING, ACCOUNTING_CEPH, ACCOUNTING_COMMAND, ACCOUNTING_GLUSTER, Key, VIA};
use crate::reader::{Fields, one_of};
use crate::tree::{Entry, Node, Value};

/// Maximum timeout of a command, in seconds.
const LONGEST_S: f64 = 3600.0;

/// The accounting of a target; `None` without one, or if something is wrong.
pub(super) fn accounting(target: &Fields<'_>) -> Option<Accounting> {
    if !target.has("accounting") {
        return None;
    }
    let reader = target.reader;
    let before = reader.log.count();
    let fields = target.below("accounting", "accounting", None);
    fields.check_keys(ACCOUNTING);
    let given: Vec<&str> = ACCOUNTING.iter().map(|key| key.name).filter(|name| fields.has(name)).collect();
    let [word] = given[..] else {
        if reader.log.count() == before {
            let text = match given[..] {
                [] => "accounting names no counters".to_owned(),
                [first, second, ..] => format!("accounting has both {first} and {second}"),
                [_] => return None,
            };
            let words: Vec<_> = ACCOUNTING.iter().map(|key| key.name).collect();
            reader.log.fault(fields.place, text, format!("write one of {}", one_of(&words)));
        }
        return None;
    };
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
    let timeout_s = below.seconds("timeout", ACCOUNTING_TIMEOUT_MS as f64 / 1000.0);
    if !(1.0..=LONGEST_S).contains(&timeout_s) {
        below.fault("timeout", "timeout does not fit", "write a duration from 1s to 1h");
    }
    let via = match below.has("via") {
        true => Some(via(&below)?),
        false => None,
    };
    let accounting = Accounting { counters, via, timeout_ms: (timeout_s * 1000.0) as u64 };
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

/// A word that no program takes for an option.
fn plain(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn volume(fields: &Fields<'_>) -> Option<String> {
    let node = fields.get("volume")?;
    let text = fields.reader.text(&node, "write the volume's name")?;
    if !plain(&text) {
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
    if let Some(name) = names.iter().find(|name| !plain(name)) {
        fields.fault(
            "mds",
            format!("{name:?} is no name of a metadata server"),
            "write names as `ceph fs status` shows them",
        );
        return None;
    }
    Some(names)
}

/// Words of which there is at least one.
fn words(fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
    let words = arguments(fields, key)?;
    if words.first().is_none_or(String::is_empty) {
        fields.fault(key, format!("{key} is empty"), "write at least one word");
        return None;
    }
    Some(words)
}

/// `via: server`, `via: {host: server, ssh_options: …}` or `via: {command: …}`.
fn via(fields: &Fields<'_>) -> Option<Via> {
    let reader = fields.reader;
    let via = fields.below("via", "via", Some("host"));
    via.check_keys(VIA);
    if via.has("host") == via.has("command") {
        let text = match via.has("host") {
            true => "via has both host and command",
            false => "via names no host",
        };
        reader.log.fault(via.place, text, "write host: NAME for ssh, or command: podman exec NAME");
        return None;
    }
    if via.has("command") {
        if via.has("ssh_options") {
            via.fault("ssh_options", "ssh_options is nothing for command", "remove it; it goes with host");
            return None;
        }
        return Some(Via::Command { command: words(&via, "command")? });
    }
    let node = via.get("host")?;
    let text = reader.text(&node, "write a host's name")?;
    match host_list(&text) {
        Ok(hosts) => match <[String; 1]>::try_from(hosts) {
            Ok([host]) => Some(Via::Ssh { host, options: arguments(&via, "ssh_options")? }),
            Err(_) => {
                reader.fault(
                    &node,
                    format!("{text:?} is not one host"),
                    "write one host that sees all servers",
                );
                None
            }
        },
        Err(wrong) => {
            reader.fault(&node, wrong.text, wrong.hint);
            None
        }
    }
}
