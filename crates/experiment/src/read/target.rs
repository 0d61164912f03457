//! Targets: their URLs and options.

use std::collections::BTreeMap;

use units::{Share, Size, Span};

use super::accounting::accounting;
use super::hosts::Hosts;
use super::provision::{self, provision};
use super::workload::Scene;
use crate::kind::TargetKind;
use crate::known::{Form, Key};
use crate::nearest::hint;
use crate::option::{OptionHelp, OptionKind};
use crate::plan::Target;
use crate::reader::{Fields, Reader};
use crate::tree::{Entry, Node, Value};

/// Checks every target of the file, including unused ones.
pub(crate) fn check_targets(reader: &Reader<'_>, scene: &Scene<'_>) {
    for entry in scene.targets {
        target(reader, scene.hosts, entry);
    }
}

/// The target of a cell: from the file, with the matrix values applied.
pub(super) fn target(
    reader: &Reader<'_>,
    hosts: &Hosts<'_>,
    entry: &Entry,
) -> Option<(Target, &'static TargetKind)> {
    let before = reader.log.count();
    let node = reader.resolve(&entry.node)?;
    // A bare URL is a target without options.
    let node = match &node.value {
        Value::Scalar(_) => {
            let place = node.place;
            Node::map(place, vec![Entry { key: "url".into(), key_place: place, node }])
        }
        _ => node,
    };
    let what = format!("target {:?}", entry.key);
    let fields = Fields::new(reader, what, "target.", entry.key_place, [node]);
    let Some(url_node) = fields.get("url") else {
        if reader.log.count() == before {
            reader.log.fault(
                entry.key_place,
                format!("target {:?} has no URL", entry.key),
                "write url: file:///mnt/data, or another target's",
            );
        }
        return None;
    };
    let url = reader.text(&url_node, "write a URL such as file:///mnt/data")?;
    let provision = provision(&fields)?;
    let (url, kind) = match &provision {
        Some(provision) => provision::url(reader, hosts, &url_node, &url, provision)?,
        None if provision::is_unprovided(reader, &url_node, &url) => return None,
        None => hosts.url(reader, &url_node, &url)?,
    };
    check_options(&fields, kind);
    let mut options = BTreeMap::new();
    for help in kind.options {
        if let Some(node) = fields.get(help.name)
            && let Some(text) = hosts.option(reader, &node, help)
        {
            options.insert(help.name.to_owned(), text);
        }
    }
    let target =
        Target { accounting: accounting(&fields), provision, ..Target::new(&*entry.key, url, options) };
    (reader.log.count() == before).then_some((target, kind))
}

/// Checks a target's keys: its URL and its options.
fn check_options(fields: &Fields<'_>, kind: &TargetKind) {
    const URL: Key = Key { name: "url", form: Form::Text, default: "", about: "" };
    let of_all = [URL, Key { name: "accounting", ..URL }, Key { name: "provision", ..URL }];
    let own = kind.options.iter().map(|help| Key { name: help.name, ..URL });
    let known: Vec<Key> = of_all.into_iter().chain(own).collect();
    if !kind.page_cache && fields.has("direct") {
        fields.fault(
            "direct",
            format!("{} targets know no \"direct\"", kind.scheme),
            "remove it: they are driven from user space, past any page cache of this client",
        );
        return;
    }
    let unknown = |name: &str| {
        let kinds = fields.reader.parameters.kinds();
        let elsewhere = kinds.iter().find(|other| other.option(name).is_some());
        match elsewhere {
            Some(other) => format!("{name} is an option of {} targets; remove it here", other.scheme),
            None => hint(name, known.iter().map(|key| key.name)),
        }
    };
    for crossed in &fields.reader.point.paths {
        if let Some(name) = crossed.path.strip_prefix("target.")
            && !known.iter().any(|key| key.name == name)
        {
            let text =
                format!("the matrix crosses {name:?}, which {} ({}) has not", fields.what, kind.scheme);
            fields.reader.log.fault(crossed.key_place, text, unknown(name));
        }
    }
    for entry in fields.entries() {
        if !known.iter().any(|key| key.name == &*entry.key) {
            let text = format!("{} ({}) has no option {:?}", fields.what, kind.scheme, entry.key);
            fields.reader.log.fault(entry.key_place, text, unknown(&entry.key));
        }
    }
}

/// An option's value in the form used in plans.
pub(super) fn option(reader: &Reader<'_>, node: &Node, help: &OptionHelp) -> Option<String> {
    match help.kind {
        OptionKind::Flag => reader.flag(node).map(|flag| flag.to_string()),
        OptionKind::Count { least, most } => reader.integer(node, least, most).map(|count| count.to_string()),
        OptionKind::Bytes { least, most } => {
            let bytes = reader.size(node)?;
            if bytes < least {
                let text = format!("{} is less than {}", Size(bytes), Size(least));
                reader.fault(node, text, format!("write {} or more", Size(least)));
                return None;
            }
            if bytes > most {
                let text = format!("{} is more than {}", Size(bytes), Size(most));
                reader.fault(node, text, format!("write at most {}", Size(most)));
                return None;
            }
            Some(bytes.to_string())
        }
        OptionKind::Span => {
            let seconds = reader.seconds(node)?;
            std::time::Duration::try_from_secs_f64(seconds).ok().map(|duration| Span(duration).to_string())
        }
        OptionKind::Share => reader.share(node).and_then(Share::new).map(|share| share.value().to_string()),
        OptionKind::Choice(words) => {
            reader.choice(node, &format!("value of {}", help.name), words).map(str::to_owned)
        }
        OptionKind::Text => {
            let text = reader.text(node, "write a text")?;
            if let Some(Err(form)) = help.check.map(|check| check(&text)) {
                reader.fault(node, format!("{text:?} is no value of {}", help.name), form.to_string());
                return None;
            }
            Some(text)
        }
    }
}
