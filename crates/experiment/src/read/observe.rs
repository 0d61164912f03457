//! The section `observe`: hosts of the server, and how the agents that sample them are started.

use super::fleet::{launcher, millis};
use crate::fleet::SILENCE_TIMEOUT_MS;
use crate::known::{LAUNCHERS, OBSERVE};
use crate::observe::{Observe, USUAL_ROLE};
use crate::reader::{Fields, Reader};
use crate::source::Settings;
use crate::tree::Node;

/// The observed hosts; `None` without any, or if something is wrong. The command line's launcher is the fleet's.
pub(crate) fn observe(reader: &Reader<'_>, node: Option<&Node>, settings: &Settings<'_>) -> Option<Observe> {
    let node = node?;
    let before = reader.log.count();
    let fields = Fields::new(reader, "observe", "observe.", node.place, [node.clone()]);
    fields.check_keys(OBSERVE);
    let launcher = launcher(&fields, "observe", settings);
    let given = fields.entries().any(|entry| LAUNCHERS.contains(&&*entry.key));
    if launcher.is_none() && !given && reader.log.count() == before {
        reader.log.fault(
            node.place,
            "observe does not say which hosts of the server it means",
            "write hosts: [osd1, osd2] (by ssh), local: 1 for a server on this host, or command",
        );
    }
    let usual = Observe::of(launcher?);
    let role = role(&fields);
    let start_timeout_ms = millis(&fields, "start_timeout", usual.start_timeout_ms);
    let silence_timeout_ms = millis(&fields, "silence_timeout", SILENCE_TIMEOUT_MS);
    let observe = Observe { role, start_timeout_ms, silence_timeout_ms, ..usual };
    (reader.log.count() == before).then_some(observe)
}

fn role(fields: &Fields<'_>) -> String {
    let usual = || USUAL_ROLE.to_owned();
    let Some(node) = fields.get("role") else { return usual() };
    let Some(text) = fields.reader.text(&node, "write one word, such as osd") else { return usual() };
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.chars().count() > 32 || !text.chars().all(good) {
        let hint = "use one word of up to 32 letters, digits, - and _";
        fields.reader.fault(&node, format!("{text:?} is no role of hosts"), hint);
    }
    text
}
