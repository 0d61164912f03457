//! What an agent is asked to do, and what it answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use experiment::{Arrivals, CacheControl, Cell, Sharing, WITHOUT_LIMIT_S};
use metrics::ErrorKind;
use serde::{Deserialize, Serialize};
use targets::{AccessKey, Look, Patience};

/// Number of an opened target, chosen by the side that leads; the same with every agent.
pub type SiteId = u32;

/// A target to be opened for a cell, as this agent is to see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenOrder {
    /// The number under which it is asked for from now on.
    pub site: SiteId,
    /// The cell, with this host's variables put in.
    pub cell: Box<Cell>,
    /// Which part of the data is this agent's.
    pub part: HostShare,
    /// This agent's own run id: that of its journal.
    pub run: String,
    /// The id that names the place: its own, when it makes and removes the place; that of another agent, which does, when
    /// they share one.
    pub place: String,
    /// The key of an S3 target, which stands in no plan and no result; `None`: the host has its own.
    pub key: Option<AccessKey>,
    /// The experiment's seed: of the payload, the same on all hosts.
    pub seed: u64,
    /// Of everything that is drawn: another on each host.
    pub draws: u64,
    /// No other agent has the same cores: workers may be bound to them.
    pub own_cores: bool,
    /// How the kernel is asked for I/O where the target does not say.
    pub reactor: String,
    /// How long the target may keep one waiting outside of the load.
    pub patience: Patience,
    /// The block device that may be overwritten although it holds something.
    pub destroy: Option<PathBuf>,
    /// Runs whose journals on this host list only what other hosts have removed since: they are deleted.
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
}

/// What the side that leads must know of an opened target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFacts {
    /// Stages take no time.
    pub virtual_clock: bool,
    /// Reads may come from the host's page cache.
    pub page_cache: bool,
    /// Files of a job are laid out right before it.
    pub lays_out_late: bool,
    /// What this agent's part of the data set is made of: `files`, `objects`, `device`.
    pub kind: String,
    /// How many of them.
    pub objects: u64,
    /// Size of each, in bytes.
    pub item_bytes: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Memory in which this host can cache files, in bytes.
    pub cache_bytes: Option<u64>,
    /// The longest that opening a session may take, in nanoseconds.
    pub connect_timeout_ns: u64,
}

/// Something to be done with an opened target, which takes no part in a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// Look at what can be known before anything is made.
    Look,
    /// Make the place, the journal first; or enter it again.
    Prepare,
    /// Use the place as it is: it must be there.
    Adopt,
    /// Write the place into the journal as one's own: the agent that made it is lost, and it is to be removed.
    Inherit,
    /// Remove the place and all that is in it.
    RemoveAll,
    /// See that the data set is there in full size, and without holes when `allocated` is asked for.
    CheckComplete {
        /// Space must be allocated for every byte.
        allocated: bool,
    },
    /// Of which generation the data is that lies there.
    HeldGeneration,
    /// Do something to the host's caches.
    Cache(CacheControl),
    /// What the results must say of the target.
    Facts,
    /// Look at the files of a job and make those that are missing.
    LayOut,
    /// What is done right before a job.
    BeginJob,
    /// What is done right after it.
    FinishJob,
    /// Answer probes of the path's MTU at the address that a `tcp://` target listens on, until the target is closed.
    AnswerMtuProbes,
    /// Find the largest packet that reaches who answers at the address of a `tcp://` target.
    ProbeMtu,
    /// Forget the target. Nothing is removed.
    Close,
}

/// What came of an opening or an act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done.
    Done,
    /// The target is open.
    Opened(SiteFacts),
    /// What was seen of the target.
    Looked(Look),
    /// The place was entered.
    Entered {
        /// It was made just now, and holds nothing.
        new: bool,
    },
    /// The generation that lies there, if any of this payload does.
    Generation(Option<u32>),
    /// In words for the result.
    Said(String),
    /// By name.
    Facts(BTreeMap<String, String>),
    /// How large a packet may be.
    PathMtu {
        /// The largest that arrived, in bytes.
        bytes: u32,
        /// The largest that the kernel believes in, in bytes.
        believed_bytes: u32,
    },
    /// The files of a job.
    LaidOut {
        /// What must move bytes before the load.
        steps: Vec<LayOutStep>,
        /// The devices that the files lie on (stat(2)).
        devices: BTreeSet<u64>,
    },
}

/// Files of a job that are filled, or read once, before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayOutStep {
    /// For people: `lay out`, `pre-read`.
    pub name: String,
    /// Bytes that it moves.
    pub bytes: u64,
}

/// A host says no. One line: what was tried, what came back, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct HostRefusal {
    /// Something was written wrongly: wrong usage.
    pub input: bool,
    /// The stage was stopped before it began: no failure.
    pub stopped: bool,
    /// Which kind of error it was, where the target refused or could not be reached.
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

/// A stage to be run on an opened target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRequest {
    /// The target.
    pub site: SiteId,
    /// What to do.
    pub task: StageTask,
    /// When operations are meant to start on this agent.
    pub arrivals: Arrivals,
    /// Seconds of load before what is measured.
    pub warm_up_s: f64,
    /// Seconds that it lasts at most from then on.
    pub limit_s: f64,
    /// No other cell runs beside it on this host: workers may be bound to cores.
    pub alone: bool,
    /// Operations in flight of each worker, in place of the cell's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

impl StageRequest {
    /// A stage that is over when all of its work is done, in a closed loop.
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
    /// A step of laying out a job's files, by its place in [`Reply::LaidOut`].
    LayOut {
        /// Which.
        step: u32,
    },
    /// Make this agent's files, empty.
    Create,
    /// Write every byte of this agent's part.
    Fill {
        /// The generation of the content.
        generation: u32,
    },
    /// The load of the cell.
    Measure {
        /// The generation of the content that it begins with.
        generation: u32,
    },
    /// Write the cell's data anew for the length of the stage: files or objects that are not there yet, each lane its own, and over
    /// again when all are there.
    Write,
    /// Read what the last [`StageTask::Write`] on this target wrote, over and over for the length of the stage, in the cell's
    /// blocks and order.
    Read,
    /// Read this agent's part once and compare it with what was acknowledged.
    Verify {
        /// All of this generation; `None`: what the last measurement on this target wrote.
        content: Option<u32>,
    },
}

impl StageTask {
    /// It ends when its time is over, however much is done by then.
    pub fn ends_by_time(&self) -> bool {
        matches!(self, StageTask::Measure { .. } | StageTask::Write | StageTask::Read)
    }
}
