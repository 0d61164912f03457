//! Orders to an agent, and its replies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use experiment::{Arrivals, CacheControl, Cell, Sharing, WITHOUT_LIMIT_S};
use metrics::{ErrorKind, OpKind};
use serde::{Deserialize, Serialize};
use targets::{AccessKey, Look, Patience};

use crate::probe::HostSample;

/// Number of an opened target, chosen by the coordinator; the same for every agent.
pub type SiteId = u32;

/// A target to be opened for a cell, as this agent sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenOrder {
    /// Its number in later orders.
    pub site: SiteId,
    /// The cell, with this host's variables substituted.
    pub cell: Box<Cell>,
    /// This agent's share of the data.
    pub part: HostShare,
    /// This agent's own run id: that of its journal.
    pub run: String,
    /// The id that names the place: its own, if it creates and removes the place; or, if they share one, that of the
    /// agent that does.
    pub place: String,
    /// The key of an S3 target, which appears in no plan and no result; `None`: the host has its own.
    pub key: Option<AccessKey>,
    /// The experiment's seed for the payload, the same on all hosts.
    pub seed: u64,
    /// Seed of all other randomness, different on each host.
    pub draws: u64,
    /// No other agent shares its cores: workers may be pinned to them.
    pub own_cores: bool,
    /// I/O backend where the target does not specify one.
    pub reactor: String,
    /// Timeouts of the target outside the load.
    pub patience: Patience,
    /// Devices and files that may be overwritten even if they hold data.
    pub destroy: Vec<PathBuf>,
    /// Runs whose journals on this host list only what other hosts have since removed: the journals are deleted.
    #[serde(default)]
    pub settled: Vec<String>,
}

/// Which agent this is among those that work on a cell, and how they share its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostShare {
    /// From 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// How the data is shared.
    pub sharing: Sharing,
}

impl HostShare {
    /// All of it.
    pub const WHOLE: HostShare = HostShare { index: 0, of: 1, sharing: Sharing::Own };

    /// How many hosts share the data; 1 when each has its own.
    pub fn parts(&self) -> u32 {
        if self.sharing == Sharing::Own { 1 } else { self.of.max(1) }
    }
}

/// What the coordinator must know about an opened target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFacts {
    /// Stages run on a virtual clock.
    pub virtual_clock: bool,
    /// Reads may come from the host's page cache.
    pub page_cache: bool,
    /// Files of a job are laid out right before it.
    pub lays_out_late: bool,
    /// What this agent's share of the data set consists of: `files`, `objects`, `device`.
    pub kind: String,
    /// How many of them.
    pub objects: u64,
    /// Size of each, in bytes.
    pub item_bytes: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Memory of this host that can cache files, in bytes.
    pub cache_bytes: Option<u64>,
    /// Timeout of opening a session, in nanoseconds.
    pub connect_timeout_ns: u64,
}

/// An act on an opened target, outside of measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// Inspect the target before anything is created.
    Look,
    /// Create the place, journal first; or enter it again.
    Prepare,
    /// Use the place as it is: it must exist.
    Adopt,
    /// Take the place into one's own journal: the agent that created it is lost, and it must be removed.
    Inherit,
    /// Remove the place with all that is in it.
    RemoveAll,
    /// Check that the data set exists in full size, and without holes if `allocated` is set.
    CheckComplete {
        /// Space must be allocated for every byte.
        allocated: bool,
    },
    /// Determine the generation of the existing data.
    HeldGeneration,
    /// Control the host's caches.
    Cache(CacheControl),
    /// Facts about the target for the results.
    Facts,
    /// Inspect the files of a job and create the missing ones.
    LayOut,
    /// Prepare a job right before it.
    BeginJob,
    /// Finish a job right after it.
    FinishJob,
    /// Answer path MTU probes at the address that a `tcp://` target listens on, until the target is closed.
    AnswerMtuProbes,
    /// Find the largest packet that reaches the responder at the address of a `tcp://` target.
    ProbeMtu,
    /// Forget the target. Removes nothing.
    Close,
    /// Begin to sample the host, whichever target is named: the next [`Act::Sample`] reports what it did since then.
    BeginSamples,
    /// What the host did since the last sample.
    Sample,
}

/// The outcome of an opening or an act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// The target is open.
    Opened(SiteFacts),
    /// What was learned about the target.
    Looked(Look),
    /// The place was entered.
    Entered {
        /// It was just created, and is empty.
        new: bool,
    },
    /// The existing generation, if there is data of this payload.
    Generation(Option<u32>),
    /// In words for the result.
    Said(String),
    /// By name.
    Facts(BTreeMap<String, String>),
    /// What the host did since its last sample, or since [`Act::BeginSamples`].
    Sampled(Box<HostSample>),
    /// The path MTU.
    PathMtu {
        /// The largest packet that arrived, in bytes.
        bytes: u32,
        /// The kernel's estimate, in bytes.
        believed_bytes: u32,
    },
    /// The files of a job.
    LaidOut {
        /// Stages that move bytes before the load.
        steps: Vec<LayOutStep>,
        /// The devices that the files lie on (stat(2)).
        devices: BTreeSet<u64>,
    },
}

/// Files of a job to fill, or to read once, before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayOutStep {
    /// Name for people: `lay out`, `pre-read`.
    pub name: String,
    /// Bytes that it moves.
    pub bytes: u64,
}

/// A host's refusal. One line: what was tried, what came back, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct HostRefusal {
    /// Invalid input: a usage error.
    pub input: bool,
    /// The stage was stopped before it began: not a failure.
    pub stopped: bool,
    /// The kind of error, where the target refused or could not be reached.
    pub error: Option<ErrorKind>,
    /// The line.
    pub text: String,
}

impl HostRefusal {
    /// Something failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { input: false, stopped: false, error: None, text: text.into() }
    }
}

/// A stage to run on an opened target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRequest {
    /// The target.
    pub site: SiteId,
    /// What to do.
    pub task: StageTask,
    /// The arrival process of operations on this agent.
    pub arrivals: Arrivals,
    /// Seconds of load before the measured window.
    pub warm_up_s: f64,
    /// Maximum seconds after that.
    pub limit_s: f64,
    /// No other cell runs concurrently on this host: workers may be pinned to cores.
    pub alone: bool,
    /// Operations in flight of each worker, in place of the cell's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

impl StageRequest {
    /// A stage that ends when all of its work is done, in a closed loop.
    pub fn to_the_end(site: SiteId, task: StageTask) -> Self {
        Self {
            site,
            task,
            arrivals: Arrivals::Closed,
            warm_up_s: 0.0,
            limit_s: WITHOUT_LIMIT_S,
            alone: true,
            queue_depth: None,
        }
    }
}

/// What a stage does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StageTask {
    /// A step of laying out a job's files, by its index in [`Reply::LaidOut`].
    LayOut {
        /// Which.
        step: u32,
    },
    /// One operation on each of this agent's files or objects, such as creating it.
    Visit {
        /// The operation.
        kind: OpKind,
    },
    /// Write every byte of this agent's share.
    Fill {
        /// The generation of the content.
        generation: u32,
    },
    /// The load of the cell.
    Measure {
        /// The generation of the content at its start.
        generation: u32,
    },
    /// Write new data for the cell during the stage: files or objects that do not exist yet, each lane its own,
    /// overwriting them once all exist.
    Write,
    /// Read what the last [`StageTask::Write`] on this target wrote, repeatedly during the stage, in the cell's blocks
    /// and order.
    Read,
    /// Read this agent's share once and compare it with what was acknowledged.
    Verify {
        /// All of this generation; `None`: what the last measurement on this target wrote.
        content: Option<u32>,
    },
}

impl StageTask {
    /// It ends when its time is over, whatever is done by then.
    pub fn ends_by_time(&self) -> bool {
        matches!(self, StageTask::Measure { .. } | StageTask::Write | StageTask::Read)
    }
}
