//! The cost of jobs, which end by amount and run concurrently with others.

use metrics::OpKind;

use crate::job::{Amount, Job, WITHOUT_LIMIT_S};
use crate::kind::TargetKind;
use crate::plan::{Cell, Plan};

/// Minimum and maximum duration of a job's ramp and load, in seconds. If it ends by amount alone, only the ramp is
/// known.
pub(super) fn seconds(cell: &Cell, job: &Job) -> (f64, f64) {
    let ramp_s = cell.stages.warm_up_s;
    match (job.ending.runtime_s, job.ending.time_based) {
        (0.0, _) => (ramp_s, ramp_s),
        (runtime_s, true) => (ramp_s + runtime_s, ramp_s + runtime_s),
        (runtime_s, false) => (ramp_s, ramp_s + runtime_s),
    }
}

/// Bytes that a job writes, or `None` if time or the file system's size decides. `share` is the share of writes in the
/// bytes moved.
pub(super) fn written(cell: &Cell, job: &Job, share: f64) -> Option<u64> {
    let region = &job.region;
    let amount = match (region.io_bytes, region.size) {
        (Amount::Bytes(bytes), _) if bytes > 0 => bytes,
        (Amount::Bytes(_), Amount::Bytes(bytes)) if bytes > 0 => bytes,
        _ => return None,
    };
    if job.ending.time_based || region.fill_device || region.operations > 0 || job.replay.is_some() {
        return None;
    }
    let loops = u64::from(job.ending.loops.max(1)) * u64::from(cell.workload.jobs);
    Some((amount.saturating_mul(loops) as f64 * share) as u64)
}

/// Bytes written before a job to lay out missing files that it reads.
pub(super) fn laid_out(kind: Option<&TargetKind>, cell: &Cell, job: &Job) -> u64 {
    let reads = cell.workload.ops.iter().any(|weighted| weighted.op == OpKind::Read);
    let holds_files = kind.is_some_and(|kind| kind.own_place && !kind.objects);
    if holds_files && job.files.layout.create && (reads || job.files.layout.overwrite) {
        cell.workload.files().saturating_mul(cell.workload.file_bytes())
    } else {
        0
    }
}

impl Plan {
    /// Number of jobs that end only when they have moved their amount, however long that takes.
    pub fn jobs_without_limit(&self) -> usize {
        self.cells.iter().filter(|cell| cell.workload.ends_by_itself() && has_no_limit(cell)).count()
    }
}

fn has_no_limit(cell: &Cell) -> bool {
    cell.stages.measure_at_most_s >= WITHOUT_LIMIT_S
}
