//! Keys of `fleet`, `observe` and `scale`: which hosts run an experiment, how many of them, which of the server are
//! observed, and the sizes of the server.

use super::Form::{Choice, Count, Flag, Named, Span, Text};
use super::{Key, key};

pub(crate) const FLEET: &[Key] = &[
    key("hosts", Named("hosts"), "", "load hosts, reached by ssh: a list, node[01-16], or \"@file\""),
    key("local", Count(1), "", "number of agents on this host"),
    key("slurm", Named("slurm"), "", "start agents by srun; a number alone is short for nodes"),
    key("kubernetes", Named("kubernetes"), "", "run agents as pods of a Job"),
    key("command", Named("command"), "", "start agents by any command"),
    key("ssh_options", Named("arguments"), "none", "options added to ssh's command line (with hosts)"),
    key("binary", Text, "this program, copied where missing", "path of manometer on the hosts (with hosts)"),
    key(
        "sharing",
        Choice(SHARING),
        "own",
        "own: each host has its own place; disjoint: one place, its own files; common: one place, every host loads all \
         files; neighbour: each host reads what the next one wrote",
    ),
    key(
        "on_host_failure",
        Choice(ON_HOST_FAILURE),
        "go_on",
        "go_on: continue with the others; repeat_cell: repeat the cell with the others; stop: end the run",
    ),
    key(
        "variables",
        Named("variables"),
        "none",
        "values of {name} in targets: by host (or range of hosts, or \"*\"), then by name",
    ),
    key("start_timeout", Span, "60s; 5m with slurm and kubernetes", "timeout of starting all agents"),
    key("silence_timeout", Span, "15s", "a host that stays silent this long has failed"),
];

pub(crate) const OBSERVE: &[Key] = &[
    key("hosts", Named("hosts"), "", "the server's hosts, reached by ssh: a list, osd[1-3], or \"@file\""),
    key("local", Count(1), "", "the server runs on this host: 1"),
    key("slurm", Named("slurm"), "", "start agents by srun; a number alone is short for nodes"),
    key(
        "kubernetes",
        Named("kubernetes"),
        "",
        "run agents as pods of a Job; host_network shows the nodes' NICs",
    ),
    key("command", Named("command"), "", "start agents by any command"),
    key("ssh_options", Named("arguments"), "none", "options added to ssh's command line (with hosts)"),
    key("binary", Text, "this program, copied where missing", "path of manometer on the hosts (with hosts)"),
    key("role", Text, "server", "what these hosts are, for the verdict and reports: osd"),
    key("start_timeout", Span, "60s; 5m with slurm and kubernetes", "timeout of starting all agents"),
    key("silence_timeout", Span, "15s", "a host that stays silent this long is no longer observed"),
];

/// Keys that choose the launcher: exactly one is given.
pub(crate) const LAUNCHERS: &[&str] = &["hosts", "local", "slurm", "kubernetes", "command"];

/// Values of `sharing`.
pub(crate) const SHARING: &[&str] = &["own", "disjoint", "common", "neighbour"];

/// Values of `on_host_failure`.
pub(crate) const ON_HOST_FAILURE: &[&str] = &["go_on", "repeat_cell", "stop"];

pub(crate) const SLURM: &[Key] = &[
    key("nodes", Count(1), "all nodes of the allocation", "number of nodes, one agent each"),
    key(
        "options",
        Named("arguments"),
        "none",
        "options added to the command line of srun or salloc: --partition=x",
    ),
    key("binary", Text, "the same path as here", "path of manometer on the nodes"),
];

pub(crate) const KUBERNETES: &[Key] = &[
    key("count", Count(1), "", "number of pods"),
    key("image", Text, "", "the container image, with manometer at /manometer or on its PATH"),
    key("namespace", Text, "that of the context", "the namespace"),
    key("context", Text, "the current one", "kubectl's context"),
    key("node_selector", Named("texts"), "none", "labels the nodes must have"),
    key("resources", Named("texts"), "none", "requests and limits: {cpu: 4, memory: 8Gi}"),
    key("host_network", Flag, "false", "use the node's network"),
    key("host_path", Text, "none", "directory of the node to mount at the same path in the pod"),
    key("claim", Named("claim"), "none", "persistent volume claim and its mount path"),
    key("pull_policy", Choice(PULL_POLICY), "Kubernetes' own", "when to pull the image"),
    key("share_nodes", Flag, "false", "pods may share a node"),
    key("user", Count(0), "65532", "numeric user and group ID of the agent"),
];

/// Values of `pull_policy`.
pub(crate) const PULL_POLICY: &[&str] = &["Always", "IfNotPresent", "Never"];

pub(crate) const CLAIM: &[Key] =
    &[key("name", Text, "", "the claim's name"), key("path", Text, "", "mount path in the pod")];

pub(crate) const COMMAND: &[Key] = &[
    key("hosts", Named("hosts"), "", "values of {host}, one agent each"),
    key(
        "command",
        Named("arguments"),
        "",
        "command whose standard input and output are the agent's: podman exec -i {host} manometer agent",
    ),
];

pub(crate) const SCALE: &[Key] = &[
    key("agents", Named("counts"), "none", "numbers of agents; all; or doubling: 1, 2, 4 … all"),
    key("addresses", Named("numbers"), "none", "numbers of target addresses (its option use_addresses)"),
    key(
        "server",
        Named("server_scale"),
        "none",
        "sizes of the server, set by a command; at the top of the file only",
    ),
];

pub(crate) const SERVER_SCALE: &[Key] = &[
    key(
        "name",
        Text,
        "servers",
        "the size's name in cells and reports, and of the parameter that gets it: osds",
    ),
    key("values", Named("sizes"), "", "the sizes, in the order in which they are measured"),
    key("set", Named("arguments"), "", "command that brings the server to {value}"),
    key("ready", Named("arguments"), "none", "command that is repeated after `set` until it exits with 0"),
    key("interval", Span, "1s", "time between two attempts of `ready`"),
    key("timeout", Span, "10m", "timeout of `set`, of all attempts of `ready` together, and of `reset`"),
    key("reset", Named("arguments"), "none", "command that is run at the end, if a size was set"),
    key(
        "data",
        Choice(EARLIER_DATA),
        "remove",
        "data sets before the next size: remove them and fill them again after it, or keep them",
    ),
];

/// Values of `data`.
pub(crate) const EARLIER_DATA: &[&str] = &["remove", "keep"];
