//! What a mix creates, renames, links and removes: nothing is used before it exists or after it is gone.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use drivers::Op;
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{Access, WeightedOp};
use metrics::{ErrorKind, OpKind};
use support::{LogDriver, ms, plan, run};

const EVERYTHING: [(OpKind, f64); 12] = [
    (OpKind::Create, 0.15),
    (OpKind::Remove, 0.15),
    (OpKind::Rename, 0.15),
    (OpKind::Link, 0.1),
    (OpKind::Symlink, 0.1),
    (OpKind::Readlink, 0.05),
    (OpKind::Mkdir, 0.1),
    (OpKind::Rmdir, 0.05),
    (OpKind::Truncate, 0.05),
    (OpKind::Stat, 0.04),
    (OpKind::Access, 0.03),
    (OpKind::Chmod, 0.03),
];

/// A name space: what each number is.
#[derive(Default)]
struct Names {
    there: BTreeMap<u64, OpKind>,
    /// Objects of operations that ended without telling what they did.
    doubtful: BTreeSet<u64>,
    faults: Vec<String>,
}

impl Names {
    fn apply(&mut self, op: &Op) -> Option<ErrorKind> {
        use OpKind::{
            Access, Chmod, Create, Link, Mkdir, Readlink, Remove, Rename, Rmdir, Stat, Symlink, Truncate,
        };
        let there = self.there.get(&op.object).copied();
        let add = |names: &mut Self, object, kind| {
            names.there.insert(object, kind).map(|_| ErrorKind::AlreadyExists)
        };
        match (op.kind, there) {
            (Create | Mkdir | Symlink, _) => add(self, op.object, op.kind),
            (Link, Some(Create)) => add(self, op.other, Create),
            (Rename, Some(Create)) => {
                self.there.remove(&op.object);
                self.there.insert(op.other, Create);
                None
            }
            (Remove, Some(Create | Symlink)) | (Rmdir, Some(Mkdir)) => {
                self.there.remove(&op.object);
                None
            }
            (Truncate, Some(Create)) | (Readlink, Some(Symlink)) => None,
            // The data set's files.
            (Stat | Access | Chmod, None) if op.object < 4 => None,
            (_, None) => Some(ErrorKind::NotFound),
            (_, Some(_)) => Some(ErrorKind::Rejected),
        }
    }

    /// Answers an operation. Every `lossy`-th ends without telling what it did, and half of these did nothing.
    fn answer(&mut self, number: u64, op: &Op, lossy: Option<u64>) -> Option<ErrorKind> {
        if let Some(every) = lossy
            && number % every == every - 1
        {
            self.doubtful.extend([op.object, op.other]);
            if (number / every).is_multiple_of(2) {
                self.apply(op);
            }
            return Some(ErrorKind::TimedOut);
        }
        let error = self.apply(op);
        if error.is_some() && !self.doubtful.contains(&op.object) && !self.doubtful.contains(&op.other) {
            self.faults.push(format!("{op:?}: {error:?}"));
        }
        error
    }
}

fn load(ops: &[(OpKind, f64)]) -> StagePlan {
    let mix = Mix {
        data_set: DataSet::laid_out(DataShape::Files { file_bytes: 100, block_bytes: 10 }, 4),
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access: Access::Random,
        block_sizes: Vec::new(),
        fsync_every: 0,
        think: None,
        verify: false,
        generation: 0,
        seed: 3,
    };
    let workload = StageWorkload::Mix(mix);
    StagePlan { workers: 1, lanes_per_worker: 3, workload, window: ms(3_600_000), ..plan() }
}

fn against_names(ops: &[(OpKind, f64)], count: u64, lossy: Option<u64>) -> (Names, Vec<Op>, StageResult) {
    let names = Arc::new(Mutex::new(Names::default()));
    let shared = Arc::clone(&names);
    let driver = LogDriver::new(move |number, op| shared.lock().unwrap().answer(number, op, lossy));
    let result = run(&driver, &StagePlan { stop: StopRule::Ops(count), ..load(ops) });
    let names = std::mem::take(&mut *names.lock().unwrap());
    (names, driver.asked(), result)
}

#[test]
fn every_operation_finds_what_it_needs() {
    let (names, ops, result) = against_names(&EVERYTHING, 20_000, None);
    assert_eq!(names.faults, [""; 0]);
    assert_eq!(result.total.failed(), 0);
    for (kind, share) in EVERYTHING {
        let seen = ops.iter().filter(|op| op.kind == kind).count() as f64 / ops.len() as f64;
        assert!((seen - share).abs() < 0.01, "{kind}: {seen}");
    }
    let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
    assert_eq!(left, names.there.keys().copied().collect());
    assert!(left.len() > 100);
}

#[test]
fn a_lost_answer_is_settled_before_the_name_is_used_again() {
    for every in [3, 7, 50] {
        let (names, ops, result) = against_names(&EVERYTHING, 20_000, Some(every));
        assert_eq!(names.faults, [""; 0], "one of {every}");
        // A rename without a definite end is repeated before anything else happens to the lane's files.
        for lane in 0..3 {
            let own: Vec<&Op> = ops.iter().filter(|op| op.lane == lane).collect();
            let renames = own.iter().filter(|op| op.kind == OpKind::Rename).map(|op| (op.object, op.other));
            let renames: Vec<_> = renames.collect();
            assert!(renames.windows(2).all(|pair| pair[0] == pair[1] || pair[0].0 < pair[1].0));
        }
        let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
        let lost: Vec<_> = names.there.keys().filter(|object| !left.contains(object)).collect();
        assert!(lost.is_empty(), "everything there is known: {lost:?}");
        // Per lane, one file, link and directory may be in doubt, and the oldest may be gone.
        assert!(left.len() <= names.there.len() + 3 * 6, "{} {}", left.len(), names.there.len());
    }
}

#[test]
fn what_is_needed_is_created_first() {
    use OpKind::{Create, Mkdir, Readlink, Rename, Rmdir, Symlink, Truncate};
    for (kind, first) in [(Rename, Create), (Truncate, Create), (Rmdir, Mkdir), (Readlink, Symlink)] {
        let (names, ops, _) = against_names(&[(kind, 1.0)], 60, None);
        assert_eq!(names.faults, [""; 0], "{kind}");
        let of_lane: Vec<OpKind> = ops.iter().filter(|op| op.lane == 0).map(|op| op.kind).collect();
        assert_eq!(of_lane[..3], if kind == Rmdir { [first, kind, first] } else { [first, kind, kind] });
    }
}

#[test]
fn no_file_gets_too_many_links() {
    let (names, ops, _) = against_names(&[(OpKind::Link, 1.0)], 9000, None);
    assert_eq!(names.faults, [""; 0]);
    let created = ops.iter().filter(|op| op.kind == OpKind::Create).count();
    // 3 lanes, 3,000 operations each: one file, 1,000 links, one file, 1,000 links, one file, the rest.
    assert_eq!(created, 9);
}

#[test]
fn symbolic_links_are_removed_like_files() {
    let ops = [(OpKind::Symlink, 0.5), (OpKind::Remove, 0.5)];
    let (names, ops, result) = against_names(&ops, 2000, None);
    assert_eq!((names.faults.len(), result.total.failed()), (0, 0));
    let removed = ops.iter().filter(|op| op.kind == OpKind::Remove).count();
    assert!(removed > 900, "{removed}");
    assert!(ops.iter().filter(|op| op.kind == OpKind::Symlink).all(|op| op.other < 4));
}

#[test]
fn directories_are_removed_as_such() {
    let (_, _, result) = against_names(&EVERYTHING, 2000, None);
    let visit = StageWorkload::Visit { data_set: result.data_set, kind: OpKind::Remove };
    let driver = LogDriver::new(|_, _| None);
    let stop = StopRule::Exhausted;
    let removed = run(&driver, &StagePlan { workload: visit, stop, ..plan() });
    assert!(removed.exhausted && removed.total.failed() == 0);
    for op in driver.asked() {
        let directory = drivers::numbers::is_directory(op.object);
        assert_eq!(op.kind, if directory { OpKind::Rmdir } else { OpKind::Remove });
    }
    assert!(removed.total.op(OpKind::Rmdir).unwrap().ok > 10);
}
