//! What the side that leads and its agents say to each other.

use std::collections::BTreeMap;

use engine::StageResult;
use metrics::Interval;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteId, StageRequest};
use crate::probe::HostSample;

/// Version of this language. Both sides must speak the same; programs of different versions do not work together, whatever they
/// speak, because their loads may differ.
pub const PROTOCOL: u32 = 5;
/// Version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// From the side that leads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// The answer to the agent's hello: it belongs to the fleet.
    Welcome(Welcome),
    /// Open a target.
    Open {
        /// Number of the question, for its answer.
        id: u64,
        /// What to open.
        opening: Box<OpenOrder>,
    },
    /// Do something with it.
    Act {
        /// Number of the question.
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
    /// Begin.
    Go {
        /// The stage.
        id: u64,
        /// When, on the agent's own clock, in nanoseconds.
        start_ns: u64,
    },
    /// The stage's window ends with this interval.
    FinishAfter {
        /// The stage.
        id: u64,
        /// The interval.
        index: u32,
    },
    /// On virtual clocks: the interval was seen, go on.
    IntervalSeen {
        /// The stage.
        id: u64,
        /// The interval.
        index: u32,
    },
    /// End the stage at once.
    Stop {
        /// The stage.
        id: u64,
    },
    /// Are you there, and what time is it?
    Ping {
        /// Number of the question.
        number: u64,
    },
    /// It is over: say farewell and go.
    End,
}

/// What an agent is told when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Its name.
    pub name: String,
    /// Its number, from 0.
    pub index: u32,
    /// How often it hears of the side that leads at least, in milliseconds.
    pub heartbeat_ms: u64,
    /// When it has heard nothing for so long, nobody leads any more, in milliseconds.
    pub silence_ms: u64,
}

/// From an agent.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message.
    Hello(Hello),
    /// What came of a question.
    Answer {
        /// The question.
        id: u64,
        /// What came of it.
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
        /// What was seen.
        sample: Box<HostSample>,
    },
    /// A stage has ended.
    Finished {
        /// The stage.
        id: u64,
        /// What it found, or why it could not be run.
        outcome: Result<Box<StageResult>, HostRefusal>,
    },
    /// The answer to a ping.
    Pong {
        /// The question.
        number: u64,
        /// When it came, on the agent's clock, in nanoseconds.
        received_ns: u64,
        /// When the answer went, likewise.
        answered_ns: u64,
    },
    /// Something for people.
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

/// Who an agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// [`PROTOCOL`] of its program.
    pub protocol: u32,
    /// [`PROGRAM`] of its program.
    pub version: String,
    /// What its host calls itself.
    pub host: String,
    /// The kernel that it runs on (`/proc/sys/kernel/random/boot_id`): agents that say the same share cores, be it in
    /// containers. Empty when it is not known.
    pub machine: String,
    /// Cores that it may use.
    pub cores: u32,
    /// Its process id there.
    pub pid: u32,
    /// What it can do besides (`io_uring`, `epoll`); for people.
    pub capabilities: Vec<String>,
    /// Its host's kernel, processors, network interfaces, as in a run's environment; for the results.
    pub facts: BTreeMap<String, String>,
}

impl Hello {
    /// Of this process.
    pub fn own(capabilities: Vec<String>) -> Self {
        Hello {
            protocol: PROTOCOL,
            version: PROGRAM.to_owned(),
            host: crate::host_group::host_name(),
            machine: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .map_or_else(|_| String::new(), |text| text.trim().to_owned()),
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

/// Puts a message into a body.
pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("messages are made of what JSON can say")
}

/// Reads a body.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("a message cannot be read: {error}"))
}
