//! What is done to a target: what every load has, and which of the two kinds of load it is.
//!
//! Who reads plans asks a [`Workload`] what it wants to know; only what builds a load from it asks for the kind.

use std::borrow::Cow;

use metrics::OpKind;
use serde::{Deserialize, Serialize};

use crate::job::{Job, Placement, Think};
use crate::plan::{Access, Arrivals, WeightedOp, WeightedSize};
use crate::stored_workload::StoredWorkload;

/// What is done to a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredWorkload", into = "StoredWorkload")]
pub struct Workload {
    /// Operations and how often each is drawn; the weights add up to 1. `read` and `write` are ranges of files,
    /// block devices and (`read` only) objects; `put` and `get` are whole objects.
    pub ops: Vec<WeightedOp>,
    /// Operations that each job keeps in flight.
    pub queue_depth: u32,
    /// Workers: threads with their own connections.
    pub jobs: u32,
    /// When operations are meant to start.
    pub arrivals: Arrivals,
    /// With a rate: operations that may wait for a free lane; what is beyond is shed and counted.
    pub backlog_limit: u64,
    /// Where the payload of reads goes, when it is not verified: `buffer` or `discard`.
    pub sink: String,
    /// The longest that an operation may take, in seconds.
    pub op_timeout_s: f64,
    /// Which operation comes next, where, and what is written.
    pub load: Load,
}

/// How the lanes of a worker come to their operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Each lane draws for itself, on places of its own.
    Mix(MixLoad),
    /// The lanes of a worker share one stream of operations over named files: a job.
    Stream(Box<Job>),
}

/// A load whose lanes draw their operations each for itself, over a data set that the run makes.
#[derive(Clone, Debug, PartialEq)]
pub struct MixLoad {
    /// Which block or object comes next.
    pub access: Access,
    /// Sizes of reads and writes and how often each is drawn; the weights add up to 1.
    pub block_sizes: Vec<WeightedSize>,
    /// After this many writes of a lane, one commit (fsync); 0 never.
    pub fsync_every: u32,
    /// The commit is an fdatasync where the target knows the difference.
    pub fdatasync: bool,
    /// Each lane pauses now and then.
    pub think: Option<Think>,
    /// Files or objects in the data set. 1 for block devices.
    pub files: u64,
    /// Size of each, in bytes; of a block device the part that is used, 0 meaning all of it.
    pub file_bytes: u64,
    /// Share of each 4 KiB that compresses to nothing, 0 to 1.
    pub compressible: f64,
    /// Share of 4 KiB chunks that occur elsewhere too, 0 to 1.
    pub dedupe: f64,
    /// Everything that is read is compared with what was written.
    pub verify: bool,
    /// Cores of the workers; without it each gets one of those that the process may use.
    pub placement: Option<Placement>,
}

impl Workload {
    /// A job as the load of `jobs` workers with `queue_depth` lanes each; `ops` are drawn by weight.
    pub fn of_job(job: Job, ops: Vec<WeightedOp>, queue_depth: u32, jobs: u32, op_timeout_s: f64) -> Self {
        Workload {
            ops,
            queue_depth,
            jobs,
            arrivals: Arrivals::Closed,
            backlog_limit: u64::from(queue_depth),
            sink: "buffer".to_owned(),
            op_timeout_s,
            load: Load::Stream(Box::new(job)),
        }
    }

    /// Some operation of it is so.
    pub fn does(&self, is: impl Fn(OpKind) -> bool) -> bool {
        self.ops.iter().any(|weighted| is(weighted.op))
    }

    /// What its lanes draw from, each for itself.
    pub fn mix(&self) -> Option<&MixLoad> {
        match &self.load {
            Load::Mix(mix) => Some(mix),
            Load::Stream(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn mix_mut(&mut self) -> Option<&mut MixLoad> {
        match &mut self.load {
            Load::Mix(mix) => Some(mix),
            Load::Stream(_) => None,
        }
    }

    /// The job whose operations the lanes of a worker share: for its name, its files, its logs.
    pub fn stream(&self) -> Option<&Job> {
        match &self.load {
            Load::Mix(_) => None,
            Load::Stream(job) => Some(job),
        }
    }

    /// The same, to be changed.
    pub fn stream_mut(&mut self) -> Option<&mut Job> {
        match &mut self.load {
            Load::Mix(_) => None,
            Load::Stream(job) => Some(job),
        }
    }

    /// Which block or object comes next; of a job the nearest that has a name.
    pub fn access(&self) -> Access {
        match &self.load {
            Load::Mix(mix) => mix.access,
            Load::Stream(job) => job.access(),
        }
    }

    /// Sizes of reads and writes and how often each is drawn; the weights add up to 1. Of a range of sizes its ends.
    pub fn block_sizes(&self) -> Cow<'_, [WeightedSize]> {
        match &self.load {
            Load::Mix(mix) => Cow::Borrowed(&mix.block_sizes),
            Load::Stream(job) => Cow::Owned(job.weighted_sizes(&self.ops)),
        }
    }

    /// After this many writes, one commit; 0 never.
    pub fn commit_every(&self) -> u32 {
        match &self.load {
            Load::Mix(mix) => mix.fsync_every,
            Load::Stream(job) => job.commits.fsync_every.max(job.commits.fdatasync_every),
        }
    }

    /// The commit is an fdatasync where the target knows the difference.
    pub fn fdatasync(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.fdatasync,
            Load::Stream(job) => job.commits.fdatasync_every > 0,
        }
    }

    /// Pauses: of each lane for itself, or of a job's whole worker.
    pub fn think(&self) -> Option<&Think> {
        match &self.load {
            Load::Mix(mix) => mix.think.as_ref(),
            Load::Stream(job) => job.pace.think.as_ref(),
        }
    }

    /// Files or objects that it uses.
    pub fn files(&self) -> u64 {
        match &self.load {
            Load::Mix(mix) => mix.files,
            Load::Stream(job) => job.all_files(self.jobs),
        }
    }

    /// Size of each, in bytes; 0 where it is found out at the target.
    pub fn file_bytes(&self) -> u64 {
        match &self.load {
            Load::Mix(mix) => mix.file_bytes,
            Load::Stream(job) => job.known_file_bytes(),
        }
    }

    /// Share of each 4 KiB that compresses to nothing, 0 to 1.
    pub fn compressible(&self) -> f64 {
        match &self.load {
            Load::Mix(mix) => mix.compressible,
            Load::Stream(job) => (job.content.compress_percent / 100.0).clamp(0.0, 1.0),
        }
    }

    /// Share of what is written that occurs elsewhere too, 0 to 1.
    pub fn dedupe(&self) -> f64 {
        match &self.load {
            Load::Mix(mix) => mix.dedupe,
            Load::Stream(job) => (job.content.dedupe_percent / 100.0).clamp(0.0, 1.0),
        }
    }

    /// What is read is compared with what was written.
    pub fn verifies(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.verify,
            Load::Stream(job) => job.check.is_some(),
        }
    }

    /// Cores and memory of the workers, where something is asked for.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.load {
            Load::Mix(mix) => mix.placement.as_ref(),
            Load::Stream(job) => Some(&job.placement).filter(|placement| **placement != Placement::default()),
        }
    }

    /// It may be over before its time: when it has moved its amount, or by its own errors.
    pub fn ends_by_itself(&self) -> bool {
        matches!(self.load, Load::Stream(_))
    }

    /// Its files have names and sizes of their own, and it makes those that are missing.
    pub fn lays_out_files(&self) -> bool {
        matches!(self.load, Load::Stream(_))
    }

    /// Making its files is all that it does.
    pub fn only_lays_out(&self) -> bool {
        self.stream().is_some_and(|job| job.files.layout.create_only)
    }

    /// Pages of its files that this machine's memory holds are given up before it begins.
    pub fn gives_up_pages(&self) -> bool {
        self.stream().is_some_and(|job| job.files.layout.invalidate)
    }

    /// What it writes is kept track of while it runs, so that every read can be compared and the data set afterwards.
    /// What a job compares, it compares by what stands in the blocks.
    pub fn keeps_track(&self) -> bool {
        self.mix().is_some_and(|mix| mix.verify)
    }

    /// Lanes may stand still for other reasons than that the target is slow: pauses and batches, and calls that are no
    /// lane's work where files end.
    pub fn holds_lanes_back(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.think.is_some(),
            Load::Stream(_) => true,
        }
    }
}
