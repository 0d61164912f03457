//! What a mix creates, renames, links and removes: nothing is used before it exists or after it is gone.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use drivers::Op;
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::{ErrorKind, OpKind};
use support::{LogDriver, ms, plan, run};

const EVERYTHING: [(OpKind, f64); 16] = [
    (OpKind::Create, 0.09),
    (OpKind::WriteFile, 0.03),
    (OpKind::Append, 0.03),
    (OpKind::Open, 0.02),
    (OpKind::Close, 0.02),
    (OpKind::Remove, 0.15),
    (OpKind::Rename, 0.11),
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
    /// The file behind each name, and the size of each file.
    files: BTreeMap<u64, u64>,
    sizes: BTreeMap<u64, u64>,
    /// The file that each lane has open.
    open: BTreeMap<u32, u64>,
    /// Objects of operations that ended without telling what they did.
    doubtful: BTreeSet<u64>,
    faults: Vec<String>,
}

impl Names {
    fn apply(&mut self, op: &Op) -> Option<ErrorKind> {
        use OpKind::{
            Access, Append, Chmod, Close, Commit, Create, Link, Mkdir, Open, Readlink, Remove, Rename, Rmdir,
            Stat, Symlink, Truncate, WriteFile,
        };
        let there = self.there.get(&op.object).copied();
        let add = |names: &mut Self, object, kind| {
            names.there.insert(object, kind).map(|_| ErrorKind::AlreadyExists)
        };
        match (op.kind, there) {
            (Create | WriteFile, None) => {
                self.files.insert(op.object, op.object);
                self.sizes.insert(op.object, op.len);
                add(self, op.object, Create)
            }
            (WriteFile, Some(_)) => Some(ErrorKind::AlreadyExists),
            (Create | Mkdir | Symlink, _) => add(self, op.object, op.kind),
            (Link, Some(Create)) => {
                self.files.insert(op.other, self.files[&op.object]);
                add(self, op.other, Create)
            }
            (Rename, Some(Create)) => {
                self.files.insert(op.other, self.files[&op.object]);
                self.there.remove(&op.object);
                self.there.insert(op.other, Create);
                for open in self.open.values_mut().filter(|open| **open == op.object) {
                    *open = op.other;
                }
                None
            }
            (Append, Some(Create)) => {
                let size = self.sizes.get_mut(&self.files[&op.object]).unwrap();
                let at_end = *size == op.offset && op.len > 0 && op.offset + op.len <= FILE_BYTES;
                *size = (*size).max(op.offset + op.len);
                if at_end { None } else { Some(ErrorKind::Length) }
            }
            (Truncate, Some(Create)) => {
                self.sizes.insert(self.files[&op.object], op.len);
                None
            }
            (Remove, Some(Create))
                if self.open.values().any(|open| *open == op.object)
                    && !self.doubtful.contains(&op.object) =>
            {
                Some(ErrorKind::Busy)
            }
            (Remove, Some(Create | Symlink)) | (Rmdir, Some(Mkdir)) => {
                self.there.remove(&op.object);
                None
            }
            (Open, Some(Create)) => {
                self.open.insert(op.lane, op.object);
                None
            }
            // It may be renamed meanwhile, but is not removed.
            (Close, _) if self.open.get(&op.lane) == Some(&op.object) => {
                self.open.remove(&op.lane);
                None
            }
            (Close, _) => Some(ErrorKind::Rejected),
            (Commit, Some(Create)) | (Readlink, Some(Symlink)) => None,
            // The data set's files.
            (Stat | Access | Chmod | Commit, None) if op.object < 4 => None,
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

const FILE_BYTES: u64 = 100;

fn mix(ops: &[(OpKind, f64)]) -> Mix {
    Mix {
        data_set: DataSet::laid_out(DataShape::Files { file_bytes: FILE_BYTES, block_bytes: 10 }, 4),
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access: Access::Random,
        block_sizes: vec![WeightedSize { bytes: 10, weight: 1.0 }],
        fsync_every: 0,
        batch_size: 10,
        think: None,
        on_own: false,
        verify: false,
        generation: 0,
        seed: 3,
    }
}

fn against_names(ops: &[(OpKind, f64)], count: u64, lossy: Option<u64>) -> (Names, Vec<Op>, StageResult) {
    mix_against_names(mix(ops), count, lossy)
}

fn mix_against_names(mix: Mix, count: u64, lossy: Option<u64>) -> (Names, Vec<Op>, StageResult) {
    let names = Arc::new(Mutex::new(Names::default()));
    let shared = Arc::clone(&names);
    let driver = LogDriver::new(move |number, op| shared.lock().unwrap().answer(number, op, lossy));
    let (workload, stop, window) = (StageWorkload::Mix(mix), StopRule::Ops(count), ms(3_600_000));
    let result = run(&driver, &StagePlan { lanes_per_worker: 3, workload, stop, window, ..plan() });
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
    use OpKind::{Append, Create, Mkdir, Readlink, Rename, Rmdir, Symlink, Truncate};
    let first = [(Rename, Create), (Truncate, Create), (Append, Create), (Rmdir, Mkdir), (Readlink, Symlink)];
    for (kind, first) in first {
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

fn of_lane(ops: &[Op], lane: u32) -> Vec<Op> {
    ops.iter().filter(|op| op.lane == lane).copied().collect()
}

#[test]
fn appends_fill_one_file_and_empty_it_when_it_is_full() {
    let (names, ops, result) = against_names(&[(OpKind::Append, 1.0)], 3 * 24, None);
    assert_eq!((names.faults.len(), result.total.failed()), (0, 0));
    for lane in 0..3 {
        let ops = of_lane(&ops, lane);
        assert!(ops.iter().all(|op| op.object == ops[0].object), "one file");
        let steps: Vec<_> = ops.iter().map(|op| (op.kind, op.offset, op.len)).collect();
        let round = (0..10).map(|block| (OpKind::Append, 10 * block, 10));
        let emptied = std::iter::once((OpKind::Truncate, 0, 0));
        let expected: Vec<_> = std::iter::once((OpKind::Create, 0, 0))
            .chain(round.clone())
            .chain(emptied.clone())
            .chain(round)
            .chain(emptied)
            .chain([(OpKind::Append, 0, 10)])
            .collect();
        assert_eq!(steps, expected);
        let blocks: BTreeSet<_> = ops.iter().map(|op| (op.offset, op.generation)).collect();
        assert!(blocks.len() > 20, "what is written differs from what was there");
    }
    assert_eq!(result.total.bytes(), 3 * 21 * 10);
    assert_eq!(names.sizes.values().copied().collect::<Vec<_>>(), [10; 3]);
}

#[test]
fn the_last_append_to_a_file_ends_at_its_size() {
    let sizes = [(30, 0.5), (7, 0.5)].map(|(bytes, weight)| WeightedSize { bytes, weight });
    let mix = Mix { block_sizes: sizes.to_vec(), ..mix(&[(OpKind::Append, 1.0)]) };
    let (names, ops, _) = mix_against_names(mix, 3000, None);
    assert_eq!(names.faults, [""; 0]);
    let appends = || ops.iter().filter(|op| op.kind == OpKind::Append);
    assert!(appends().any(|op| op.len < 7 && op.offset + op.len == FILE_BYTES));
    assert!(appends().all(|op| matches!(op.len, 30 | 7) || op.offset + op.len == FILE_BYTES));
}

#[test]
fn appends_are_committed_after_so_many_and_at_the_end() {
    let mix = Mix { fsync_every: 4, ..mix(&[(OpKind::Append, 0.9), (OpKind::Remove, 0.1)]) };
    let (names, ops, result) = mix_against_names(mix, 3000, None);
    assert_eq!(names.faults, [""; 0], "no removed file is committed");
    assert!(ops.iter().filter(|op| op.kind == OpKind::Commit).count() > 300);
    let mut open = 0;
    for lane in 0..3 {
        // Appends to the file since its last commit.
        let mut since = BTreeMap::new();
        for op in of_lane(&ops, lane) {
            match op.kind {
                OpKind::Append => *since.entry(op.object).or_insert(0) += 1,
                OpKind::Commit | OpKind::Remove => drop(since.remove(&op.object)),
                _ => {}
            }
            assert!(since.values().all(|appends| *appends <= 4));
        }
        open += since.len();
    }
    assert_eq!((open, result.closing.failed()), (0, 0));
}

#[test]
fn a_commit_goes_to_the_file_that_was_appended_to() {
    let (names, ops, _) = against_names(&[(OpKind::Append, 0.5), (OpKind::Commit, 0.5)], 600, None);
    assert_eq!(names.faults, [""; 0]);
    for lane in 0..3 {
        for pair in of_lane(&ops, lane).windows(2) {
            let own = pair[1].object >= 4;
            match (pair[0].kind, pair[1].kind) {
                (OpKind::Append, OpKind::Commit) => assert_eq!(pair[0].object, pair[1].object),
                // Nothing is left to commit but the data set's files.
                (OpKind::Commit, OpKind::Commit) => assert!(!own),
                _ => {}
            }
        }
    }
}

#[test]
fn files_are_opened_and_closed_in_turn() {
    let ops = [(OpKind::Open, 0.4), (OpKind::Close, 0.2), (OpKind::Create, 0.2), (OpKind::Remove, 0.2)];
    let (names, ops, result) = against_names(&ops, 3000, None);
    assert_eq!((names.faults, result.total.failed()), (Vec::new(), 0));
    for lane in 0..3 {
        let turns =
            of_lane(&ops, lane).into_iter().filter(|op| matches!(op.kind, OpKind::Open | OpKind::Close));
        let turns: Vec<_> = turns.map(|op| (op.kind, op.object)).collect();
        assert!(turns.len() > 500, "{}", turns.len());
        for pair in turns.chunks_exact(2) {
            assert_eq!([pair[0].0, pair[1].0], [OpKind::Open, OpKind::Close]);
            assert_eq!(pair[0].1, pair[1].1, "the file that is open is closed");
        }
    }
}

#[test]
fn a_file_comes_with_all_its_content() {
    let ops = [(OpKind::WriteFile, 0.6), (OpKind::Remove, 0.2), (OpKind::Rename, 0.2)];
    for (fsync_every, durable) in [(0, 0.0), (1, 1.0), (4, 0.25)] {
        let (names, ops, result) = mix_against_names(Mix { fsync_every, ..mix(&ops) }, 3000, None);
        assert_eq!((names.faults, result.total.failed()), (Vec::new(), 0));
        let files: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::WriteFile).collect();
        assert!(files.iter().all(|op| (op.offset, op.len) == (0, FILE_BYTES)));
        let share = files.iter().filter(|op| op.durable).count() as f64 / files.len() as f64;
        assert!((share - durable).abs() < 0.01, "{share}");
        assert_eq!(result.total.bytes(), files.len() as u64 * FILE_BYTES);
        assert!(ops.iter().all(|op| op.kind != OpKind::Commit), "the commit is part of the operation");
        let generations: BTreeSet<_> = files.iter().map(|op| op.generation).collect();
        assert!(generations.len() > files.len() / 2);
    }
}
