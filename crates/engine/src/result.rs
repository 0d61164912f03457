//! What a stage found.

use drivers::{DriverError, SessionFacts};
use metrics::{ErrorKind, Interval, OpStats, PathFacts};
use reactor::Backend;

use serde::{Deserialize, Serialize};

use crate::{ContentSummary, DataSet, JobFacts, Left, Usage};

/// Operations and bytes, without their latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations that ended well.
    pub ok: u64,
    /// Operations that failed, those that timed out included.
    pub failed: u64,
    /// Operations that timed out.
    pub timed_out: u64,
    /// Payload bytes acknowledged.
    pub bytes: u64,
}

impl Counts {
    /// Operations that ended, one way or the other.
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

/// What became of the blocks of a [`crate::StageWorkload::Check`]; the four counts are all of them, unless the stage was cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedBlocks {
    /// Blocks that hold exactly what was acknowledged.
    pub right: u64,
    /// Blocks that hold something else, that are shorter than they should be, or that are gone.
    pub wrong: u64,
    /// Blocks that could not be read.
    pub unread: u64,
    /// Blocks that were not judged: a write to them failed or was never answered, so that old and new content are
    /// both right.
    pub uncertain: u64,
}

impl CheckedBlocks {
    /// All blocks that were come to.
    pub fn blocks(&self) -> u64 {
        self.right + self.wrong + self.unread + self.uncertain
    }

    /// Adds what became of other blocks.
    pub fn merge(&mut self, other: CheckedBlocks) {
        self.right = self.right.saturating_add(other.right);
        self.wrong = self.wrong.saturating_add(other.wrong);
        self.unread = self.unread.saturating_add(other.unread);
        self.uncertain = self.uncertain.saturating_add(other.uncertain);
    }
}

/// A range that did not hold what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorruptRange {
    /// Number of the file or object.
    pub object: u64,
    /// First byte of the range that was read.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The generation that was expected.
    pub generation: u32,
    /// What was wrong, and whether a second read was right.
    pub detail: String,
}

/// What a stage measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageResult {
    /// Length of the measured window in nanoseconds; shorter than planned when the stage was stopped or the
    /// workload ran out.
    pub window_ns: u64,
    /// All that ended inside the window: divide by `window_ns`.
    pub total: Interval,
    /// What ended before the window, in the ramp.
    pub before: Counts,
    /// What was in flight at the window's end and ended later.
    pub after: Counts,
    /// Operations in flight at the window's end; those of `after` and the abandoned ones.
    pub in_flight_at_end: u64,
    /// Operations that had not ended when waiting for them was over.
    pub abandoned: u64,
    /// Operations were meant to start at given times: by arrivals, by the rates of a job, or by the times of a replay.
    #[serde(default)]
    pub open_loop: bool,
    /// In an open loop: operations meant to start inside the measured window; begun, shed or missed.
    pub offered: u64,
    /// In an open loop: those of the window that were shed because the backlog was full.
    pub shed: u64,
    /// In an open loop: those of the window that began more than a millisecond late.
    pub late_starts: u64,
    /// In an open loop: the most operations that waited for a lane at once, in one worker's share of the backlog,
    /// added up over the workers.
    pub deepest_backlog: u64,
    /// In an open loop: operations that still waited for a lane when the window ended.
    pub missed_starts: u64,
    /// Commits, after the window, of the files that were being written at its end.
    pub closing: OpStats,
    /// From the window's end until the last of those commits, in nanoseconds.
    pub settled_ns: u64,
    /// What the sessions knew of their connections at the end.
    pub facts: SessionFacts,
    /// What each path between this machine and the server carried inside the window; divide by `window_ns`.
    #[serde(default)]
    pub paths: Vec<PathFacts>,
    /// A few details of each kind of error.
    pub error_samples: Vec<(ErrorKind, String)>,
    /// What a write stage wrote, or what a mix created and did not remove; empty after others.
    #[serde(skip)]
    pub data_set: DataSet,
    /// Which generation of the content lies where, after a fill or a mix.
    #[serde(skip)]
    pub written: ContentSummary,
    /// The same, for who does not have it: a stage of another process.
    pub left: Left,
    /// What a check found.
    pub checked: CheckedBlocks,
    /// The first ranges that did not hold what was written.
    pub corrupt: Vec<CorruptRange>,
    /// The kind of reactor that was used.
    pub backend: Backend,
    /// Why it is not io_uring, when that was wanted and refused.
    pub refusal: Option<String>,
    /// Processor time of each worker's thread inside the window, in nanoseconds.
    pub worker_cpu_ns: Vec<u64>,
    /// The first worker's start on the clock of its process's reactors, in nanoseconds.
    pub started_ns: u64,
    /// Between the first and the last worker's start, in nanoseconds.
    pub start_skew_ns: u64,
    /// The longest that a worker began late because it waited for a core, in nanoseconds; 0 where the kernel does not tell.
    #[serde(default)]
    pub start_core_wait_ns: u64,
    /// The longest that a worker woke too late inside the window, in nanoseconds: its process was stopped, the machine stood
    /// still, or it got no core.
    #[serde(default)]
    pub longest_pause_ns: u64,
    /// Every lane did its share to the end.
    pub exhausted: bool,
    /// [`crate::Control::stop`] ended the stage.
    pub stopped: bool,
    /// [`StagePlan::error_limit`] ended the stage.
    pub error_limit_reached: bool,
    /// What a [`crate::StageWorkload::Job`] did besides; empty after others.
    pub job: JobFacts,
    /// What the workers' threads used of the processors.
    pub usage: Usage,
    /// Intervals of a worker that the observer did not see because it was late; they are in the total.
    pub unseen_intervals: u64,
}

impl StageResult {
    /// Payload bytes a second over the window.
    pub fn bytes_per_s(&self) -> f64 {
        per_second(self.total.bytes(), self.window_ns)
    }

    /// Processor time of all workers' threads inside the window, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.worker_cpu_ns.iter().sum()
    }

    /// What is known of a stage of which only intervals came, and no result.
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
            started_ns: 0,
            start_skew_ns: 0,
            start_core_wait_ns: 0,
            longest_pause_ns: 0,
            exhausted: false,
            stopped: false,
            error_limit_reached: false,
            job: JobFacts::default(),
            usage: Usage::default(),
            unseen_intervals: 0,
        }
    }

    /// Successful operations a second over the window.
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
    /// The plan asks for something that cannot be done.
    #[error("the stage cannot be run: {0}")]
    Plan(&'static str),
    /// No reactor.
    #[error("worker {worker} has no reactor: {error}")]
    Reactor {
        /// The worker.
        worker: u32,
        /// Why.
        error: reactor::OpenError,
    },
    /// A worker's session could not be opened.
    #[error("{error}")]
    Connect {
        /// The worker.
        worker: u32,
        /// Why.
        error: DriverError,
    },
    /// A thread could not be started.
    #[error("worker {worker} cannot be started: {error}; use fewer workers")]
    Thread {
        /// The worker.
        worker: u32,
        /// Why.
        error: std::io::Error,
    },
    /// A worker cannot be put where its job wants it.
    #[error("worker {worker}: {text}: {error}")]
    Placement {
        /// The worker.
        worker: u32,
        /// What could not be done.
        text: String,
        /// Why.
        error: std::io::Error,
    },
    /// A worker panicked: a defect of this program.
    #[error("worker {worker} panicked: {message}; this is a defect of manometer")]
    Panicked {
        /// The worker.
        worker: u32,
        /// What it said.
        message: String,
    },
    /// [`crate::Control::stop`] was called before the stage began.
    #[error("stopped before the stage began")]
    Stopped,
}
