//! Jobs, and the operations they issue.

use std::sync::Arc;

use drivers::Op;
use engine::{JobFile, JobLoad, Schedule, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{BlockSizes, Directions, Job, SizeChoice, WeightedOp};
use metrics::OpKind;

use super::{LogDriver, ms, plan, run};

pub const KIB: u64 = 1024;

/// A job of 4 KiB blocks.
pub fn job() -> Job {
    Job { seed: 42, block_sizes: BlockSizes::default(), ..Job::default() }
}

pub fn random() -> Job {
    let mut job = job();
    job.pattern.random = true;
    job
}

pub fn sizes(choice: SizeChoice) -> BlockSizes {
    BlockSizes { sizes: Directions::all(choice), ..BlockSizes::default() }
}

pub fn weights(ops: &[(OpKind, f64)]) -> Vec<WeightedOp> {
    ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect()
}

pub fn load(job: Job, ops: &[(OpKind, f64)], files: &[u64]) -> JobLoad {
    let files = files.iter().zip(0..).map(|(bytes, number)| JobFile::whole(number, *bytes)).collect();
    JobLoad::new(Arc::new(job), weights(ops), vec![files])
}

/// One worker with this many lanes, until the amount is moved.
pub fn job_plan(load: JobLoad, lanes: u32) -> StagePlan {
    StagePlan {
        lanes_per_worker: lanes,
        window: ms(1_000_000_000),
        stop: StopRule::Exhausted,
        schedule: Schedule::of_job(&load.job),
        workload: StageWorkload::Job(load),
        ..plan()
    }
}

/// The operations issued to a target that answers each one after a millisecond.
pub fn asked_by(plan: &StagePlan) -> (Vec<Op>, StageResult) {
    let driver = LogDriver::new(|_, _| None);
    let result = run(&driver, plan);
    (driver.asked(), result)
}

pub fn asked(load: JobLoad) -> Vec<Op> {
    asked_by(&job_plan(load, 1)).0
}

/// Offsets in blocks of 4 KiB.
pub fn blocks(ops: &[Op]) -> Vec<u64> {
    ops.iter().map(|op| op.offset / 4096).collect()
}

/// A letter and the block of each operation: r0 w1 t2; c for a commit.
pub fn script(ops: &[Op]) -> String {
    let letter = |op: &Op| match op.kind {
        OpKind::Read => format!("r{}", op.offset / 4096),
        OpKind::Write => format!("w{}", op.offset / 4096),
        OpKind::Trim => format!("t{}", op.offset / 4096),
        _ => "c".to_owned(),
    };
    ops.iter().map(letter).collect::<Vec<_>>().join(" ")
}
