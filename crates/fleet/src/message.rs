//! The messages between the coordinator and its agents.

use std::collections::BTreeMap;

use engine::StageResult;
use metrics::Interval;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteId, StageRequest};
use crate::probe::HostSample;

/// Version of this protocol. Both sides must use the same; different program versions do not work together even with
/// the same protocol, because their loads may differ.
pub const PROTOCOL: u32 = 6;
/// Version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// From the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// The reply to the agent's hello: it belongs to the fleet.
    Welcome(Welcome),
    /// Open a target.
    Open {
        /// Number of the request, for its reply.
        id: u64,
        /// What to open.
        opening: Box<OpenOrder>,
    },
    /// Perform an act on it.
    Act {
        /// Number of the request.
        id: u64,
        /// The target.
        site: SiteId,
        /// What to do.
        act: Act,
    },
    /// Get ready for a stage.
    Stage {
        /// Number of the stage.
        id: u64,
        /// What to do.
        request: StageRequest,
    },
    /// Start.
    Go {
        /// The stage.
        id: u64,
        /// Start time on the agent's own clock, in nanoseconds.
        start_ns: u64,
    },
    /// The stage's window ends with this interval.
    FinishAfter {
        /// The stage.
        id: u64,
        /// The interval.
        index: u32,
    },
    /// On virtual clocks: the interval was seen, continue.
    IntervalSeen {
        /// The stage.
        id: u64,
        /// The interval.
        index: u32,
    },
    /// Stop the stage at once.
    Stop {
        /// The stage.
        id: u64,
    },
    /// Are you there, and what is your time?
    Ping {
        /// Number of the ping.
        number: u64,
    },
    /// It is over: say farewell and exit.
    End,
}

/// What an agent is told at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its name.
    pub name: String,
    /// Its number, from 0.
    pub index: u32,
    /// Maximum time between messages from the coordinator, in milliseconds.
    pub heartbeat_ms: u64,
    /// Silence after which the coordinator counts as gone, in milliseconds.
    pub silence_ms: u64,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message.
    Hello(Hello),
    /// The reply to a request.
    Answer {
        /// The request.
        id: u64,
        /// Its outcome.
        outcome: Result<Reply, HostRefusal>,
    },
    /// All workers of a stage are ready.
    Ready {
        /// The stage.
        id: u64,
    },
    /// An interval of a running stage.
    Interval {
        /// The stage.
        id: u64,
        /// What was counted.
        interval: Interval,
    },
    /// What the host did meanwhile.
    Sample {
        /// The stage.
        id: u64,
        /// The sample.
        sample: Box<HostSample>,
    },
    /// A stage has ended.
    Finished {
        /// The stage.
        id: u64,
        /// Its result, or why it could not be run.
        outcome: Result<Box<StageResult>, HostRefusal>,
    },
    /// The reply to a ping.
    Pong {
        /// The ping.
        number: u64,
        /// When it arrived, on the agent's clock, in nanoseconds.
        received_ns: u64,
        /// When the reply was sent, likewise.
        answered_ns: u64,
    },
    /// A message for people.
    Said {
        /// One line.
        text: String,
    },
    /// The last message.
    Bye {
        /// Frames before this one.
        frames: u64,
        /// Checksum over their headers.
        checksum: u32,
    },
}

/// [`FromAgent::Interval`] without a copy of it.
#[derive(Debug, Serialize)]
pub(crate) enum Shown<'a> {
    /// The same.
    Interval {
        /// The stage.
        id: u64,
        /// What was counted.
        interval: &'a Interval,
    },
}

/// Identity of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// [`PROTOCOL`] of its program.
    pub protocol: u32,
    /// [`PROGRAM`] of its program.
    pub version: String,
    /// Its host's own name.
    pub host: String,
    /// The kernel that it runs on (`/proc/sys/kernel/random/boot_id`): agents with the same id share cores, even in
    /// different containers. Empty when unknown.
    pub machine: String,
    /// Cores that it may use.
    pub cores: u32,
    /// Its process id there.
    pub pid: u32,
    /// Other capabilities (`io_uring`, `epoll`); for people.
    pub capabilities: Vec<String>,
    /// Its host's kernel, CPUs and network interfaces, as in a run's environment; for the results.
    pub facts: BTreeMap<String, String>,
}

/// The boot id of the kernel that this process runs on; empty when unknown.
pub(crate) fn own_machine() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

impl Hello {
    /// Of this process.
    pub fn own(capabilities: Vec<String>) -> Self {
        Hello {
            protocol: PROTOCOL,
            version: PROGRAM.to_owned(),
            host: crate::host_group::host_name(),
            machine: own_machine(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            pid: std::process::id(),
            capabilities,
            facts: BTreeMap::new(),
        }
    }

    /// Why this agent cannot belong to a fleet of this program, if it cannot.
    pub fn fault(&self) -> Option<String> {
        if self.version == PROGRAM && self.protocol == PROTOCOL {
            return None;
        }
        Some(format!(
            "it runs manometer {} (protocol {}), and this is {PROGRAM} (protocol {PROTOCOL}): install the same version there",
            self.version, self.protocol
        ))
    }
}

/// Encodes a message as a body.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are made of what JSON can say")
}

/// A body is no message.
#[derive(Debug, thiserror::Error)]
#[error("a message cannot be read: {0}")]
pub(crate) struct DecodeError(#[from] serde_json::Error);

/// Decodes a body.
///
/// # Errors
/// [`DecodeError`].
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, DecodeError> {
    Ok(serde_json::from_slice(body)?)
}
