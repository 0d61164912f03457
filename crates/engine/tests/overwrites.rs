//! Overwrites change the content, so that overwrites lost or misplaced by a target are detected, and none is free for a
//! target that deduplicates.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use drivers::{Op, Sink};
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule, VisitOrder};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::{ErrorKind, OpKind};
use support::memory::{MemoryDriver, Overwrites};
use support::{LogDriver, jobs, ms, ok, plan, run};

const BLOCK: u64 = 256 << 10;
const DATA_SET: u64 = 64 << 20;
const FILES: DataShape = DataShape::Files { file_bytes: 8 << 20, block_bytes: BLOCK };
const OBJECTS: DataShape = DataShape::Objects { object_bytes: BLOCK };

/// Eight lanes write the data set once and part of it again, in operations of a millisecond.
fn write(driver: &MemoryDriver, shape: DataShape) -> StageResult {
    let workload = StageWorkload::Write { shape, limit_bytes: DATA_SET };
    let result =
        run(driver, &StagePlan { workers: 2, lanes_per_worker: 4, window: ms(53), workload, ..plan() });
    assert_eq!((result.total.failed(), result.data_set.bytes()), (0, DATA_SET));
    assert!(driver.writes() > DATA_SET / BLOCK * 3 / 2, "the data set wrapped");
    result
}

fn read_back(driver: &MemoryDriver, data_set: DataSet) -> StageResult {
    let block_bytes = matches!(data_set.shape(), DataShape::Files { .. }).then_some(BLOCK);
    let workload = StageWorkload::Read { data_set, block_bytes, order: VisitOrder::Sequential };
    let (stop, sink) = (StopRule::Exhausted, Sink::Verify);
    run(driver, &StagePlan { workers: 3, lanes_per_worker: 2, stop, workload, sink, ..plan() })
}

#[test]
fn a_data_set_that_was_written_again_in_part_reads_back_right() {
    for shape in [FILES, OBJECTS] {
        let driver = MemoryDriver::default();
        let wrote = write(&driver, shape);
        let read = read_back(&driver, wrote.data_set);
        assert_eq!((read.total.ok(), read.total.failed()), (DATA_SET / BLOCK, 0), "{shape:?}");
    }
}

#[test]
fn lost_and_misplaced_overwrites_are_corrupt() {
    for shape in [FILES, OBJECTS] {
        let wrong = [
            // The server keeps the first version of everything.
            Overwrites::Lost { every: 1 },
            Overwrites::Lost { every: 10 },
            Overwrites::Misplaced { every: 10 },
        ];
        for overwrites in wrong {
            let driver = MemoryDriver::default();
            driver.overwrites(overwrites);
            let wrote = write(&driver, shape);
            let overwritten = driver.writes() - DATA_SET / BLOCK;
            let read = read_back(&driver, wrote.data_set);
            let kind = if shape == FILES { OpKind::Read } else { OpKind::Get };
            let corrupt = read.total.op(kind).unwrap().errors[ErrorKind::Corrupt as usize];
            let expected = match overwrites {
                Overwrites::Lost { every } => overwritten / every..=overwritten / every,
                // The content of the other place is lost as well, unless it was to be rewritten.
                Overwrites::Misplaced { every } => overwritten / every..=2 * (overwritten / every),
            };
            assert!(expected.contains(&corrupt), "{shape:?} {overwrites:?}: {corrupt}, not {expected:?}");
        }
    }
}

/// How often a range was written with each generation.
fn written(ops: &[Op]) -> HashMap<(u64, u64), BTreeMap<u32, u64>> {
    let mut ranges: HashMap<_, BTreeMap<u32, u64>> = HashMap::new();
    for op in ops.iter().filter(|op| matches!(op.kind, OpKind::Write | OpKind::Put)) {
        *ranges.entry((op.object, op.offset)).or_default().entry(op.generation & 0xFFFF).or_default() += 1;
    }
    ranges
}

#[test]
fn each_pass_writes_another_generation() {
    for shape in
        [DataShape::Files { file_bytes: 40, block_bytes: 10 }, DataShape::Objects { object_bytes: 10 }]
    {
        let driver = LogDriver::new(|_, _| None);
        let workload = StageWorkload::Write { shape, limit_bytes: 160 };
        run(&driver, &StagePlan { lanes_per_worker: 2, window: ms(100), workload, ..plan() });
        for (range, generations) in written(&driver.asked()) {
            assert!(generations.len() > 4, "{range:?} was written in several passes");
            assert!(generations.values().all(|times| *times == 1), "{range:?}: {generations:?}");
            assert_eq!(
                generations.keys().copied().collect::<Vec<_>>(),
                (0..generations.len() as u32).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn an_operation_that_is_repeated_for_ever_is_another_each_time() {
    let driver = LogDriver::new(|_, _| None);
    let workload = StageWorkload::Repeat { kind: OpKind::Put, bytes: 10 };
    run(&driver, &StagePlan { window: ms(50), workload, ..plan() });
    let generations: BTreeSet<u32> = driver.asked().iter().map(|op| op.generation).collect();
    assert_eq!(generations.len(), 50);
}

/// Shares of 65536 and 32768 blocks: as many as there are generations.
#[test]
fn a_pass_as_long_as_there_are_generations_does_not_write_the_same_again() {
    let blocks = 1 << 16;
    let shape = DataShape::Files { file_bytes: blocks * 16, block_bytes: 16 };
    let mix = Mix {
        data_set: DataSet::laid_out(shape, 1),
        ops: vec![WeightedOp { op: OpKind::Write, weight: 1.0 }],
        access: Access::Sequential,
        block_sizes: vec![WeightedSize { bytes: 16, weight: 1.0 }],
        fsync_every: 0,
        batch_size: 10,
        think: None,
        on_own: false,
        verify: false,
        generation: 3,
        seed: 17,
    };
    let driver = LogDriver::new(|_, _| None);
    let window = ms(2 * blocks);
    run(&driver, &StagePlan { window, workload: StageWorkload::Mix(mix), ..plan() });
    assert_mostly_new(&driver.asked(), blocks);

    let driver = LogDriver::new(|_, _| None);
    let mut job = jobs::job();
    job.ending.loops = 2;
    let load = jobs::load(job, &[(OpKind::Write, 1.0)], &[4096 << 15]);
    run(&driver, &jobs::job_plan(load, 1));
    assert_mostly_new(&driver.asked(), 1 << 15);
}

fn assert_mostly_new(ops: &[Op], blocks: u64) {
    let ranges = written(ops);
    assert_eq!(ranges.len() as u64, blocks);
    let again = ranges.values().filter(|generations| generations.values().any(|times| *times > 1)).count();
    assert!(again < 20, "{again} of {blocks} blocks were given the content that they had");
}

#[test]
fn a_commit_that_failed_leaves_the_file_in_doubt_and_nothing_else() {
    // One lane, two files of four blocks: create, 4 writes, commit, create, 4 writes, commit; then without creating.
    let shape = DataShape::Files { file_bytes: 40, block_bytes: 10 };
    let driver = LogDriver::new(|number, op| {
        (op.kind == OpKind::Commit && number == 16).then_some(ErrorKind::VerifierChanged)
    });
    let workload = StageWorkload::Write { shape, limit_bytes: 80 };
    let result = run(&driver, &StagePlan { window: ms(19), workload, ..plan() });
    assert_eq!(ok(&result, OpKind::Commit), 2);
    // What the closing commit made durable belongs to the second pass again.
    let driver = LogDriver::new(|_, _| None);
    let workload = StageWorkload::Read {
        data_set: result.data_set,
        block_bytes: Some(10),
        order: VisitOrder::Sequential,
    };
    run(&driver, &StagePlan { stop: StopRule::Exhausted, workload, sink: Sink::Verify, ..plan() });
    let generations: Vec<u32> = driver.asked().iter().map(|op| op.generation).collect();
    let unchecked = Op::UNCHECKED;
    assert_eq!(generations, [1, 1, unchecked, unchecked, 0, 0, 0, 0]);
}
