//! A job's load: what the engine needs besides the plan's job, and what it reports afterwards.

use std::sync::Arc;

use drivers::CommitKind;
use experiment::{Directions, Distribution, Iolog, IologAction, IologOp, Job, WeightedOp};
use metrics::{ErrorKind, OpKind};

/// One stream of operations for each worker, which its lanes share.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLoad {
    /// The job specification.
    pub job: Arc<Job>,
    /// Read, write and trim with their weights.
    pub ops: Vec<WeightedOp>,
    /// The files of each worker, as they are when the load starts.
    pub files: Vec<Vec<JobFile>>,
    /// For each worker, the operations to replay in order instead of drawing them; assigned to workers round-robin.
    /// Empty if operations are drawn.
    pub replay: Vec<Arc<[ReplayOp]>>,
    /// Whether the last block of a file's part may be shorter than the others, so that every byte is moved: used for
    /// laying out files. Otherwise a remainder shorter than a block is left out.
    pub tails: bool,
}

impl JobLoad {
    /// A load with drawn operations.
    pub fn new(job: Arc<Job>, ops: Vec<WeightedOp>, files: Vec<Vec<JobFile>>) -> Self {
        JobLoad { job, ops, files, replay: Vec::new(), tails: false }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if !self.replay.is_empty() {
            return None;
        }
        let good = |op: &WeightedOp| op.op.is_of_ranges() && op.weight > 0.0 && op.weight.is_finite();
        if self.ops.is_empty() || !self.ops.iter().all(good) {
            return Some("a job reads, writes or trims, with weights above zero");
        }
        let blocks = &self.job.block_sizes;
        let choices = [&blocks.sizes.read, &blocks.sizes.write, &blocks.sizes.trim];
        if choices.into_iter().any(|choice| choice.least() == 0) {
            return Some("the block sizes must be above zero");
        }
        if self.job.region.zones.is_some_and(|zones| zones.bytes == 0 || zones.range == 0) {
            return Some("zones must be longer than zero");
        }
        if self.files.iter().any(Vec::is_empty) {
            return Some("a job needs at least one file for each worker");
        }
        let pattern = &self.job.pattern.distribution;
        [&pattern.read, &pattern.write, &pattern.trim].into_iter().find_map(|one| match one {
            Distribution::Zipf { theta, .. } if !(*theta > 0.0 && theta.is_finite()) => {
                Some("the exponent of a zipf distribution must be above zero")
            }
            Distribution::Pareto { h, .. } if !(*h > 0.0 && *h < 1.0) => {
                Some("the power of a pareto distribution must lie between zero and one")
            }
            Distribution::Zoned { zones } if !zones.iter().any(|zone| zone.percent > 0.0) => {
                Some("some zone must have a share above zero")
            }
            _ => None,
        })
    }

    /// Whether it replays operations at given times.
    pub(crate) fn has_times(&self) -> bool {
        self.replay.iter().any(|ops| ops.iter().any(|op| op.at_ns > 0))
    }
}

/// A file, or a device, of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Its number ([`experiment::FileNames::object`]).
    pub object: u64,
    /// Its size in bytes; for a file still to be created, its future size.
    pub bytes: u64,
    /// Start of the part that the worker uses, in bytes.
    pub start: u64,
    /// Length of that part, in bytes.
    pub length: u64,
}

impl JobFile {
    /// All of a file.
    pub fn whole(object: u64, bytes: u64) -> Self {
        JobFile { object, bytes, start: 0, length: bytes }
    }
}

/// An operation of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOp {
    /// Scheduled start, in nanoseconds since the replay began; all 0 means as fast as possible.
    pub at_ns: u64,
    /// Read, write, trim or commit.
    pub kind: OpKind,
    /// The kind of commit, if it is one.
    pub commit: CommitKind,
    /// Number of the file.
    pub object: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// The operations of an iolog on the files with these numbers, given in the order of its files.
pub fn replay_ops(log: &Iolog, objects: &[u64]) -> Arc<[ReplayOp]> {
    let op = |op: &IologOp| {
        let (kind, commit) = match op.action {
            IologAction::Read => (OpKind::Read, CommitKind::Usual),
            IologAction::Write => (OpKind::Write, CommitKind::Usual),
            IologAction::Trim => (OpKind::Trim, CommitKind::Usual),
            IologAction::Sync => (OpKind::Commit, CommitKind::Full),
            IologAction::DataSync => (OpKind::Commit, CommitKind::Data),
        };
        let object = objects.get(op.file as usize).copied().unwrap_or_default();
        ReplayOp { at_ns: op.at_ns, kind, commit, object, offset: op.offset, len: op.len }
    };
    log.ops.iter().map(op).collect()
}

/// Facts about a job in addition to the figures common to all loads.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct JobFacts {
    /// Operations by queue depth, that is the number in flight on their worker at their start, including themselves,
    /// inside the measured window: 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, 64 and more.
    pub depths: [u64; 7],
    /// The queue depth found for a latency target, as the minimum over the workers; `None` if there was no search.
    pub found_depth: Option<u32>,
    /// From the first start to the last end of operations that ended in the measured window, by direction; verification
    /// counts as reading.
    pub spans: Directions<Option<JobSpan>>,
    /// Whole commits (fsync) between writes inside the measured window; not those of a range, and not those at the end.
    pub fsyncs: u64,
    /// Failures that the job ignores. They are also counted as failed operations.
    pub overlooked: u64,
    /// Why workers ended early, one entry each.
    pub failures: Vec<WorkerFailure>,
    /// How often a worker waited for the consumer of the trace.
    pub trace_waits: u64,
}

/// A span of time, in nanoseconds since the measured window began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct JobSpan {
    /// Its start; operations that started before the window count from the window's start.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
}

/// Why a job's worker ended early.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WorkerFailure {
    /// The worker, from 0 within its stage.
    pub worker: u32,
    /// What happened.
    pub reason: Reason,
    /// One line of human-readable text.
    pub detail: String,
}

/// What ended a job's worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reason {
    /// An operation failed.
    Failed(OpKind, ErrorKind),
    /// An operation exceeded the maximum latency (`max_latency`).
    TooSlow,
    /// A direction fell below its minimum rate over a cycle (`rate_min`).
    BelowRate,
    /// No queue depth meets the latency target.
    NoDepth,
}

impl JobFacts {
    pub(crate) fn merge(&mut self, other: JobFacts) {
        for (mine, theirs) in self.depths.iter_mut().zip(other.depths) {
            *mine = mine.saturating_add(theirs);
        }
        self.found_depth = [self.found_depth, other.found_depth].into_iter().flatten().min();
        for (mine, theirs) in [
            (&mut self.spans.read, other.spans.read),
            (&mut self.spans.write, other.spans.write),
            (&mut self.spans.trim, other.spans.trim),
        ] {
            *mine = match (*mine, theirs) {
                (Some(a), Some(b)) => {
                    Some(JobSpan { from_ns: a.from_ns.min(b.from_ns), until_ns: a.until_ns.max(b.until_ns) })
                }
                (a, b) => a.or(b),
            };
        }
        self.fsyncs = self.fsyncs.saturating_add(other.fsyncs);
        self.overlooked = self.overlooked.saturating_add(other.overlooked);
        self.failures.extend(other.failures);
        self.trace_waits = self.trace_waits.saturating_add(other.trace_waits);
    }
}
