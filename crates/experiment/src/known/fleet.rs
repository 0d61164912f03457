//! Keys of `fleet` and of `scale`: who carries an experiment out, and with how many of them.

use super::Form::{Choice, Count, Flag, Named, Span, Text};
use super::{Key, key};

pub(crate) const FLEET: &[Key] = &[
    key("hosts", Named("hosts"), "", "agents are started there by ssh: a list, node[01-16], or \"@file\""),
    key("local", Count(1), "", "number of agents, all processes of this host"),
    key("slurm", Named("slurm"), "", "agents are started by srun; a number alone is short for nodes"),
    key("kubernetes", Named("kubernetes"), "", "agents are pods of a job"),
    key("command", Named("command"), "", "agents are started by any command"),
    key("ssh_options", Named("arguments"), "none", "added to the command line of ssh, with hosts"),
    key(
        "binary",
        Text,
        "this program, copied where it is missing",
        "the agent's path on the hosts, with hosts",
    ),
    key(
        "sharing",
        Choice(SHARING),
        "own",
        "own: each host has a place of its own; disjoint: files of its own in one place; common: all load the files of \
         all; neighbour: each reads what the next host wrote",
    ),
    key(
        "on_host_failure",
        Choice(ON_HOST_FAILURE),
        "go_on",
        "go_on: with the others; repeat_cell: the cell is repeated with the others; stop: the run ends",
    ),
    key(
        "variables",
        Named("variables"),
        "none",
        "values for {name} in targets: by host (or range of hosts, or \"*\"), then by name",
    ),
    key(
        "start_timeout",
        Span,
        "60s; 5m with slurm and kubernetes",
        "the longest that starting all agents may take",
    ),
    key("silence_timeout", Span, "15s", "a host that was not heard of for so long has failed"),
];

/// Keys that say how agents are started: one of them.
pub(crate) const LAUNCHERS: &[&str] = &["hosts", "local", "slurm", "kubernetes", "command"];

/// Words of `sharing`.
pub(crate) const SHARING: &[&str] = &["own", "disjoint", "common", "neighbour"];

/// Words of `on_host_failure`.
pub(crate) const ON_HOST_FAILURE: &[&str] = &["go_on", "repeat_cell", "stop"];

pub(crate) const SLURM: &[Key] = &[
    key("nodes", Count(1), "all of the allocation", "how many nodes; one agent each"),
    key("options", Named("arguments"), "none", "added to the command line of srun or salloc: --partition=x"),
    key("binary", Text, "the same path as here", "the agent's path on the nodes"),
];

pub(crate) const KUBERNETES: &[Key] = &[
    key("count", Count(1), "", "how many pods"),
    key("image", Text, "", "the container image, with manometer at /manometer or on its PATH"),
    key("namespace", Text, "that of the context", "the namespace"),
    key("context", Text, "the current one", "kubectl's context"),
    key("node_selector", Named("texts"), "none", "labels that a node must have"),
    key("resources", Named("texts"), "none", "requests and limits: {cpu: 4, memory: 8Gi}"),
    key("host_network", Flag, "false", "pods use their node's network"),
    key("host_path", Text, "none", "a directory of the node, at the same path in the pod"),
    key("claim", Named("claim"), "none", "a persistent volume claim and where it is mounted"),
    key("pull_policy", Choice(PULL_POLICY), "Kubernetes' own", "when the image is pulled"),
    key("share_nodes", Flag, "false", "pods may share a node"),
    key("user", Count(0), "65532", "the user and group, by number, as which the agent runs"),
];

/// Words of `pull_policy`.
pub(crate) const PULL_POLICY: &[&str] = &["Always", "IfNotPresent", "Never"];

pub(crate) const CLAIM: &[Key] =
    &[key("name", Text, "", "the claim's name"), key("path", Text, "", "where it is mounted in the pod")];

pub(crate) const COMMAND: &[Key] = &[
    key("hosts", Named("hosts"), "", "what {host} stands for, one agent each"),
    key(
        "command",
        Named("arguments"),
        "",
        "its standard input and output are the agent's: podman exec -i {host} manometer agent",
    ),
];

pub(crate) const SCALE: &[Key] = &[
    key("agents", Named("counts"), "none", "numbers of agents, all, or doubling: 1, 2, 4 … all"),
    key(
        "addresses",
        Named("numbers"),
        "none",
        "numbers of the target's addresses (its option use_addresses)",
    ),
];
