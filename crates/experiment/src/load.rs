//! What is done to a target: the properties common to all loads, and the three kinds of load.
//!
//! Code that reads plans queries a [`Workload`]; only code that builds a load from it needs to know the kind.

use std::borrow::Cow;

use content::SizeDistribution;
use metrics::OpKind;
use serde::{Deserialize, Serialize};

use crate::job::{Job, Placement, Think};
use crate::pass::Pass;
use crate::plan::{Access, Arrivals, WeightedOp, WeightedSize};
use crate::stored_workload::StoredWorkload;
use crate::user_files::{ExistingTree, UserFiles};

/// What is done to a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredWorkload", into = "StoredWorkload")]
pub struct Workload {
    /// Operations and their weights, which add up to 1. `read` and `write` work on ranges of files, block devices and
    /// (`read` only) objects; `put` and `get` on whole objects.
    pub ops: Vec<WeightedOp>,
    /// Operations that each job keeps in flight.
    pub queue_depth: u32,
    /// Workers: threads with their own connections.
    pub jobs: u32,
    /// When operations are scheduled to start.
    pub arrivals: Arrivals,
    /// With a rate: operations that may wait for a free lane; excess ones are shed and counted.
    pub backlog_limit: u64,
    /// Destination of the payload of unverified reads: `buffer` or `discard`.
    pub sink: String,
    /// Maximum duration of an operation, in seconds.
    pub op_timeout_s: f64,
    /// Which operation comes next, where, and what data it writes.
    pub load: Load,
}

/// How a worker's lanes get their operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Each lane draws its own operations, in places of its own.
    Mix(Box<MixLoad>),
    /// The worker's lanes share one stream of operations over named files: a job.
    Stream(Box<Job>),
    /// Each lane performs the same steps on each of its numbered files once.
    Pass(Box<Pass>),
}

/// Maximum number of objects in one batch delete.
pub const MAX_BATCH: u32 = 1000;
/// Objects in one batch delete unless the experiment says otherwise.
pub(crate) const USUAL_BATCH: u32 = 100;

/// A load whose lanes draw their operations independently, over a data set that the run created or the user named.
#[derive(Clone, Debug, PartialEq)]
pub struct MixLoad {
    /// Which block or object comes next.
    pub access: Access,
    /// Sizes of reads and writes and their weights, which add up to 1.
    pub block_sizes: Vec<WeightedSize>,
    /// One commit (fsync) per this many writes of a lane; 0 for never.
    pub fsync_every: u32,
    /// Whether the commit is an fdatasync, where the target makes that distinction.
    pub fdatasync: bool,
    /// Objects that one batch delete removes, 1 to [`MAX_BATCH`].
    pub batch_size: u32,
    /// Pauses of each lane.
    pub think: Option<Think>,
    /// Files or objects in the data set. 1 for block devices.
    pub files: u64,
    /// Size of each, in bytes, the mean if they differ; for block devices and existing files the part to use, 0 meaning all
    /// of it.
    pub file_bytes: u64,
    /// How their sizes differ, if they do.
    pub sizes: Option<SizeDistribution>,
    /// Names of the files, if the user gave them.
    pub user_files: Option<UserFiles>,
    /// Share of each 4 KiB that compresses to nothing, 0 to 1.
    pub compressible: f64,
    /// Share of duplicate 4 KiB chunks, 0 to 1.
    pub dedupe: f64,
    /// Whether all reads are compared with what was written.
    pub verify: bool,
    /// Whether operations on whole files or objects work on those that the same lane created, instead of a data set.
    pub on_own: bool,
    /// Cores of the workers; without it, each gets one of the cores available to the process.
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

    /// A pass as the load of `jobs` workers with one lane each.
    pub fn of_pass(pass: Pass, jobs: u32, op_timeout_s: f64) -> Self {
        Workload {
            ops: pass.ops(),
            queue_depth: 1,
            jobs,
            arrivals: Arrivals::Closed,
            backlog_limit: 1,
            sink: "buffer".to_owned(),
            op_timeout_s,
            load: Load::Pass(Box::new(pass)),
        }
    }

    /// Whether some operation satisfies the predicate.
    pub fn does(&self, is: impl Fn(OpKind) -> bool) -> bool {
        self.ops.iter().any(|weighted| is(weighted.op))
    }

    /// Whether it changes the content of files or objects, or the set of them. In a tree that exists nothing is changed:
    /// operations that otherwise create what they use take what is there.
    pub fn changes_data(&self) -> bool {
        self.tree().is_none() && self.does(OpKind::changes_data)
    }

    /// Whether it creates or removes files or objects.
    pub fn makes_or_removes(&self) -> bool {
        self.tree().is_none() && self.does(OpKind::makes_or_removes)
    }

    /// The load from which its lanes draw independently, if it is of that kind.
    pub fn mix(&self) -> Option<&MixLoad> {
        match &self.load {
            Load::Mix(mix) => Some(mix),
            Load::Stream(_) | Load::Pass(_) => None,
        }
    }

    /// The same, mutable.
    pub fn mix_mut(&mut self) -> Option<&mut MixLoad> {
        match &mut self.load {
            Load::Mix(mix) => Some(mix),
            Load::Stream(_) | Load::Pass(_) => None,
        }
    }

    /// The job whose operations a worker's lanes share: for its name, files and logs.
    pub fn stream(&self) -> Option<&Job> {
        match &self.load {
            Load::Stream(job) => Some(job),
            Load::Mix(_) | Load::Pass(_) => None,
        }
    }

    /// The same, mutable.
    pub fn stream_mut(&mut self) -> Option<&mut Job> {
        match &mut self.load {
            Load::Stream(job) => Some(job),
            Load::Mix(_) | Load::Pass(_) => None,
        }
    }

    /// The pass over numbered files.
    pub fn pass(&self) -> Option<&Pass> {
        match &self.load {
            Load::Pass(pass) => Some(pass),
            Load::Mix(_) | Load::Stream(_) => None,
        }
    }

    /// The same, mutable.
    pub fn pass_mut(&mut self) -> Option<&mut Pass> {
        match &mut self.load {
            Load::Pass(pass) => Some(pass),
            Load::Mix(_) | Load::Stream(_) => None,
        }
    }

    /// Which block or object comes next; for a job, the closest named pattern.
    pub fn access(&self) -> Access {
        match &self.load {
            Load::Mix(mix) => mix.access,
            Load::Stream(job) => job.access(),
            Load::Pass(_) => Access::Sequential,
        }
    }

    /// Sizes of reads and writes and their weights, which add up to 1. For a range of sizes, its ends.
    pub fn block_sizes(&self) -> Cow<'_, [WeightedSize]> {
        match &self.load {
            Load::Mix(mix) => Cow::Borrowed(&mix.block_sizes),
            Load::Stream(job) => Cow::Owned(job.weighted_sizes(&self.ops)),
            Load::Pass(pass) => Cow::Owned(vec![WeightedSize { bytes: pass.record(), weight: 1.0 }]),
        }
    }

    /// One commit per this many writes; 0 for never.
    pub fn commit_every(&self) -> u32 {
        match &self.load {
            Load::Mix(mix) => mix.fsync_every,
            Load::Stream(job) => job.commits.fsync_every.max(job.commits.fdatasync_every),
            Load::Pass(pass) => u32::from(pass.fsync),
        }
    }

    /// Whether the commit is an fdatasync, where the target makes that distinction.
    pub fn fdatasync(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.fdatasync,
            Load::Stream(job) => job.commits.fdatasync_every > 0,
            Load::Pass(_) => false,
        }
    }

    /// Objects that one batch delete removes, if there are any.
    pub fn batch_size(&self) -> Option<u32> {
        self.mix().filter(|_| self.does(|op| op == OpKind::BatchDelete)).map(|mix| mix.batch_size)
    }

    /// Pauses: of each lane independently, or of a job's whole worker.
    pub fn think(&self) -> Option<&Think> {
        match &self.load {
            Load::Mix(mix) => mix.think.as_ref(),
            Load::Stream(job) => job.pace.think.as_ref(),
            Load::Pass(_) => None,
        }
    }

    /// The files that a mix has by name; a job's names are in the [`Job`].
    pub fn user_files(&self) -> Option<&UserFiles> {
        self.mix()?.user_files.as_ref()
    }

    /// The tree that exists and is only read, if that is its data.
    pub fn tree(&self) -> Option<&ExistingTree> {
        self.user_files()?.tree.as_ref()
    }

    /// Number of files or objects that it uses; 0 for those of a tree, which only the target knows.
    pub fn files(&self) -> u64 {
        match &self.load {
            Load::Mix(mix) => mix.files,
            Load::Stream(job) => job.all_files(self.jobs),
            Load::Pass(pass) => u64::from(pass.files) * u64::from(self.jobs) * u64::from(self.queue_depth),
        }
    }

    /// Size of each, in bytes, the mean if they differ; 0 if it is determined at the target.
    pub fn file_bytes(&self) -> u64 {
        match &self.load {
            Load::Mix(mix) => mix.file_bytes,
            Load::Stream(job) => job.known_file_bytes(),
            Load::Pass(pass) => pass.file_bytes,
        }
    }

    /// Max size of a file or object, in bytes; 0 if it is determined at the target.
    pub fn max_file_bytes(&self) -> u64 {
        self.sizes().map_or_else(|| self.file_bytes(), SizeDistribution::max_bytes)
    }

    /// How the sizes of a mix's files or objects differ, if they do.
    pub fn sizes(&self) -> Option<&SizeDistribution> {
        self.mix()?.sizes.as_ref()
    }

    /// Share of each 4 KiB that compresses to nothing, 0 to 1.
    pub fn compressible(&self) -> f64 {
        match &self.load {
            Load::Mix(mix) => mix.compressible,
            Load::Stream(job) => (job.content.compress_percent / 100.0).clamp(0.0, 1.0),
            Load::Pass(_) => 0.0,
        }
    }

    /// Share of duplicate data in what is written, 0 to 1.
    pub fn dedupe(&self) -> f64 {
        match &self.load {
            Load::Mix(mix) => mix.dedupe,
            Load::Stream(job) => (job.content.dedupe_percent / 100.0).clamp(0.0, 1.0),
            Load::Pass(_) => 0.0,
        }
    }

    /// Whether reads are compared with what was written.
    pub fn verifies(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.verify,
            Load::Stream(job) => job.check.is_some(),
            Load::Pass(pass) => pass.verify && self.does(OpKind::reads),
        }
    }

    /// Whether it works only on files or objects that its lanes create, without a data set.
    pub fn works_on_own(&self) -> bool {
        self.mix().is_some_and(|mix| mix.on_own)
    }

    /// Cores and memory of the workers, if requested.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.load {
            Load::Mix(mix) => mix.placement.as_ref(),
            Load::Stream(job) => Some(&job.placement).filter(|placement| **placement != Placement::default()),
            Load::Pass(_) => None,
        }
    }

    /// Whether it may end early: once it has moved its amount, or because of its own errors.
    pub fn ends_by_itself(&self) -> bool {
        matches!(self.load, Load::Stream(_) | Load::Pass(_))
    }

    /// Whether its files have their own names and sizes, and it creates missing ones.
    pub fn lays_out_files(&self) -> bool {
        matches!(self.load, Load::Stream(_) | Load::Pass(_))
    }

    /// Whether it does nothing but create its files.
    pub fn only_lays_out(&self) -> bool {
        self.stream().is_some_and(|job| job.files.layout.create_only)
    }

    /// Whether it drops its files' pages from this machine's memory before it starts.
    pub fn gives_up_pages(&self) -> bool {
        self.stream().is_some_and(|job| job.files.layout.invalidate)
    }

    /// Whether its writes are tracked while it runs, so that every read, and finally the data set, can be compared. A
    /// job compares by the content of the blocks instead.
    pub fn keeps_track(&self) -> bool {
        self.mix().is_some_and(|mix| mix.verify)
    }

    /// Whether lanes may be idle for reasons other than a slow target: pauses, batches, and calls outside any lane
    /// where files end.
    pub fn holds_lanes_back(&self) -> bool {
        match &self.load {
            Load::Mix(mix) => mix.think.is_some(),
            Load::Stream(_) => true,
            Load::Pass(pass) => pass.pause_s > 0.0,
        }
    }
}
