//! Objects that a mix puts, copies and deletes: nothing is copied before it exists or after it may be gone.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use drivers::Op;
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{Access, WeightedOp};
use metrics::{ErrorKind, OpKind};
use support::{LogDriver, ms, plan, run};

/// A bucket: the numbers of its objects.
#[derive(Default)]
struct Bucket {
    there: BTreeSet<u64>,
    faults: Vec<String>,
}

impl Bucket {
    fn apply(&mut self, op: &Op) {
        match op.kind {
            OpKind::Put => drop(self.there.insert(op.object)),
            OpKind::Delete => drop(self.there.remove(&op.object)),
            OpKind::BatchDelete => self.there.retain(|object| !(op.object..=op.other).contains(object)),
            OpKind::Copy => {
                if !self.there.contains(&op.object) || self.there.contains(&op.other) {
                    self.faults.push(format!("{op:?}"));
                }
                self.there.insert(op.other);
            }
            _ => {}
        }
    }

    /// Every `lossy`-th operation ends without telling what it did, and half of these did nothing.
    fn answer(&mut self, number: u64, op: &Op, lossy: u64) -> Option<ErrorKind> {
        let lost = number % lossy == lossy - 1;
        if !lost || (number / lossy).is_multiple_of(2) {
            self.apply(op);
        }
        lost.then_some(ErrorKind::TimedOut)
    }
}

fn load(ops: &[(OpKind, f64)]) -> StagePlan {
    let mix = Mix {
        data_set: DataSet::laid_out(DataShape::Objects { object_bytes: 100 }, 4),
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access: Access::Random,
        block_sizes: Vec::new(),
        fsync_every: 0,
        batch_size: 10,
        think: None,
        on_own: false,
        verify: false,
        generation: 0,
        seed: 3,
    };
    let workload = StageWorkload::Mix(mix);
    StagePlan { workers: 1, lanes_per_worker: 3, workload, window: ms(3_600_000), ..plan() }
}

fn against_bucket(ops: &[(OpKind, f64)], count: u64, lossy: u64) -> (Bucket, Vec<Op>, StageResult) {
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let shared = Arc::clone(&bucket);
    let driver = LogDriver::new(move |number, op| shared.lock().unwrap().answer(number, op, lossy));
    let result = run(&driver, &StagePlan { stop: StopRule::Ops(count), ..load(ops) });
    let bucket = std::mem::take(&mut *bucket.lock().unwrap());
    (bucket, driver.asked(), result)
}

#[test]
fn copies_are_of_objects_that_are_there() {
    let ops = [(OpKind::Put, 0.2), (OpKind::Copy, 0.3), (OpKind::Delete, 0.5)];
    let (bucket, ops, result) = against_bucket(&ops, 20_000, u64::MAX);
    assert_eq!(bucket.faults, [""; 0]);
    assert_eq!(result.total.failed(), 0);
    let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
    assert_eq!(left, bucket.there);
    let copies: Vec<&Op> = ops.iter().filter(|op| op.kind == OpKind::Copy).collect();
    assert!(copies.len() > 4000, "{}", copies.len());
    assert!(copies.iter().all(|op| op.len == 100), "the size is known to the driver");
}

#[test]
fn the_first_copy_is_preceded_by_a_put() {
    let (bucket, ops, result) = against_bucket(&[(OpKind::Copy, 1.0)], 3000, u64::MAX);
    assert_eq!((bucket.faults.len(), bucket.there.len(), result.total.ok()), (0, 3000, 3000));
    let puts = ops.iter().filter(|op| op.kind == OpKind::Put).count();
    assert_eq!(puts, 3, "one for each lane");
}

#[test]
fn what_may_be_gone_is_not_copied() {
    for lossy in [3, 7, 50] {
        let ops = [(OpKind::Put, 0.3), (OpKind::Copy, 0.2), (OpKind::Delete, 0.5)];
        let bucket = Arc::new(Mutex::new(Bucket::default()));
        let shared = Arc::clone(&bucket);
        let driver = LogDriver::new(move |number, op| {
            let mut bucket = shared.lock().unwrap();
            // A lost copy may have made its target already.
            if op.kind == OpKind::Copy {
                bucket.there.remove(&op.other);
            }
            bucket.answer(number, op, lossy)
        });
        let result = run(&driver, &StagePlan { stop: StopRule::Ops(20_000), ..load(&ops) });
        let bucket = bucket.lock().unwrap();
        assert_eq!(bucket.faults, [""; 0], "one of {lossy}");
        let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
        assert!(bucket.there.is_subset(&left), "everything there is known");
    }
}

#[test]
fn a_batch_is_always_full() {
    let ops = [(OpKind::Put, 0.4), (OpKind::Copy, 0.1), (OpKind::Delete, 0.1), (OpKind::BatchDelete, 0.4)];
    for lossy in [u64::MAX, 50, 7] {
        let (bucket, asked, result) = against_bucket(&ops, 20_000, lossy);
        let batches: Vec<&Op> = asked.iter().filter(|op| op.kind == OpKind::BatchDelete).collect();
        // About nine of ten operations create, as nothing else can be removed ten at a time.
        assert!(batches.len() > 1000, "{}", batches.len());
        assert!(batches.iter().all(|op| op.other - op.object == 9));
        let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
        assert!(bucket.there.is_subset(&left), "everything there is known");
        if lossy == u64::MAX {
            assert_eq!((left, bucket.faults.len()), (bucket.there, 0));
        }
    }
}

#[test]
fn a_failed_batch_is_repeated() {
    let driver = LogDriver::new(|_, op| (op.kind == OpKind::BatchDelete).then_some(ErrorKind::AccessDenied));
    let load =
        StagePlan { stop: StopRule::Ops(300), ..load(&[(OpKind::BatchDelete, 0.5), (OpKind::Copy, 0.5)]) };
    let result = run(&driver, &load);
    let asked = driver.asked();
    for lane in 0..3 {
        let first = asked.iter().find(|op| op.lane == lane && op.kind == OpKind::BatchDelete).unwrap();
        let own = asked.iter().filter(|op| op.lane == lane);
        for op in own.skip_while(|op| op.kind != OpKind::BatchDelete) {
            match op.kind {
                OpKind::BatchDelete => assert_eq!((op.object, op.other), (first.object, first.other)),
                OpKind::Copy => assert!(op.object > first.other, "it may be gone"),
                _ => {}
            }
        }
    }
    let made = result.total.op(OpKind::Put).unwrap().ok + result.total.op(OpKind::Copy).unwrap().ok;
    assert_eq!(result.data_set.objects(), made, "what may be there is removed later");
}

#[test]
fn a_batch_has_a_bound() {
    for (batch_size, valid) in [(0, false), (1, true), (1000, true), (1001, false)] {
        let mut plan = StagePlan { stop: StopRule::Ops(10), ..load(&[(OpKind::BatchDelete, 1.0)]) };
        let StageWorkload::Mix(mix) = &mut plan.workload else { panic!("it is a mix") };
        mix.batch_size = batch_size;
        let driver = LogDriver::new(|_, _| None);
        let ran = engine::run_stage(&driver, &plan, &engine::Control::new(), &mut |_| {});
        assert_eq!(ran.is_ok(), valid, "{batch_size}");
    }
}
