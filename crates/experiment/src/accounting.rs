//! Whose counters tell what the operations of a cell cost on the server.

use serde::{Deserialize, Serialize};

use crate::job::is_default;

/// Counters that are read before and after each measurement, and by what command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// The counters.
    pub counters: ServerCounters,
    /// How the host that reads them is reached; `None`: the host that coordinates the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Timeout of each command, in milliseconds.
    pub timeout_ms: u64,
}

/// Default timeout of a command that reads counters, in milliseconds.
pub(crate) const ACCOUNTING_TIMEOUT_MS: u64 = 30_000;

/// The counters of a server or of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerCounters {
    /// The file operations of a Gluster volume's bricks: `gluster volume profile VOLUME info cumulative`.
    Gluster {
        /// The volume.
        volume: String,
        /// Options added to gluster's command line.
        #[serde(default, skip_serializing_if = "is_default")]
        options: Vec<String>,
    },
    /// The requests of Ceph's metadata servers: `ceph tell mds.NAME perf dump`.
    Ceph {
        /// The names of the metadata servers, without `mds.`.
        mds: Vec<String>,
        /// Options added to ceph's command line.
        #[serde(default, skip_serializing_if = "is_default")]
        options: Vec<String>,
    },
    /// Whatever a command prints.
    Command {
        /// The program and its arguments.
        run: Vec<String>,
    },
}

/// How a command gets to another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// OpenSSH.
    Ssh {
        /// `host`, `user@host`, `host:port` or a name from the user's ssh configuration.
        host: String,
        /// Extra ssh command line options.
        #[serde(default, skip_serializing_if = "is_default")]
        options: Vec<String>,
    },
    /// A program that runs the words after its own arguments: `podman exec server`.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
    },
}

impl ServerCounters {
    /// The key in an experiment file: `gluster`, `ceph`, `command`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Gluster { .. } => "gluster",
            Self::Ceph { .. } => "ceph",
            Self::Command { .. } => "command",
        }
    }

    /// Options that the file adds to the command line of a known tool.
    pub fn options(&self) -> &[String] {
        match self {
            Self::Gluster { options, .. } | Self::Ceph { options, .. } => options,
            Self::Command { .. } => &[],
        }
    }
}
