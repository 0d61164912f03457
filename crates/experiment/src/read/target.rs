//! Targets: their URLs and options.

use std::collections::BTreeMap;

use units::{Share, Size, Span};

use super::workload::Scene;
use crate::known::{Form, Key};
use crate::nearest::hint;
use crate::plan::Target;
use crate::reader::{Fields, Reader};
use crate::target_options::{KINDS, Kind, OptionHelp, OptionKind, kind};
use crate::tree::{Entry, Node, Value};

/// Checks every target of the file, those too that no workload uses.
pub(crate) fn check_targets(reader: &Reader<'_>, scene: &Scene<'_>) {
    for entry in scene.targets {
        target(reader, entry);
    }
}

/// The target of a cell: as the file has it, with what the matrix says.
pub(super) fn target(reader: &Reader<'_>, entry: &Entry) -> Option<(Target, &'static Kind)> {
    let before = reader.log.count();
    let node = reader.resolve(&entry.node)?;
    // A URL alone is a target without options.
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
    let kind = check_url(reader, &url_node, &url)?;
    check_options(&fields, kind);
    let mut options = BTreeMap::new();
    for help in kind.options {
        if let Some(node) = fields.get(help.name)
            && let Some(text) = option(reader, &node, help)
        {
            options.insert(help.name.to_owned(), text);
        }
    }
    let target = Target { name: entry.key.to_string(), url, options };
    (reader.log.count() == before).then_some((target, kind))
}

/// The keys of a target: its URL and its options.
fn check_options(fields: &Fields<'_>, kind: &Kind) {
    const URL: Key = Key { name: "url", form: Form::Text, default: "", about: "" };
    let known: Vec<Key> =
        std::iter::once(URL).chain(kind.options.iter().map(|help| Key { name: help.name, ..URL })).collect();
    if kind.scheme != "file" && kind.scheme != "block" && fields.has("direct") {
        fields.fault(
            "direct",
            format!("{} targets know no \"direct\"", kind.scheme),
            "remove it: they are driven from user space, past any page cache of this client",
        );
        return;
    }
    let unknown = |name: &str| {
        let elsewhere = KINDS.iter().find(|other| other.options.iter().any(|help| help.name == name));
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

/// An option's value in the form that plans have.
fn option(reader: &Reader<'_>, node: &Node, help: &OptionHelp) -> Option<String> {
    match help.kind {
        OptionKind::Flag => reader.flag(node).map(|flag| flag.to_string()),
        OptionKind::Count { least } => reader.integer(node, least, u64::MAX).map(|count| count.to_string()),
        OptionKind::Bytes { least } => {
            let bytes = reader.size(node)?;
            if bytes < least {
                let text = format!("{} is less than {}", Size(bytes), Size(least));
                reader.fault(node, text, format!("write {} or more", Size(least)));
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
        OptionKind::Text => reader.text(node, "write a text"),
    }
}

/// Checks a URL as far as it can be without asking anybody.
fn check_url(reader: &Reader<'_>, node: &Node, url: &str) -> Option<&'static Kind> {
    let wrong = |text: String, mend: String| {
        reader.fault(node, text, mend);
        None
    };
    if url.starts_with('/') {
        let form = if url.starts_with("/dev/") { "block" } else { "file" };
        return wrong(format!("{url:?} is a path, not a URL"), format!("write {form}://{url}"));
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return wrong(format!("{url:?} is no URL"), format!("write such as {}", examples()));
    };
    let Some(kind) = kind(scheme) else {
        let mend = match scheme {
            "http" | "https" => "an S3 bucket is written s3://bucket?endpoint=https://host:port".into(),
            _ => match crate::nearest::nearest(scheme, KINDS.iter().map(|kind| kind.scheme)) {
                Some(near) => format!("did you mean {near}:?"),
                None => format!("write such as {}", examples()),
            },
        };
        return wrong(format!("there is no kind of target {scheme:?}"), mend);
    };
    let form = format!("write {}", kind.example);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.strip_prefix("//").map(|after| after.split('/').next().unwrap_or(""));
    if authority.is_some_and(|authority| authority.contains('@')) {
        return wrong(
            "a URL must hold no user and no password: plans are stored with the results".into(),
            "remove what stands before the @; S3 keys are read from the environment or from credentials_file"
                .into(),
        );
    }
    let secret = ["secret", "password", "token", "access_key", "accesskey"];
    if query.split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or("").to_ascii_lowercase();
        secret.iter().any(|word| name.contains(word))
    }) {
        return wrong(
            "a URL must hold no secret: plans are stored with the results".into(),
            "remove it; S3 keys are read from the environment or from credentials_file".into(),
        );
    }
    match scheme {
        "file" | "block" => match place.strip_prefix("//") {
            Some(path) if path.starts_with('/') && path.len() > 1 => {}
            Some(path) if path.starts_with('/') => {
                return wrong(format!("{url:?} names the root of all files"), form);
            }
            Some(path) if !path.is_empty() => {
                return wrong(
                    format!("{url:?} has no absolute path: two slashes are a host's"),
                    format!("write {scheme}:///{path}, with three"),
                );
            }
            _ => return wrong(format!("{url:?} has no absolute path"), form),
        },
        "nfs" => {
            let host = authority.unwrap_or("");
            let path = place.strip_prefix("//").and_then(|after| after.find('/')).is_some();
            if host.is_empty() || !path {
                let missing = if host.is_empty() { "host" } else { "export" };
                return wrong(format!("{url:?} has no {missing}"), form);
            }
        }
        "tcp" => {
            let end = authority.and_then(|authority| authority.rsplit_once(':'));
            let right = |(host, port): &(&str, &str)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            };
            if !end.as_ref().is_some_and(right) {
                return wrong(format!("{url:?} has no host and port"), form);
            }
        }
        "s3" => {
            if authority.unwrap_or("").is_empty() {
                return wrong(format!("{url:?} has no bucket"), form);
            }
            if !query.split('&').any(|pair| pair.starts_with("endpoint=http")) {
                return wrong(format!("{url:?} does not say where the service is"), form);
            }
        }
        _ => {}
    }
    // Options can stand in the URL too; `endpoint` is the only key that is no option.
    for name in
        query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or(""))
    {
        let endpoint = scheme == "s3" && name == "endpoint";
        if !endpoint && !kind.options.iter().any(|help| help.name == name) {
            let names = kind.options.iter().map(|help| help.name);
            return wrong(format!("{scheme}: knows no {name:?}"), hint(name, names));
        }
    }
    Some(kind)
}

fn examples() -> String {
    let all: Vec<_> = KINDS.iter().map(|kind| kind.example).collect();
    crate::reader::one_of(&all)
}
