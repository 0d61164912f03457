//! The hosts that run an experiment together.

mod hosts;
mod variables;

pub use hosts::{MAX_HOSTS, bare_host, host_list, host_port, is_same_host};
pub(crate) use variables::{ALWAYS, BRACES, Piece, fill_in, pieces};
pub use variables::{HostValueError, escape_braces};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::job::is_default;
use crate::plan::{Cell, Plan};

/// Hosts, how agents are started on them, and how they share the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// How agents are started.
    pub launcher: Launcher,
    /// How they share the data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharing: Sharing,
    /// What happens when a host fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_failure: FailurePolicy,
    /// Values for `{name}` in targets, by host (or `*` for all others), then by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, BTreeMap<String, String>>,
    /// Timeout for starting all agents, in milliseconds.
    pub start_timeout_ms: u64,
    /// A host that has been silent for this long has failed, in milliseconds.
    pub silence_timeout_ms: u64,
}

impl Fleet {
    /// A fleet with only the launcher given.
    pub fn of(launcher: Launcher) -> Self {
        let start_timeout_ms = launcher.start_timeout_ms();
        Fleet {
            launcher,
            sharing: Sharing::default(),
            on_failure: FailurePolicy::default(),
            variables: BTreeMap::new(),
            start_timeout_ms,
            silence_timeout_ms: SILENCE_TIMEOUT_MS,
        }
    }

    /// The names of the hosts in order, where known before the start: for ssh and a command as written, for processes
    /// of this host `local-0` and so on.
    pub fn host_names(&self) -> Option<Vec<String>> {
        match &self.launcher {
            Launcher::Local { count } => Some((0..*count).map(|index| format!("local-{index}")).collect()),
            Launcher::Ssh { hosts, .. } | Launcher::Command { hosts, .. } => Some(hosts.clone()),
            Launcher::Slurm { .. } | Launcher::Kubernetes(_) => None,
        }
    }

    /// Number of hosts, where known before the start.
    pub fn count(&self) -> Option<u32> {
        let of = |hosts: &Vec<String>| Some(u32::try_from(hosts.len()).unwrap_or(u32::MAX));
        match &self.launcher {
            Launcher::Local { count } => Some(*count),
            Launcher::Ssh { hosts, .. } | Launcher::Command { hosts, .. } => of(hosts),
            Launcher::Slurm { nodes, .. } => *nodes,
            Launcher::Kubernetes(pods) => Some(pods.count),
        }
    }
}

impl Plan {
    /// Number of hosts that work on a cell: 1 without a fleet, `None` if that is known only once agents have started.
    pub fn hosts_of(&self, cell: &Cell) -> Option<u32> {
        match &self.fleet {
            None => Some(1),
            Some(fleet) => cell.agents.or_else(|| fleet.count()),
        }
    }
}

impl Launcher {
    /// The key in an experiment file, also used in messages: `hosts`, `local`, `slurm`, `kubernetes`, `command`.
    pub fn word(&self) -> &'static str {
        match self {
            Launcher::Local { .. } => "local",
            Launcher::Ssh { .. } => "hosts",
            Launcher::Slurm { .. } => "slurm",
            Launcher::Kubernetes(_) => "kubernetes",
            Launcher::Command { .. } => "command",
        }
    }
}

impl Launcher {
    /// Default timeout for starting all agents, in milliseconds: Slurm has a queue, and Kubernetes pulls images first.
    pub(crate) fn start_timeout_ms(&self) -> u64 {
        match self {
            Launcher::Slurm { .. } | Launcher::Kubernetes(_) => 300_000,
            Launcher::Local { .. } | Launcher::Ssh { .. } | Launcher::Command { .. } => 60_000,
        }
    }
}

/// Default time that a host may be silent, in milliseconds.
pub(crate) const SILENCE_TIMEOUT_MS: u64 = 15_000;

/// How agents are started, using the user's own tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launcher {
    /// Processes on this host.
    Local {
        /// Number of processes.
        count: u32,
    },
    /// OpenSSH.
    Ssh {
        /// `host`, `user@host`, `host:port` or a name from the user's ssh configuration, in order; no duplicates.
        hosts: Vec<String>,
        /// Extra ssh command line options (`-F file`, `-o Option=value`, `-i key`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The agent's path on the hosts; if `None`, this binary is copied to hosts that lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binary: Option<String>,
    },
    /// Slurm's `srun`, one agent per node.
    Slurm {
        /// Number of nodes; inside an allocation `None` means all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<u32>,
        /// Extra command line options for `salloc` or `srun` (`--partition=x`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The agent's path on the nodes; if `None`, the same as here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binary: Option<String>,
    },
    /// Pods of an Indexed Job, through `kubectl`.
    Kubernetes(Box<Pods>),
    /// Any command that connects its standard input and output to the agent: `podman exec -i {host} manometer agent`.
    Command {
        /// The values for `{host}`, one agent each.
        hosts: Vec<String>,
        /// The program and its arguments; `{host}` and `{index}` are substituted.
        command: Vec<String>,
    },
}

/// Pods in which agents run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pods {
    /// Number of pods.
    pub count: u32,
    /// The container image, with `manometer` at `/manometer` or on its PATH.
    pub image: String,
    /// The Kubernetes namespace; if `None`, that of the current context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// kubectl's context; if `None`, the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Required node labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// `cpu`, `memory` and others, as requests and limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, String>,
    /// Use the node's network.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host_network: bool,
    /// A directory of the node, mounted at the same path in the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// A persistent volume claim and its mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<(String, String)>,
    /// `Always`, `IfNotPresent` or `Never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
    /// Whether pods may share a node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub share_nodes: bool,
    /// User and group id of the agent; if `None`, 65532, which owns nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

/// How the hosts of a fleet share a cell's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each host has its own place (directory, prefix) with all the files of the workload.
    #[default]
    Own,
    /// One place for all; each host has its own files in it, as many as the workload says.
    Disjoint,
    /// Like `Disjoint`, but every host loads the files of all hosts.
    Common,
    /// Like `Disjoint`, but read-only workloads read the next host's files: another host wrote them, so client caches
    /// do not help.
    Neighbour,
}

impl Sharing {
    /// The word used in experiment files.
    pub fn word(self) -> &'static str {
        match self {
            Sharing::Own => "own",
            Sharing::Disjoint => "disjoint",
            Sharing::Common => "common",
            Sharing::Neighbour => "neighbour",
        }
    }
}

impl FailurePolicy {
    /// The word used in experiment files.
    pub fn word(self) -> &'static str {
        match self {
            FailurePolicy::GoOn => "go_on",
            FailurePolicy::RepeatCell => "repeat_cell",
            FailurePolicy::Stop => "stop",
        }
    }
}

/// What to do when a host fails during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// Continue with the other hosts, and report it.
    #[default]
    GoOn,
    /// Repeat the cell with the other hosts.
    RepeatCell,
    /// Stop the run.
    Stop,
}
