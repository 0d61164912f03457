//! Slurm, Kubernetes and custom commands as launchers of agents.

use super::fleet::{arguments, hosts, path, texts};
use crate::fleet::{ALWAYS, BRACES, Launcher, MAX_HOSTS, Piece, Pods, pieces};
use crate::known::{CLAIM, COMMAND, KUBERNETES, PULL_POLICY, SLURM};
use crate::nearest::hint;
use crate::reader::Fields;
use crate::source::Settings;

/// `slurm: {nodes: 12, options: [--partition=x]}`.
pub(super) fn slurm(fields: &Fields<'_>) -> Option<Launcher> {
    let slurm = fields.below("slurm", "slurm", Some("nodes"));
    slurm.check_keys(SLURM);
    let nodes = slurm.get("nodes").and_then(|node| fields.reader.integer(&node, 1, MAX_HOSTS as u64));
    Some(Launcher::Slurm {
        nodes: nodes.and_then(|nodes| u32::try_from(nodes).ok()),
        options: arguments(&slurm, "options")?,
        binary: path(&slurm, "binary"),
    })
}

/// `kubernetes: {count: 12, image: …}`.
pub(super) fn kubernetes(fields: &Fields<'_>) -> Option<Launcher> {
    let reader = fields.reader;
    let before = reader.log.count();
    let pods = fields.below("kubernetes", "kubernetes", None);
    pods.check_keys(KUBERNETES);
    for key in ["count", "image"] {
        if !pods.has(key) && reader.log.count() == before {
            let hint = format!("add {key}: {}", if key == "count" { "4" } else { "registry/manometer:tag" });
            reader.log.fault(pods.place, format!("kubernetes needs {key}"), hint);
        }
    }
    let name = |key: &str| {
        let node = pods.get(key)?;
        let text = reader.text(&node, "write a name")?;
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_whitespace) {
            reader.fault(&node, format!("{text:?} does not fit here"), "write a name without blanks");
            return None;
        }
        Some(text)
    };
    let claim = pods.has("claim").then(|| {
        let claim = pods.below("claim", "claim", None);
        claim.check_keys(CLAIM);
        if (!claim.has("name") || !claim.has("path")) && reader.log.count() == before {
            reader.log.fault(
                claim.place,
                "claim needs name and path",
                "write claim: {name: data, path: /data}",
            );
        }
        let node = claim.get("name")?;
        Some((reader.text(&node, "write the claim's name")?, path(&claim, "path")?))
    });
    let pods = Pods {
        count: u32::try_from(pods.integer("count", 1, MAX_HOSTS as u64, 1)).unwrap_or(1),
        image: name("image").unwrap_or_default(),
        namespace: name("namespace"),
        context: name("context"),
        node_selector: texts(&pods, "node_selector"),
        resources: texts(&pods, "resources"),
        host_network: pods.flag("host_network", false),
        host_path: path(&pods, "host_path"),
        claim: claim.flatten(),
        pull_policy: pods
            .has("pull_policy")
            .then(|| pods.choice("pull_policy", PULL_POLICY, "IfNotPresent").to_owned()),
        share_nodes: pods.flag("share_nodes", false),
        user: pods
            .get("user")
            .and_then(|node| reader.integer(&node, 0, u32::MAX.into()))
            .and_then(|user| u32::try_from(user).ok()),
    };
    (reader.log.count() == before).then(|| Launcher::Kubernetes(Box::new(pods)))
}

/// `command: {hosts: [a, b], command: podman exec -i {host} manometer agent}`.
pub(super) fn command(fields: &Fields<'_>, settings: &Settings<'_>) -> Option<Launcher> {
    let reader = fields.reader;
    let before = reader.log.count();
    let fields = fields.below("command", "command", None);
    fields.check_keys(COMMAND);
    for key in ["hosts", "command"] {
        if !fields.has(key) && reader.log.count() == before {
            reader.log.fault(
                fields.place,
                format!("command needs {key}"),
                "write command: {hosts: [a, b], command: [podman, exec, -i, \"{host}\", manometer, agent]}",
            );
        }
    }
    let hosts = hosts(&fields, settings)?;
    let command = arguments(&fields, "command")?;
    let mut told_apart = hosts.len() < 2;
    for argument in &command {
        let found = match pieces(argument) {
            Ok(found) => found,
            Err(wrong) => {
                fields.fault("command", format!("{wrong} in {argument:?}"), BRACES);
                return None;
            }
        };
        for name in found.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(name.as_str()),
            Piece::Plain(_) => None,
        }) {
            if !ALWAYS.contains(&name) {
                fields.fault("command", format!("a command has no variable {name:?}"), hint(name, ALWAYS));
                return None;
            }
            told_apart = true;
        }
    }
    if command.is_empty() {
        fields.fault("command", "the command is empty", "write the program and its arguments");
    } else if !told_apart {
        fields.fault(
            "command",
            "the command does not say on which host: {host} is missing",
            "write such as podman exec -i {host} manometer agent",
        );
    }
    (reader.log.count() == before).then_some(Launcher::Command { hosts, command })
}
