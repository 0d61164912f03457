//! Numbers of a job that its state needs repeatedly.

use experiment::{Amount, Commits};

use super::stream::{Overwriting, StreamPlan};
use crate::{JobFile, JobLoad};

/// How much a worker does, and its additional work.
#[derive(Debug)]
pub(super) struct Script {
    /// Bytes over all loops; reads and writes count, or trims if there is nothing else.
    pub limit_bytes: u64,
    pub limit_ops: u64,
    pub counts: [bool; 3],
    /// Minimum number of passes over the region.
    pub loops: u64,
    /// Whether the files are removed between two passes.
    pub unlinks: bool,
    /// Whether more passes follow until the amount is reached.
    pub goes_round: bool,
    /// The largest block.
    pub most: u64,
    pub commits: Commits,
    pub comparing: Comparing,
    pub max_latency_ns: u64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Comparing {
    /// A check is requested.
    pub any: bool,
    /// Compare the reads of a load that does not write.
    pub reads: bool,
    /// Read back what was written.
    pub back: bool,
    /// Write nothing: read what would be written.
    pub only: bool,
    /// Read back after this many writes; 0 for the end.
    pub backlog: u64,
    pub batch: u64,
    /// Non-zero if a pass may overwrite parts of its own blocks such that the rest of the block cannot be compared:
    /// those parts start and end at multiples of this many bytes. 0 if this cannot happen, or the rest can be compared.
    pub overlap_step: u64,
}

impl Script {
    pub(super) fn new(load: &JobLoad, files: &[JobFile], plan: &StreamPlan, replays: bool) -> Script {
        let job = &*load.job;
        let region = &job.region;
        let whole: u64 = files.iter().map(|file| file.length).fold(0, u64::saturating_add);
        let goes_round = region.io_bytes.of(whole) > 0;
        let amount = match (region.io_bytes.of(whole), region.size) {
            (0, Amount::Bytes(bytes)) if bytes > 0 && job.files.bytes > 0 => bytes,
            (0, _) => whole,
            (bytes, _) => bytes,
        };
        let loops = u64::from(job.ending.loops.max(1));
        let endless = job.ending.time_based;
        let limit_bytes = if endless || replays { u64::MAX } else { amount.saturating_mul(loops) };
        let limit_ops = match region.operations {
            0 => u64::MAX,
            _ if endless => u64::MAX,
            operations => operations.saturating_mul(loops),
        };
        let mut drawn = [false; 3];
        plan.directions().for_each(|direction| drawn[direction] = true);
        let counts = match (job.pattern.trim_then_write, drawn) {
            (true, _) => [false, true, false],
            (false, [false, false, _]) => [false, false, true],
            _ => [true, true, false],
        };
        let writes = drawn[1] || job.pattern.trim_then_write || replays;
        let check = job.check.as_ref();
        // A replay is not drawn, so it cannot be redrawn.
        let back = check.is_some_and(|check| check.after_writes && !check.only) && writes && !replays;
        let framed = check.is_some_and(|check| check.method != experiment::CheckMethod::Fresh);
        let comparing = Comparing {
            any: check.is_some(),
            reads: check.is_some() && !writes,
            back,
            only: check.is_some_and(|check| check.only),
            backlog: check.filter(|_| back).map_or(0, |check| check.backlog),
            batch: check.map_or(0, |check| check.backlog_batch),
            overlap_step: match plan.overwriting(&job.pattern) {
                Overwriting::InPart(step) if framed && back => step,
                _ => 0,
            },
        };
        Script {
            limit_bytes,
            limit_ops,
            counts,
            loops,
            unlinks: job.files.layout.unlink_each_loop,
            goes_round,
            most: plan.rules.grain.most(),
            commits: job.commits,
            comparing,
            max_latency_ns: (job.ending.max_latency_s * 1e9) as u64,
        }
    }
}
