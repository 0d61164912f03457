//! The hosts that carry an experiment out together.

mod hosts;
mod variables;

pub use hosts::{MAX_HOSTS, bare_host, host_list, host_port};
pub use variables::escape_braces;
pub(crate) use variables::{ALWAYS, BRACES, Piece, fill_in, pieces};

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
    /// The longest that starting all agents may take, in milliseconds.
    pub start_timeout_ms: u64,
    /// A host that was not heard of for so long has failed, in milliseconds.
    pub silence_timeout_ms: u64,
}

impl Fleet {
    /// A fleet of which only the launcher was said.
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

    /// The names of the hosts in order, as far as they are known before anything is started: those of ssh and of a
    /// command as written, `local-0` and so on for processes of this host.
    pub fn host_names(&self) -> Option<Vec<String>> {
        match &self.launcher {
            Launcher::Local { count } => Some((0..*count).map(|index| format!("local-{index}")).collect()),
            Launcher::Ssh { hosts, .. } | Launcher::Command { hosts, .. } => Some(hosts.clone()),
            Launcher::Slurm { .. } | Launcher::Kubernetes(_) => None,
        }
    }

    /// How many hosts there are, where that is known before anything is started.
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
    /// How many hosts work on a cell: 1 without a fleet, `None` where that is known only when agents were started.
    pub fn hosts_of(&self, cell: &Cell) -> Option<u32> {
        match &self.fleet {
            None => Some(1),
            Some(fleet) => cell.agents.or_else(|| fleet.count()),
        }
    }
}

impl Launcher {
    /// The key of an experiment file, and for people: `hosts`, `local`, `slurm`, `kubernetes`, `command`.
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
    /// Starting all agents may take so long unless the file says otherwise, in milliseconds: Slurm has a queue, and
    /// Kubernetes fetches images first.
    pub(crate) fn start_timeout_ms(&self) -> u64 {
        match self {
            Launcher::Slurm { .. } | Launcher::Kubernetes(_) => 300_000,
            Launcher::Local { .. } | Launcher::Ssh { .. } | Launcher::Command { .. } => 60_000,
        }
    }
}

/// A host may be silent for so long unless the file says otherwise, in milliseconds.
pub(crate) const SILENCE_TIMEOUT_MS: u64 = 15_000;

/// How agents are started: with the user's own tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launcher {
    /// Processes of this host.
    Local {
        /// How many.
        count: u32,
    },
    /// OpenSSH.
    Ssh {
        /// `host`, `user@host`, `host:port` or a name of the user's ssh configuration, in order; no name twice.
        hosts: Vec<String>,
        /// What is added to the command line of ssh (`-F file`, `-o Option=value`, `-i key`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The agent's path on the hosts; `None`: this very binary is copied there when it is not there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binary: Option<String>,
    },
    /// Slurm's `srun`, one agent a node.
    Slurm {
        /// How many nodes; inside an allocation `None` means all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<u32>,
        /// What is added to the command line of `salloc` or `srun` (`--partition=x`).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// The agent's path on the nodes; `None`: the same as here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binary: Option<String>,
    },
    /// Pods of an Indexed Job, through `kubectl`.
    Kubernetes(Box<Pods>),
    /// Any command whose standard input and output are the agent's: `podman exec -i {host} manometer agent`.
    Command {
        /// What `{host}` stands for, one agent each.
        hosts: Vec<String>,
        /// The program and its arguments; `{host}` and `{index}` are put in.
        command: Vec<String>,
    },
}

/// Pods in which agents run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pods {
    /// How many.
    pub count: u32,
    /// The container image; it has `manometer` at `/manometer` or on its PATH.
    pub image: String,
    /// Kubernetes' namespace; `None`: that of the current context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// kubectl's context; `None`: the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// `cpu`, `memory` and others, as requests and limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, String>,
    /// Pods use the network of their node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host_network: bool,
    /// A directory of the node, at the same path in the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// A persistent volume claim, and where it is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<(String, String)>,
    /// `Always`, `IfNotPresent` or `Never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<String>,
    /// Pods may share a node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub share_nodes: bool,
    /// The user and group (by number) as which the agent runs; `None`: 65532, which owns nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

/// How the hosts of a fleet share the data of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each host has a place (directory, prefix) of its own, with all the files that the workload says.
    #[default]
    Own,
    /// One place for all; each host has files of its own in it, as many as the workload says.
    Disjoint,
    /// As `Disjoint`, and every host loads the files of all.
    Common,
    /// As `Disjoint`, and a workload that only reads reads the files of the next host: what another wrote, so that no client
    /// cache helps.
    Neighbour,
}

impl Sharing {
    /// The word of experiment files.
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
    /// The word of experiment files.
    pub fn word(self) -> &'static str {
        match self {
            FailurePolicy::GoOn => "go_on",
            FailurePolicy::RepeatCell => "repeat_cell",
            FailurePolicy::Stop => "stop",
        }
    }
}

/// What happens when a host fails during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailurePolicy {
    /// The run goes on with the others, and says so.
    #[default]
    GoOn,
    /// The cell is repeated with the others.
    RepeatCell,
    /// The run stops.
    Stop,
}
