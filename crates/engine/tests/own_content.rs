//! Loads that read, overwrite, rename and remove the files that they create, and what they find if a server loses something.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use drivers::Op;
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::{ErrorKind, OpKind};
use support::{LogDriver, ms, plan, run};

const FILE_BYTES: u64 = 100;

const EVERYTHING: [(OpKind, f64); 13] = [
    (OpKind::WriteFile, 0.12),
    (OpKind::Append, 0.15),
    (OpKind::ReadFile, 0.2),
    (OpKind::Stat, 0.08),
    (OpKind::Access, 0.03),
    (OpKind::Chmod, 0.03),
    (OpKind::Overwrite, 0.08),
    (OpKind::TruncateOverwrite, 0.04),
    (OpKind::Rename, 0.12),
    (OpKind::Commit, 0.02),
    (OpKind::Open, 0.02),
    (OpKind::Close, 0.02),
    (OpKind::Remove, 0.09),
];

/// A file: the number and generation of its content, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File {
    content: u64,
    generation: u32,
    bytes: u64,
}

/// What a server that loses something does to operations of a kind, once in so many.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Acknowledged but not done.
    Ignored(OpKind, u64),
    /// Ends with a timeout; half of these took place.
    TimedOut(u64),
    None,
}

struct Server {
    files: BTreeMap<u64, File>,
    loss: Loss,
    of_kind: u64,
    /// Reads that asked for what is not there, and what a read would have found wrong.
    surprises: Vec<String>,
}

impl Server {
    fn apply(&mut self, op: &Op) -> Option<ErrorKind> {
        use OpKind::{
            Append, Close, Create, Delete, Get, Overwrite, Put, ReadFile, Remove, Rename, TruncateOverwrite,
            WriteFile,
        };
        let there = self.files.get(&op.object).copied();
        let whole = File { content: op.content(), generation: op.generation, bytes: op.len };
        match (op.kind, there) {
            (Close, _) => None,
            (Create, None) => {
                self.files.insert(op.object, File { generation: u32::MAX, ..whole });
                None
            }
            (WriteFile, None) | (Put, _) => {
                self.files.insert(op.object, whole);
                None
            }
            (Create | WriteFile, Some(_)) => Some(ErrorKind::AlreadyExists),
            (_, None) => Some(ErrorKind::NotFound),
            (Overwrite | TruncateOverwrite, Some(_)) => {
                self.files.insert(op.object, whole);
                None
            }
            (Append, Some(file)) => {
                let same = file.generation == op.generation || file.bytes == 0;
                if !same || file.content != op.content() || file.bytes < op.offset {
                    return Some(ErrorKind::Rejected);
                }
                let bytes = file.bytes.max(op.offset + op.len);
                self.files.insert(op.object, File { generation: op.generation, bytes, ..file });
                None
            }
            (ReadFile, Some(file)) if file.bytes < op.len => Some(ErrorKind::Length),
            // An append that timed out may have made the file longer than the lane knows.
            (ReadFile, Some(file)) if matches!(self.loss, Loss::TimedOut(_)) => {
                (File { bytes: op.len, ..file } != whole).then_some(ErrorKind::Corrupt)
            }
            (ReadFile | Get, Some(file)) if file != whole => Some(ErrorKind::Corrupt),
            (Rename, Some(file)) => {
                assert_ne!(op.object, op.other);
                self.files.remove(&op.object);
                self.files.insert(op.other, file).map(|_| ErrorKind::Rejected)
            }
            (Remove | Delete, Some(_)) => {
                self.files.remove(&op.object);
                None
            }
            (_, Some(_)) => None,
        }
    }

    fn answer(&mut self, number: u64, op: &Op) -> Option<ErrorKind> {
        match self.loss {
            Loss::Ignored(kind, every) if op.kind == kind => {
                self.of_kind += 1;
                if self.of_kind.is_multiple_of(every) {
                    return None;
                }
            }
            Loss::TimedOut(every) if number % every == every - 1 => {
                if (number / every).is_multiple_of(2) {
                    self.apply(op);
                }
                return Some(ErrorKind::TimedOut);
            }
            _ => {}
        }
        let error = self.apply(op);
        if let Some(error) = error {
            self.surprises.push(format!("{op:?}: {error}"));
        }
        error
    }
}

fn mix(ops: &[(OpKind, f64)]) -> Mix {
    Mix {
        data_set: DataSet::laid_out(DataShape::Files { file_bytes: FILE_BYTES, block_bytes: 10 }, 1),
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access: Access::Random,
        block_sizes: vec![WeightedSize { bytes: 7, weight: 1.0 }, WeightedSize { bytes: 30, weight: 1.0 }],
        fsync_every: 5,
        batch_size: 10,
        think: None,
        on_own: true,
        verify: true,
        generation: 65_535,
        seed: 3,
    }
}

fn against(mix: Mix, count: u64, loss: Loss) -> (Server, Vec<Op>, StageResult) {
    let server = Server { files: BTreeMap::new(), loss, of_kind: 0, surprises: Vec::new() };
    let server = Arc::new(Mutex::new(server));
    let shared = Arc::clone(&server);
    let driver = LogDriver::new(move |number, op| shared.lock().unwrap().answer(number, op));
    let (workload, stop, window) = (StageWorkload::Mix(mix), StopRule::Ops(count), ms(3_600_000));
    let result = run(&driver, &StagePlan { lanes_per_worker: 3, workload, stop, window, ..plan() });
    let asked = driver.asked();
    drop(driver);
    (Arc::into_inner(server).unwrap().into_inner().unwrap(), asked, result)
}

fn errors(result: &StageResult, kind: ErrorKind) -> u64 {
    result.total.ops.iter().map(|(_, stats)| stats.errors[kind as usize]).sum()
}

#[test]
fn nothing_is_used_that_is_not_there_and_every_read_expects_what_was_written() {
    let (server, ops, result) = against(mix(&EVERYTHING), 60_000, Loss::None);
    assert_eq!(server.surprises, [""; 0]);
    assert_eq!(result.total.failed(), 0);
    let left: Vec<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
    assert!(left.iter().all(|object| server.files.contains_key(object)));
    assert_eq!(left.len(), server.files.len(), "the tree is what the counters say");
    let count = |kind| ops.iter().filter(|op| op.kind == kind).count();
    let made = count(OpKind::WriteFile) + count(OpKind::Create);
    assert_eq!(made - count(OpKind::Remove), left.len());
    // Every kind of file was read: appended, overwritten more often than there are generations to spare, renamed back.
    let reads = || ops.iter().filter(|op| op.kind == OpKind::ReadFile);
    assert!(reads().any(|op| op.len < FILE_BYTES) && reads().any(|op| op.object != op.content()));
    assert!(reads().any(|op| op.generation < 5), "generations have 16 bits");
    for (kind, share) in EVERYTHING {
        let seen = count(kind) as f64 / ops.len() as f64;
        assert!((seen - share).abs() < 0.04, "{kind}: {seen}");
    }
}

#[test]
fn operations_without_an_outcome_are_no_loss_of_the_server() {
    for every in [7, 50] {
        let (_, _, result) = against(mix(&EVERYTHING), 66_000, Loss::TimedOut(every));
        assert!(errors(&result, ErrorKind::TimedOut) > 1000);
        let corrupt = errors(&result, ErrorKind::Corrupt);
        assert_eq!(corrupt, 0, "{every}: {:?}", result.corrupt.first());
        let reads = result.total.op(OpKind::ReadFile).unwrap();
        assert!(reads.ok > 1000, "what is certain is still read: {}", reads.ok);
    }
}

#[test]
fn a_rename_that_did_not_happen_is_named() {
    let (_, _, result) = against(mix(&EVERYTHING), 20_000, Loss::Ignored(OpKind::Rename, 100));
    assert!(errors(&result, ErrorKind::Corrupt) > 0);
    assert_eq!(errors(&result, ErrorKind::NotFound), 0, "what must exist is lost, not missing");
    let named = |words: &str| result.corrupt.iter().any(|found| found.detail.contains(words));
    assert!(named("lost: the server had acknowledged"), "{:?}", result.corrupt);
}

#[test]
fn writes_that_did_not_happen_are_named() {
    for kind in [OpKind::Append, OpKind::Overwrite, OpKind::TruncateOverwrite, OpKind::WriteFile] {
        let (_, _, result) = against(mix(&EVERYTHING), 20_000, Loss::Ignored(kind, 50));
        assert!(errors(&result, ErrorKind::Corrupt) > 0, "{kind}");
        assert_eq!(errors(&result, ErrorKind::Length), 0, "{kind}: too short is wrong, too");
    }
}

#[test]
fn names_and_attributes_alone_need_no_content() {
    let ops = [
        (OpKind::Create, 0.3),
        (OpKind::Stat, 0.2),
        (OpKind::Link, 0.1),
        (OpKind::Truncate, 0.1),
        (OpKind::Rename, 0.2),
        (OpKind::Remove, 0.1),
    ];
    let mix = Mix { verify: false, ..mix(&ops) };
    let (_, ops, result) = against(mix.clone(), 1, Loss::None);
    assert_eq!((ops.len(), result.total.failed()), (1, 0));
    let reads =
        Mix { ops: [&mix.ops[..], &[WeightedOp { op: OpKind::ReadFile, weight: 1.0 }]].concat(), ..mix };
    let faulty = StagePlan { workload: StageWorkload::Mix(reads), ..plan() };
    let driver = LogDriver::new(|_, _| None);
    let error = engine::run_stage(&driver, &faulty, &engine::Control::new(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("read or overwritten as a whole"), "{error}");
}

#[test]
fn objects_of_the_load_are_read_and_deleted() {
    let ops = [(OpKind::Put, 0.3), (OpKind::Get, 0.4), (OpKind::Stat, 0.1), (OpKind::Delete, 0.2)];
    let data_set = DataSet::laid_out(DataShape::Objects { object_bytes: FILE_BYTES }, 1);
    let mix = Mix { data_set, block_sizes: Vec::new(), fsync_every: 0, ..mix(&ops) };
    let (server, ops, result) = against(mix.clone(), 20_000, Loss::None);
    assert_eq!((server.surprises, result.total.failed()), (Vec::new(), 0));
    let count = |kind| ops.iter().filter(|op| op.kind == kind).count();
    assert_eq!(count(OpKind::Put) - count(OpKind::Delete), server.files.len());
    let (_, _, result) = against(mix, 20_000, Loss::Ignored(OpKind::Put, 100));
    let named = |found: &engine::CorruptRange| found.detail.contains("lost: the server had acknowledged");
    assert!(result.corrupt.iter().all(named) && !result.corrupt.is_empty(), "{:?}", result.corrupt);
}
