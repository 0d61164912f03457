//! The form of a workload in results files and between agents: the fields of all kinds of load side by side.

use content::SizeDistribution;
use serde::{Deserialize, Serialize};

use crate::job::{Job, Placement, Think};
use crate::load::{Load, MixLoad, USUAL_BATCH, Workload};
use crate::pass::Pass;
use crate::plan::{Access, Arrivals, WeightedOp, WeightedSize};
use crate::user_files::UserFiles;

/// All files ever written have these fields. For a job or pass, the fields of a mix repeat its values for pure readers;
/// they are recomputed when it is read back.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredWorkload {
    ops: Vec<WeightedOp>,
    access: Access,
    block_sizes: Vec<WeightedSize>,
    queue_depth: u32,
    jobs: u32,
    arrivals: Arrivals,
    backlog_limit: u64,
    fsync_every: u32,
    fdatasync: bool,
    /// Only if there are batch deletes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch_size: Option<u32>,
    files: u64,
    file_bytes: u64,
    /// Only if files differ in size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sizes: Option<SizeDistribution>,
    compressible: f64,
    dedupe: f64,
    verify: bool,
    /// Only if the load works on what it creates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    on_own: bool,
    sink: String,
    op_timeout_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    placement: Option<Placement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_files: Option<UserFiles>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<Box<Job>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pass: Option<Box<Pass>>,
}

impl From<StoredWorkload> for Workload {
    fn from(stored: StoredWorkload) -> Self {
        let load = match (stored.job, stored.pass) {
            (Some(job), _) => Load::Stream(job),
            (None, Some(pass)) => Load::Pass(pass),
            (None, None) => Load::Mix(Box::new(MixLoad {
                access: stored.access,
                block_sizes: stored.block_sizes,
                fsync_every: stored.fsync_every,
                fdatasync: stored.fdatasync,
                batch_size: stored.batch_size.unwrap_or(USUAL_BATCH),
                files: stored.files,
                file_bytes: stored.file_bytes,
                sizes: stored.sizes,
                compressible: stored.compressible,
                dedupe: stored.dedupe,
                verify: stored.verify,
                on_own: stored.on_own,
                placement: stored.placement,
                think: stored.think,
                user_files: stored.user_files,
            })),
        };
        Workload {
            ops: stored.ops,
            queue_depth: stored.queue_depth,
            jobs: stored.jobs,
            arrivals: stored.arrivals,
            backlog_limit: stored.backlog_limit,
            sink: stored.sink,
            op_timeout_s: stored.op_timeout_s,
            load,
        }
    }
}

impl From<Workload> for StoredWorkload {
    fn from(workload: Workload) -> Self {
        let (job, pass) = match &workload.load {
            Load::Mix(_) => (None, None),
            Load::Stream(job) => (Some(job.clone()), None),
            Load::Pass(pass) => (None, Some(pass.clone())),
        };
        StoredWorkload {
            access: workload.access(),
            block_sizes: workload.block_sizes().into_owned(),
            fsync_every: workload.commit_every(),
            fdatasync: workload.fdatasync(),
            batch_size: workload.batch_size(),
            files: workload.files(),
            file_bytes: workload.file_bytes(),
            sizes: workload.sizes().cloned(),
            compressible: workload.compressible(),
            dedupe: workload.dedupe(),
            verify: workload.verifies(),
            on_own: workload.works_on_own(),
            placement: workload.mix().and_then(|mix| mix.placement.clone()),
            think: workload.mix().and_then(|mix| mix.think),
            user_files: workload.user_files().cloned(),
            job,
            pass,
            ops: workload.ops,
            queue_depth: workload.queue_depth,
            jobs: workload.jobs,
            arrivals: workload.arrivals,
            backlog_limit: workload.backlog_limit,
            sink: workload.sink,
            op_timeout_s: workload.op_timeout_s,
        }
    }
}
