//! What laying out a job's files takes on every target: which parts are read or filled before the load, and the stages that
//! do it.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{JobFile, JobLoad};
use experiment::{
    BlockSizes, Commits, Directions, FileService, Job, JobFiles, SizeChoice, WeightedOp, Workload,
};
use metrics::OpKind;

use super::TargetError;
use super::job::LayOutStage;

/// Bytes per operation while filling or pre-reading.
const LARGE_BLOCK: u64 = 1 << 20;
/// Files that each worker keeps open while it fills or pre-reads: it goes through them one by one.
pub(super) const OPEN_WHILE_PASSING: u32 = 16;

/// A stage that moves every byte of these parts once, a worker for each list; `None` when there are no bytes to move.
pub(super) fn stage(
    name: &'static str,
    job: &Job,
    direction: OpKind,
    lists: Vec<Vec<JobFile>>,
) -> Option<LayOutStage> {
    let bytes = lists.iter().flatten().map(|part| part.length).sum();
    (bytes > 0).then(|| LayOutStage { name, load: pass(job, direction, lists), bytes, opened: None })
}

/// The parts of files that a job's workers use, those that several use once.
pub(super) fn used_once(files: &[Vec<JobFile>]) -> Vec<JobFile> {
    let mut seen = BTreeSet::new();
    let used = files.iter().flatten();
    used.filter(|file| file.length > 0 && seen.insert((file.object, file.start))).copied().collect()
}

/// True when a load needs existing data: it reads, or overwrites it.
pub(super) fn needs_data(job: &Job, workload: &Workload) -> bool {
    let reads = workload.ops.iter().any(|weighted| weighted.op == OpKind::Read);
    reads || job.files.layout.overwrite || job.files.layout.pre_read
}

/// True when the job removes its files on a target whose files stay in place while they are used.
pub(super) fn unlinks(job: &Job) -> bool {
    job.files.layout.unlink || job.files.layout.unlink_each_loop
}

/// Refuses a job that trims, on a target that cannot.
pub(super) fn refuse_trims(job: &Job, workload: &Workload, protocol: &str) -> Result<(), TargetError> {
    let mut kinds = workload.ops.iter().map(|weighted| weighted.op);
    kinds.find(|op| *op == OpKind::Trim).map_or(Ok(()), |op| {
        Err(TargetError::Input(format!(
            "job {}: {protocol} has no {op} here; write rw=write, or use a file or a block device",
            job.name
        )))
    })
}

/// Refuses a job one of whose files is missing, unless it may create them; `file` names the first missing one.
pub(super) fn may_create(job: &Job, file: Option<String>) -> Result<(), TargetError> {
    file.filter(|_| !job.files.layout.create).map_or(Ok(()), |file| {
        Err(TargetError::Input(format!(
            "job {}: {file} is not there, and allow_file_create=0 lets none be made; make it, or take the option out",
            job.name
        )))
    })
}

/// A load that moves every byte of these parts of a job's files once; one list for each worker.
fn pass(job: &Job, direction: OpKind, lists: Vec<Vec<JobFile>>) -> JobLoad {
    let job = Job {
        name: job.name.clone(),
        first_number: job.first_number,
        seed: job.seed,
        files: JobFiles {
            names: job.files.names.clone(),
            service: FileService::Sequential,
            open: OPEN_WHILE_PASSING,
            ..JobFiles::default()
        },
        block_sizes: BlockSizes {
            sizes: Directions::all(SizeChoice::Fixed(LARGE_BLOCK)),
            ..BlockSizes::default()
        },
        commits: Commits {
            at_end: direction == OpKind::Write && job.files.layout.create_fsync,
            ..Commits::default()
        },
        content: job.content.clone(),
        ..Job::default()
    };
    let ops = vec![WeightedOp { op: direction, weight: 1.0 }];
    JobLoad { tails: true, ..JobLoad::new(Arc::new(job), ops, lists) }
}
