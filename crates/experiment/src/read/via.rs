//! How a command gets to the host of a server: `via`, and the timeout of the command.

use super::fleet::arguments;
use crate::accounting::Via;
use crate::fleet::host_list;
use crate::known::{Key, VIA};
use crate::reader::{Fields, one_of};

/// Maximum timeout of a command, in seconds.
const LONGEST_S: f64 = 3600.0;

/// The only one of these keys that a section has, which decides what it means; reports if it has none or several,
/// unless there are more faults than `before`.
pub(super) fn only_key<'k>(
    fields: &Fields<'_>,
    before: usize,
    what: &str,
    none: &str,
    keys: &[&'k str],
) -> Option<&'k str> {
    let given: Vec<&'k str> = keys.iter().copied().filter(|name| fields.has(name)).collect();
    let text = match given[..] {
        [word] => return Some(word),
        [] => format!("{what} names no {none}"),
        [first, second, ..] => format!("{what} has both {first} and {second}"),
    };
    // A key that is written wrong has been reported.
    if fields.reader.log.count() == before {
        fields.reader.log.fault(fields.place, text, format!("write one of {}", one_of(keys)));
    }
    None
}

/// A word that no program takes for an option.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The names of keys.
pub(super) fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The timeout of a command, in milliseconds.
pub(super) fn timeout_ms(fields: &Fields<'_>, default_ms: u64) -> u64 {
    let timeout_s = fields.seconds("timeout", default_ms as f64 / 1000.0);
    if !(1.0..=LONGEST_S).contains(&timeout_s) {
        fields.fault("timeout", "timeout does not fit", "write a duration from 1s to 1h");
    }
    (timeout_s * 1000.0) as u64
}

/// Words of which there is at least one.
pub(super) fn words(fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
    let words = arguments(fields, key)?;
    if words.first().is_none_or(String::is_empty) {
        fields.fault(key, format!("{key} is empty"), "write at least one word");
        return None;
    }
    Some(words)
}

/// `via: server`, `via: {host: server, ssh_options: …}` or `via: {command: …}` under this key; the inner `None` without
/// one.
pub(super) fn via(fields: &Fields<'_>, key: &str) -> Option<Option<Via>> {
    if !fields.has(key) {
        return Some(None);
    }
    let reader = fields.reader;
    let via = fields.below(key, key, Some("host"));
    via.check_keys(VIA);
    if via.has("host") == via.has("command") {
        let text = match via.has("host") {
            true => format!("{key} has both host and command"),
            false => format!("{key} names no host"),
        };
        reader.log.fault(via.place, text, "write host: NAME for ssh, or command: podman exec NAME");
        return None;
    }
    if via.has("command") {
        if via.has("ssh_options") {
            via.fault("ssh_options", "ssh_options is nothing for command", "remove it; it goes with host");
            return None;
        }
        return Some(Some(Via::Command { command: words(&via, "command")? }));
    }
    let node = via.get("host")?;
    let text = reader.text(&node, "write a host's name")?;
    if text == crate::provision::BRICK_HOST && key == "bricks_via" {
        return Some(Some(Via::Ssh { host: text, options: arguments(&via, "ssh_options")? }));
    }
    match host_list(&text) {
        Ok(hosts) => match <[String; 1]>::try_from(hosts) {
            Ok([host]) => Some(Some(Via::Ssh { host, options: arguments(&via, "ssh_options")? })),
            Err(_) => {
                let hint = "write one host that sees all servers";
                reader.fault(&node, format!("{text:?} is not one host"), hint);
                None
            }
        },
        Err(wrong) => {
            reader.fault(&node, wrong.text, wrong.hint);
            None
        }
    }
}
