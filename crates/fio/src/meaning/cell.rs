//! A section as a job, with its surroundings in a cell.

use metrics::OpKind;

use super::asked::Asked;
use super::engines;
use super::{
    check, content, ending, files, logs, order, pace, placement, region, report, seed, sizes, steady,
};
use experiment::{BlockSizes, Job, Region, SizeChoice, TargetKind, WITHOUT_LIMIT_S};
use experiment::{Stages, SteadyRule, Target, WeightedOp, Workload};

/// Direct I/O blocks are multiples of this, in bytes.
const SECTOR_BYTES: u64 = 512;
/// Maximum number of clones of a section.
const MAX_CLONES: u32 = 4096;

/// The meaning of a section.
pub(crate) struct Meaning {
    /// The job of the first clone.
    pub job: Job,
    /// Operations and weights.
    pub ops: Vec<WeightedOp>,
    /// Operations in flight per clone.
    pub lanes: u32,
    /// Clones (`numjobs`).
    pub clones: u32,
    /// The target.
    pub target: Target,
    /// The times around the measurement.
    pub stages: Stages,
    /// Rule for ending early.
    pub steady: SteadyRule,
}

impl Meaning {
    /// The workload of `workers` clones, starting with number `first`.
    pub(crate) fn workload(&self, first: u32, workers: u32) -> Workload {
        let mut job = Job { first_number: first, ..self.job.clone() };
        if first > 0 {
            // As in fio, the title is the first clone's.
            job.report.title = None;
        }
        Workload::of_job(job, self.ops.clone(), self.lanes, workers, WITHOUT_LIMIT_S)
    }
}

/// Interprets a section. `number` is its index in the script, `clones_before` the number of workers before it.
pub(crate) fn meaning(asked: &Asked<'_>, number: usize, clones_before: u64) -> Meaning {
    let order = order::order(asked);
    let ops = order::ops(asked, &order);
    let (kind, engine) = engines::engine(asked);
    let block_sizes = sizes::block_sizes(asked);
    let used: Vec<OpKind> = ops.iter().map(|op| op.op).collect();
    let (least, most) = sizes::extremes(&block_sizes, &used);
    let mut job_files = files::files(asked, engine.maps_files);
    let target = engines::target(asked, engine, &order, &mut job_files.names, number);
    let depth = depth(asked);
    let queue = pace::queue(asked, depth);
    let region = region::region(asked, &job_files, least);
    region::check(asked, &region, &job_files, least);
    check_blocks(asked, kind, &block_sizes, &region, &used);
    // Files are named after the section; `name` is only a title for the figures, and only in a section of its own.
    let name = &*asked.section.name;
    let replay = logs::replay(asked);
    if engine.needs_size && nothing_to_do(&region, job_files.bytes) && replay.is_none() {
        asked.fault("size", "how much is to be moved is not said", "add size, as in size=1g");
    }
    let clones = clones(asked);
    let mut job = Job {
        name: name.to_owned(),
        seed: seed::of(asked, clones_before),
        check: check::check(asked, &order, &block_sizes),
        pattern: order::pattern(asked, &order, least == most),
        files: job_files,
        region,
        block_sizes,
        queue,
        commits: pace::commits(asked),
        pace: pace::pace(asked, &order),
        content: content::content(asked),
        ending: ending::ending(asked),
        replay,
        logs: logs::logs(asked, name),
        placement: placement::placement(asked),
        report: report::report(asked, engine.name, depth),
        ..Job::default()
    };
    region::within_files(asked, &mut job, clones);
    let mut stages = Stages::of_job(&job, asked.seconds("ramp_time", 1.0).unwrap_or(0.0));
    let steady = steady::steady(asked, &mut stages);
    let lanes = if engine.queues || queue.offload { depth } else { 1 };
    Meaning { job, ops, lanes, clones, target, stages, steady }
}

fn depth(asked: &Asked<'_>) -> u32 {
    match asked.count("iodepth") {
        Some(0) => {
            asked.fault("iodepth", "iodepth is 0", "write a number from 1 on");
            1
        }
        depth => depth.unwrap_or(1),
    }
}

fn clones(asked: &Asked<'_>) -> u32 {
    match asked.count("numjobs") {
        None => 1,
        Some(clones @ 1..=MAX_CLONES) => clones,
        Some(clones) => {
            let hint = format!("write a number from 1 to {MAX_CLONES}");
            asked.fault("numjobs", format!("numjobs is {clones}"), hint);
            1
        }
    }
}

fn nothing_to_do(region: &Region, file_bytes: u64) -> bool {
    let nothing = experiment::Amount::Bytes(0);
    region.size == nothing && file_bytes == 0 && !region.fill_device
}

/// Direct I/O requires blocks of whole sectors.
fn check_blocks(asked: &Asked<'_>, kind: &TargetKind, sizes: &BlockSizes, region: &Region, used: &[OpKind]) {
    if !kind.page_cache || !engines::is_direct(asked) {
        return;
    }
    let place = ["bssplit", "bsrange", "bs"].into_iter().find(|name| asked.has(name)).unwrap_or("bs");
    let of = |op: &OpKind| match op {
        OpKind::Read => &sizes.sizes.read,
        OpKind::Write => &sizes.sizes.write,
        _ => &sizes.sizes.trim,
    };
    let odd = |bytes: &u64| !bytes.is_multiple_of(SECTOR_BYTES);
    let all = used.iter().flat_map(|op| match of(op) {
        SizeChoice::Fixed(bytes) => vec![*bytes],
        SizeChoice::Range { least, most } => vec![*least, *most],
        SizeChoice::Split(sizes) => sizes.iter().map(|size| size.bytes).collect(),
    });
    let hint = format!("use multiples of {SECTOR_BYTES} bytes, or direct=0");
    if let Some(bytes) = all.filter(odd).min() {
        let text = format!("with direct=1 a block cannot have {bytes} bytes");
        asked.fault(place, text, hint);
    } else if sizes.unaligned {
        asked.fault(
            "bs_unaligned",
            "with direct=1 blocks cannot have any size",
            "take bs_unaligned out, or direct=1",
        );
    } else if let experiment::Amount::Bytes(offset) = region.offset
        && odd(&offset)
    {
        asked.fault("offset", format!("with direct=1 the offset cannot be {offset}"), hint);
    }
}
