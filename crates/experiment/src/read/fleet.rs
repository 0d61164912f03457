//! The section `fleet`: hosts, how agents are started on them, and how they share the work.

use std::collections::BTreeMap;

use crate::fleet::{
    ALWAYS, BRACES, FailurePolicy, Fleet, Launcher, Piece, SILENCE_TIMEOUT_MS, Sharing, bare_host, host_list,
    pieces,
};
use crate::known::{FLEET, LAUNCHERS, ON_HOST_FAILURE, SHARING};
use crate::nearest::hint;
use crate::place::Place;
use crate::reader::{Fields, Reader, one_of};
use crate::source::Settings;
use crate::tree::Node;

/// Maximum of any timeout of a fleet, in seconds.
const LONGEST_S: f64 = 86_400.0;

/// The file's fleet with the command line's launcher; `None` without either, or if something is wrong.
pub(crate) fn fleet(reader: &Reader<'_>, node: Option<&Node>, settings: &Settings<'_>) -> Option<Fleet> {
    let before = reader.log.count();
    let Some(node) = node else {
        let fleet = Fleet::of(settings.launcher.cloned()?);
        return Some(Fleet { sharing: settings.sharing.unwrap_or_default(), ..fleet });
    };
    let fields = Fields::new(reader, "fleet", "fleet.", node.place, [node.clone()]);
    fields.check_keys(FLEET);
    let own = launcher(&fields, "fleet", settings);
    let given = fields.entries().any(|entry| LAUNCHERS.contains(&&*entry.key));
    let launcher = settings.launcher.cloned().or(own);
    if launcher.is_none() && !given && reader.log.count() == before {
        reader.log.fault(
            node.place,
            "fleet does not say how its agents are started",
            "write hosts: [node1, node2], local: 4, slurm, kubernetes or command, or give --hosts",
        );
    }
    let start_default_ms = launcher.as_ref().map_or(60_000, Launcher::start_timeout_ms);
    let start_timeout_ms = millis(&fields, "start_timeout", start_default_ms);
    let silence_timeout_ms = millis(&fields, "silence_timeout", SILENCE_TIMEOUT_MS);
    let sharing = match fields.choice("sharing", SHARING, "own") {
        "disjoint" => Sharing::Disjoint,
        "common" => Sharing::Common,
        "neighbour" => Sharing::Neighbour,
        _ => Sharing::Own,
    };
    let on_failure = match fields.choice("on_host_failure", ON_HOST_FAILURE, "go_on") {
        "repeat_cell" => FailurePolicy::RepeatCell,
        "stop" => FailurePolicy::Stop,
        _ => FailurePolicy::GoOn,
    };
    let mut fleet = Fleet {
        launcher: launcher?,
        sharing: settings.sharing.unwrap_or(sharing),
        on_failure,
        variables: BTreeMap::new(),
        start_timeout_ms,
        silence_timeout_ms,
    };
    // The hosts on the command line may be a subset of those in the file.
    let known = if settings.launcher.is_none() { fleet.host_names() } else { None };
    fleet.variables = variables(&fields, known.as_deref());
    (reader.log.count() == before).then_some(fleet)
}

/// A timeout in milliseconds.
pub(super) fn millis(fields: &Fields<'_>, key: &str, default_ms: u64) -> u64 {
    let seconds = fields.seconds(key, default_ms as f64 / 1000.0);
    if !(1.0..=LONGEST_S).contains(&seconds) {
        fields.fault(key, format!("{key} does not fit"), "write a duration from 1s to 1d");
    }
    (seconds * 1000.0) as u64
}

/// The launcher of a section, which the file must give exactly once.
pub(super) fn launcher(fields: &Fields<'_>, section: &str, settings: &Settings<'_>) -> Option<Launcher> {
    let given: Vec<_> = fields.entries().filter(|entry| LAUNCHERS.contains(&&*entry.key)).collect();
    if let [first, second, ..] = given.as_slice() {
        fields.reader.log.fault(
            second.key_place,
            format!("{section} has both {} and {}", first.key, second.key),
            format!("write one of {}", one_of(LAUNCHERS)),
        );
        return None;
    }
    let word = &*given.first()?.key;
    for key in ["ssh_options", "binary"].into_iter().filter(|key| word != "hosts" && fields.has(key)) {
        let hint = match (key, word) {
            ("binary", "slurm") => "write slurm: {binary: …}",
            _ => "remove it; it goes with hosts",
        };
        fields.fault(key, format!("{key} is nothing for {word}"), hint);
    }
    match word {
        "hosts" => Some(Launcher::Ssh {
            hosts: hosts(fields, settings)?,
            options: arguments(fields, "ssh_options")?,
            binary: path(fields, "binary"),
        }),
        "local" => {
            let most = crate::fleet::MAX_HOSTS as u64;
            let count = fields.integer("local", 1, most, 1);
            Some(Launcher::Local { count: u32::try_from(count).unwrap_or(1) })
        }
        "slurm" => super::launchers::slurm(fields),
        "kubernetes" => super::launchers::kubernetes(fields),
        _ => super::launchers::command(fields, settings),
    }
}

/// The hosts of a list or text, or of the file named by `@file`.
pub(super) fn hosts(fields: &Fields<'_>, settings: &Settings<'_>) -> Option<Vec<String>> {
    let reader = fields.reader;
    let node = fields.get("hosts")?;
    let items = reader.list(&node)?;
    let mut texts = Vec::new();
    for item in &items {
        let text = reader.text(item, "write a host's name, a range such as node[01-16], or \"@file\"")?;
        let (text, from) = match text.strip_prefix('@') {
            Some(file) => match (settings.read_hosts)(file) {
                Ok(text) => (text, format!("{file}: ")),
                Err(error) => {
                    reader.fault(
                        item,
                        error.to_string(),
                        "write hosts: \"@file\" with a file that has a host a line",
                    );
                    return None;
                }
            },
            None => (text, String::new()),
        };
        if let Err(wrong) = host_list(&text) {
            reader.fault(item, format!("{from}{}", wrong.text), wrong.hint);
            return None;
        }
        texts.push(text);
    }
    match host_list(&texts.join("\n")) {
        Ok(hosts) => Some(hosts),
        Err(wrong) => {
            reader.fault(&node, wrong.text, wrong.hint);
            None
        }
    }
}

/// Command line arguments: a list, or a text split at spaces.
pub(super) fn arguments(fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
    let reader = fields.reader;
    let Some(node) = fields.get(key) else { return (!fields.has(key)).then(Vec::new) };
    let list = matches!(node.value, crate::tree::Value::List(_));
    let mut all = Vec::new();
    for item in reader.list(&node)? {
        let text = reader.text(&item, "write an argument, or several in a list")?;
        if list {
            all.push(text);
        } else {
            all.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    let words = ["password=", "token=", "secret="];
    let hidden = |text: &String| {
        let lower = text.to_ascii_lowercase();
        // ssh's own options with such names hold no password.
        !lower.contains("authentication=") && words.iter().any(|word| lower.contains(word))
    };
    let sshpass = all.windows(2).any(|pair| pair[0].ends_with("sshpass") && pair[1].starts_with("-p"));
    if sshpass || all.iter().any(hidden) {
        reader.fault(
            &node,
            "a command line must hold no password: plans are stored with the results, and everybody sees it",
            "use keys or an agent of ssh, or give --ssh-ask-password",
        );
        return None;
    }
    Some(all)
}

/// A path on the hosts.
pub(super) fn path(fields: &Fields<'_>, key: &str) -> Option<String> {
    let node = fields.get(key)?;
    let text = fields.reader.text(&node, "write an absolute path")?;
    if !text.starts_with('/') {
        fields.reader.fault(&node, format!("{text:?} is no absolute path"), "begin it with /");
        return None;
    }
    Some(text)
}

/// Texts by name.
pub(super) fn texts(fields: &Fields<'_>, key: &str) -> BTreeMap<String, String> {
    if !fields.has(key) {
        return BTreeMap::new();
    }
    let below = fields.below(key, key, None);
    let text = |node: &Node| fields.reader.text(node, "write a text");
    below.entries().filter_map(|entry| Some((entry.key.to_string(), text(&entry.node)?))).collect()
}

/// The table of variables, with its host ranges expanded. `hosts` are the existing ones.
fn variables(fields: &Fields<'_>, hosts: Option<&[String]>) -> BTreeMap<String, BTreeMap<String, String>> {
    let reader = fields.reader;
    let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    if !fields.has("variables") {
        return all;
    }
    let tables = fields.below("variables", "variables", None);
    for table in tables.entries() {
        let wrong = |text: String, hint: String| reader.log.fault(table.key_place, text, hint);
        let names = match &*table.key {
            "*" => vec!["*".to_owned()],
            key => match host_list(key) {
                Ok(names) => names,
                Err(found) => {
                    wrong(found.text, found.hint);
                    continue;
                }
            },
        };
        let unknown = |name: &&String| {
            *name != "*" && hosts.is_some_and(|all| !all.iter().any(|h| h == *name || bare_host(h) == **name))
        };
        if let Some(name) = names.iter().find(unknown) {
            let known = hosts.unwrap_or_default().iter().take(16).map(String::as_str);
            wrong(format!("the fleet has no host {name:?}"), hint(name, known));
            continue;
        }
        let what = format!("the table of {:?}", table.key);
        let values = Fields::new(reader, what, "", table.key_place, [table.node.clone()]);
        for entry in values.entries() {
            if let Some(value) = value(reader, &entry.key, entry.key_place, &entry.node) {
                for name in &names {
                    all.entry(name.clone()).or_default().insert(entry.key.to_string(), value.clone());
                }
            }
        }
    }
    all
}

/// A value in the table.
fn value(reader: &Reader<'_>, name: &str, place: Place, node: &Node) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if ALWAYS.contains(&name) {
        reader.log.fault(place, format!("every host has a {name:?} already"), "give it another name");
        return None;
    }
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        let hint = "use up to 64 letters, digits and _";
        reader.log.fault(place, format!("{name:?} is no name of a variable"), hint);
        return None;
    }
    let lower = name.to_ascii_lowercase();
    if ["secret", "password", "token", "access_key"].iter().any(|word| lower.contains(word)) {
        reader.log.fault(
            place,
            format!("{name} looks like a secret, and a plan is stored with the results"),
            "leave it out: S3 keys are read from the AWS_… environment or from credentials_file",
        );
        return None;
    }
    let text = reader.text(node, "write a value")?;
    match pieces(&text) {
        Err(wrong) => reader.fault(node, format!("{wrong} in {text:?}"), BRACES),
        Ok(pieces) => {
            let named = pieces.iter().find_map(|piece| match piece {
                Piece::Name(name) if !ALWAYS.contains(&&**name) => Some(name),
                _ => None,
            });
            let Some(named) = named else { return Some(text) };
            reader.fault(
                node,
                format!("{{{named}}} does not fit into another variable"),
                "only {host} and {index} stand in values of variables",
            );
        }
    }
    None
}
