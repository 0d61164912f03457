//! Hosts of the server that are sampled while cells are measured, for the verdict.

use serde::{Deserialize, Serialize};

use crate::fleet::{Launcher, SILENCE_TIMEOUT_MS};

/// The server's hosts, and how agents that only take samples are started on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observe {
    /// How agents are started.
    pub launcher: Launcher,
    /// What these hosts are, in one word of the user's: `server`, `osd`.
    pub role: String,
    /// Timeout for starting all agents, in milliseconds.
    pub start_timeout_ms: u64,
    /// A host that has been silent for this long is no longer observed, in milliseconds.
    pub silence_timeout_ms: u64,
}

/// The role of hosts for which the file names none.
pub(crate) const USUAL_ROLE: &str = "server";

impl Observe {
    /// With only the launcher given.
    pub fn of(launcher: Launcher) -> Self {
        Self {
            start_timeout_ms: launcher.start_timeout_ms(),
            silence_timeout_ms: SILENCE_TIMEOUT_MS,
            role: USUAL_ROLE.to_owned(),
            launcher,
        }
    }

    /// The name under which a host's samples are stored, `osd node3`: no host that generates load has a blank in its
    /// name, so a host that does both has both.
    pub fn stored_name(&self, host: &str) -> String {
        format!("{} {host}", self.role)
    }

    /// Whether samples under this name are of one of these hosts.
    pub fn has_stored(&self, name: &str) -> bool {
        name.split_once(' ').is_some_and(|(role, _)| role == self.role)
    }
}
