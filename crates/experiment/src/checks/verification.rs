//! What verification asks of a workload.

use metrics::OpKind::{self, Delete, Overwrite, Put, ReadFile, Trim, TruncateOverwrite, Write, WriteZeroes};

use super::{has, stage_fault};
use crate::plan::{Access, Cell, Prepare};
use crate::reader::Fields;

/// Operations that change blocks of the data set.
const BLOCK_WRITES: &[OpKind] = &[Write, WriteZeroes];

/// Content can be compared only where it is known.
pub(super) fn check(fields: &Fields<'_>, cell: &Cell) {
    // Puts combined with deletes create their own objects and leave the data set alone.
    let puts = has(cell, &[Put]) && !has(cell, &[Delete]) && !cell.workload.works_on_own();
    let writes = has(cell, BLOCK_WRITES) || puts;
    let (verify, stage) = (cell.workload.verifies(), cell.stages.verify);
    if stage && writes && !verify {
        stage_fault(
            fields,
            "verify",
            format!("the verify stage cannot know what the unverified writes of {} left", fields.what),
            "add verify: true to the workload, which then writes what can be checked",
        );
    }
    if !verify && !stage {
        return;
    }
    whole_files(fields, cell);
    if cell.stages.prepare == Prepare::Keep && writes {
        stage_fault(
            fields,
            "prepare",
            format!("{} would change data that is kept, and the next run could not verify it", fields.what),
            "write prepare: fill, or verify: false",
        );
    }
    if verify && !stage && !cell.workload.does(OpKind::can_be_verified) {
        stage_fault(
            fields,
            "verify",
            format!("{} reads nothing, so nothing is verified", fields.what),
            "add reads, or let the verify stage run (stages: {verify: true})",
        );
    }
    if has(cell, &[Trim]) {
        fields.fault(
            if fields.has("verify") { "verify" } else { "ops" },
            "trimmed data cannot be verified: its content is undefined",
            "verify a workload without trim; write-zeroes, where the target has it, can be verified",
        );
    }
    if verify && writes {
        verified_writes(fields, cell);
    }
}

/// Content is tracked by blocks, which whole files do not fit.
fn whole_files(fields: &Fields<'_>, cell: &Cell) {
    if cell.workload.works_on_own() {
        return;
    }
    let key = if fields.has("verify") { "verify" } else { "ops" };
    if let Some(op) = [Overwrite, TruncateOverwrite].into_iter().find(|op| has(cell, &[*op])) {
        fields.fault(
            key,
            format!("{op} cannot be verified: content is tracked by blocks, not by files"),
            "use write with block_size equal to file_size, or verify: false",
        );
    } else if has(cell, &[ReadFile]) && has(cell, BLOCK_WRITES) {
        fields.fault(
            key,
            "read-file cannot be verified while the file's blocks are written one by one",
            "use read, or verify: false",
        );
    }
}

/// Verified writes go through each lane's own share of the blocks, pass by pass: only then is the content of every
/// block known without remembering every write.
fn verified_writes(fields: &Fields<'_>, cell: &Cell) {
    let workload = &cell.workload;
    match workload.access() {
        Access::Sequential | Access::Shuffled | Access::Random | Access::Strided { .. } => {}
        Access::Zipf { .. } | Access::Pareto { .. } | Access::Hotspot { .. } => {
            fields.fault(
                "access",
                "verified writes cannot use a skewed access pattern: the content of each block would be unknown",
                "use access: random, shuffled, sequential or strided, or verify: false",
            );
        }
    }
    if workload.block_sizes().len() > 1 {
        fields.fault(
            "block_size",
            "verified writes need one block size: what lies where would not be known",
            "use one size, or verify: false",
        );
        return;
    }
    let block = workload.block_sizes().first().map_or(0, |size| size.bytes);
    let by_ranges = has(cell, BLOCK_WRITES);
    let blocks = match by_ranges {
        true if workload.file_bytes() == 0 => return,
        true => workload.files().saturating_mul(workload.file_bytes().div_ceil(block.max(1))),
        false => workload.files(),
    };
    let lanes = u64::from(workload.queue_depth) * u64::from(workload.jobs);
    if blocks < lanes {
        let things = if by_ranges { "blocks" } else { "objects" };
        fields.fault(
            "queue_depth",
            format!("verified writes need at least one of the {things} for each lane: there are {blocks} for {lanes}"),
            format!("use more {things}, or fewer lanes (queue_depth × jobs)"),
        );
    }
}
