//! The results of a stage.

use drivers::{DriverError, SessionFacts};
use metrics::{ErrorKind, Interval, OpStats, PathFacts};
use reactor::Backend;

use serde::{Deserialize, Serialize};

use crate::{ContentSummary, DataSet, JobFacts, LanePass, Left, Usage};

/// Operations and bytes, without their latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Successful operations.
    pub ok: u64,
    /// Failed operations, including timeouts.
    pub failed: u64,
    /// Operations that timed out.
    pub timed_out: u64,
    /// Payload bytes acknowledged.
    pub bytes: u64,
}

impl Counts {
    /// All operations that ended, successful or not.
    pub fn ended(&self) -> u64 {
        self.ok + self.failed
    }

    pub(crate) fn merge(&mut self, other: Counts) {
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.timed_out = self.timed_out.saturating_add(other.timed_out);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Outcome of a [`crate::StageWorkload::Check`] by block; the four counts add up to all blocks, unless the stage was
/// cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedBlocks {
    /// Blocks that hold exactly what was acknowledged.
    pub right: u64,
    /// Blocks with different content, too short, or missing.
    pub wrong: u64,
    /// Blocks that could not be read.
    pub unread: u64,
    /// Blocks that were not judged: a write to them failed or was never answered, so both old and new content are
    /// right.
    pub uncertain: u64,
}

impl CheckedBlocks {
    /// All blocks that were reached.
    pub fn blocks(&self) -> u64 {
        self.right + self.wrong + self.unread + self.uncertain
    }

    /// Adds the counts of other blocks.
    pub fn merge(&mut self, other: CheckedBlocks) {
        self.right = self.right.saturating_add(other.right);
        self.wrong = self.wrong.saturating_add(other.wrong);
        self.unread = self.unread.saturating_add(other.unread);
        self.uncertain = self.uncertain.saturating_add(other.uncertain);
    }
}

/// A range whose content differed from what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorruptRange {
    /// Number of the file or object.
    pub object: u64,
    /// First byte of the range.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The expected generation.
    pub generation: u32,
    /// What was wrong, and whether a second read was right.
    pub detail: String,
}

/// The measurements of a stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageResult {
    /// Length of the measured window in nanoseconds; shorter than planned if the stage was stopped or the workload ran
    /// out.
    pub window_ns: u64,
    /// Everything that ended inside the window: divide by `window_ns`.
    pub total: Interval,
    /// Operations that ended before the window, in the ramp.
    pub before: Counts,
    /// Operations in flight at the window's end that ended later.
    pub after: Counts,
    /// Operations in flight at the window's end: those in `after` plus the abandoned ones.
    pub in_flight_at_end: u64,
    /// Operations that had not ended by the end of the drain.
    pub abandoned: u64,
    /// Whether operations had intended start times: from arrivals, a job's rates, or a replay's times.
    #[serde(default)]
    pub open_loop: bool,
    /// In an open loop: operations intended inside the measured window; begun, shed or missed.
    pub offered: u64,
    /// In an open loop: operations of the window shed because the backlog was full.
    pub shed: u64,
    /// In an open loop: operations of the window that began more than a millisecond late.
    pub late_starts: u64,
    /// In an open loop: maximum number of operations waiting for a lane at once in each worker's share of the backlog,
    /// added up over the workers.
    pub deepest_backlog: u64,
    /// In an open loop: operations still waiting for a lane when the window ended.
    pub missed_starts: u64,
    /// Commits, after the window, of files that were being written at its end.
    pub closing: OpStats,
    /// Time from the window's end to the last of those commits, in nanoseconds.
    pub settled_ns: u64,
    /// The sessions' data on their connections at the end.
    pub facts: SessionFacts,
    /// Traffic of each path between this machine and the server inside the window; divide by `window_ns`.
    #[serde(default)]
    pub paths: Vec<PathFacts>,
    /// A few examples of each kind of error.
    pub error_samples: Vec<(ErrorKind, String)>,
    /// What a write stage wrote, or what a mix created and did not remove; empty after other stages.
    #[serde(skip)]
    pub data_set: DataSet,
    /// The generation of each block's content after a fill or a mix.
    #[serde(skip)]
    pub written: ContentSummary,
    /// The same in short form, for results of another process, which lack `written`.
    pub left: Left,
    /// The outcome of a check.
    pub checked: CheckedBlocks,
    /// The first ranges whose content differed from what was written.
    pub corrupt: Vec<CorruptRange>,
    /// The reactor backend in use.
    pub backend: Backend,
    /// Why it is not io_uring, if that was requested and refused.
    pub refusal: Option<String>,
    /// CPU time of each worker's thread inside the window, in nanoseconds.
    pub worker_cpu_ns: Vec<u64>,
    /// CPU time of all threads of the process inside the window, in nanoseconds: those that the kernel starts for what a ring
    /// cannot do at once (io_uring(7)), and those of client libraries, count too.
    #[serde(default)]
    pub process_cpu_ns: u64,
    /// The first worker's start on the clock of its process's reactors, in nanoseconds.
    pub started_ns: u64,
    /// Time between the first and the last worker's start, in nanoseconds.
    pub start_skew_ns: u64,
    /// Longest delay of a worker's start due to waiting for a core, in nanoseconds; 0 if the kernel does not report it.
    #[serde(default)]
    pub start_core_wait_ns: u64,
    /// Longest delay in a worker's wake-up inside the window, in nanoseconds: its process was stopped, the machine
    /// stalled, or it got no core.
    #[serde(default)]
    pub longest_pause_ns: u64,
    /// Every lane finished its share.
    pub exhausted: bool,
    /// [`crate::Control::stop`] ended the stage.
    pub stopped: bool,
    /// [`StagePlan::error_limit`] ended the stage.
    pub error_limit_reached: bool,
    /// Further facts about a [`crate::StageWorkload::Job`]; empty after other stages.
    pub job: JobFacts,
    /// What each lane did of a [`crate::StageWorkload::Pass`]; empty after other stages.
    #[serde(default)]
    pub passes: Vec<LanePass>,
    /// CPU usage of the workers' threads.
    pub usage: Usage,
    /// Intervals of workers that the observer missed because it was slow; they are included in the total.
    pub unseen_intervals: u64,
}

impl StageResult {
    /// Payload bytes per second over the window.
    pub fn bytes_per_s(&self) -> f64 {
        per_second(self.total.bytes(), self.window_ns)
    }

    /// CPU time of all workers' threads inside the window, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.worker_cpu_ns.iter().sum()
    }

    /// The known part of a stage's result if only its intervals arrived.
    pub fn of_intervals(total: Interval) -> Self {
        let window_ns = total.length_ns;
        StageResult {
            window_ns,
            total,
            before: Counts::default(),
            after: Counts::default(),
            in_flight_at_end: 0,
            abandoned: 0,
            open_loop: false,
            offered: 0,
            shed: 0,
            late_starts: 0,
            deepest_backlog: 0,
            missed_starts: 0,
            closing: OpStats::default(),
            settled_ns: 0,
            facts: SessionFacts::default(),
            paths: Vec::new(),
            error_samples: Vec::new(),
            data_set: DataSet::default(),
            written: ContentSummary::unknown(),
            left: Left::Unknown,
            checked: CheckedBlocks::default(),
            corrupt: Vec::new(),
            backend: Backend::Simulated,
            refusal: None,
            worker_cpu_ns: Vec::new(),
            process_cpu_ns: 0,
            started_ns: 0,
            start_skew_ns: 0,
            start_core_wait_ns: 0,
            longest_pause_ns: 0,
            exhausted: false,
            stopped: false,
            error_limit_reached: false,
            job: JobFacts::default(),
            passes: Vec::new(),
            usage: Usage::default(),
            unseen_intervals: 0,
        }
    }

    /// Successful operations per second over the window.
    pub fn ops_per_s(&self) -> f64 {
        per_second(self.total.ok(), self.window_ns)
    }
}

fn per_second(count: u64, window_ns: u64) -> f64 {
    if window_ns == 0 { 0.0 } else { count as f64 * 1e9 / window_ns as f64 }
}

/// A stage could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The plan asks for something impossible.
    #[error("the stage cannot be run: {0}")]
    Plan(&'static str),
    /// A reactor could not be opened.
    #[error("worker {worker} has no reactor: {error}")]
    Reactor {
        /// The worker.
        worker: u32,
        /// The cause.
        error: reactor::OpenError,
    },
    /// A worker's session could not be opened.
    #[error("{error}")]
    Connect {
        /// The worker.
        worker: u32,
        /// The cause.
        error: DriverError,
    },
    /// A thread could not be started.
    #[error("worker {worker} cannot be started: {error}; use fewer workers")]
    Thread {
        /// The worker.
        worker: u32,
        /// The cause.
        error: std::io::Error,
    },
    /// A worker could not be placed as its job requests.
    #[error("worker {worker}: {text}: {error}")]
    Placement {
        /// The worker.
        worker: u32,
        /// What could not be done.
        text: String,
        /// The cause.
        error: std::io::Error,
    },
    /// A worker panicked: a defect of this program.
    #[error("worker {worker} panicked: {message}; this is a defect of manometer")]
    Panicked {
        /// The worker.
        worker: u32,
        /// The panic message.
        message: String,
    },
    /// [`crate::Control::stop`] was called before the stage began.
    #[error("stopped before the stage began")]
    Stopped,
}
