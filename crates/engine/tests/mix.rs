//! The operations issued by fills, visits and mixes: every byte once, shares as specified, places within range.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use drivers::Op;
use engine::{DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule, run_stage};
use experiment::{Access, Think, WeightedOp, WeightedSize};
use metrics::{ErrorKind, OpKind};
use proptest::prelude::*;
use support::{LogDriver, ms, plan, run};

fn files(file_bytes: u64, count: u64) -> DataSet {
    DataSet::laid_out(DataShape::Files { file_bytes, block_bytes: 10 }, count)
}

fn objects(count: u64) -> DataSet {
    DataSet::laid_out(DataShape::Objects { object_bytes: 25 }, count)
}

fn mix(data_set: DataSet, ops: &[(OpKind, f64)], access: Access, sizes: &[(u64, f64)]) -> Mix {
    Mix {
        data_set,
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access,
        block_sizes: sizes
            .iter()
            .map(|(bytes, weight)| WeightedSize { bytes: *bytes, weight: *weight })
            .collect(),
        fsync_every: 0,
        batch_size: 10,
        think: None,
        on_own: false,
        verify: false,
        generation: 5,
        seed: 3,
    }
}

/// The operations issued by a workload, and its result.
fn ask(workload: StageWorkload, workers: u32, lanes: u32, stop: StopRule) -> (Vec<Op>, StageResult) {
    let driver = LogDriver::new(|_, _| None);
    let window = ms(3_600_000);
    let result =
        run(&driver, &StagePlan { workers, lanes_per_worker: lanes, stop, window, workload, ..plan() });
    (driver.asked(), result)
}

fn count(ops: &[Op], kind: OpKind) -> u64 {
    ops.iter().filter(|op| op.kind == kind).count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// More lanes than files, one file with many lanes, a short last block: every byte is written once.
    #[test]
    fn a_fill_writes_every_byte_once(
        items in 1u64..8,
        item_bytes in 1u64..100,
        block_bytes in 1u64..40,
        workers in 1u32..4,
        lanes in 1u32..6,
        kind in 0..3,
    ) {
        let data_set = match kind {
            0 => files(item_bytes, items),
            1 => DataSet::laid_out(DataShape::Objects { object_bytes: item_bytes }, items),
            _ => DataSet::laid_out(DataShape::Device { bytes: item_bytes }, items),
        };
        let fill = StageWorkload::Fill { data_set: data_set.clone(), block_bytes, generation: 9 };
        let (ops, result) = ask(fill, workers, lanes, StopRule::Exhausted);
        let written = |op: &&Op| matches!(op.kind, OpKind::Write | OpKind::Put);
        let bytes: Vec<(u64, u64)> = ops
            .iter()
            .filter(written)
            .flat_map(|op| (op.offset..op.offset + op.len).map(|at| (op.object, at)))
            .collect();
        let different: HashSet<_> = bytes.iter().collect();
        prop_assert_eq!((bytes.len() as u64, different.len() as u64), (data_set.bytes(), data_set.bytes()));
        let sizes: BTreeMap<u64, u64> = data_set.sizes().collect();
        prop_assert!(bytes.iter().all(|(object, at)| at < &sizes[object]));
        prop_assert!(ops.iter().filter(written).all(|op| op.generation == 9));
        prop_assert!(result.exhausted && result.written.is_uniform(9));
        // Each lane's last operation on a file it wrote is a commit.
        let mut last = BTreeMap::new();
        for op in &ops {
            last.insert((op.lane, op.object), op.kind);
        }
        let durable = if kind == 1 { OpKind::Put } else { OpKind::Commit };
        prop_assert!(workers > 1 || last.values().all(|kind| *kind == durable));
        // Even shares: no lane writes more than its share, rounded up.
        let blocks = ops.iter().filter(written).count() as u64;
        prop_assert_eq!(blocks, if kind == 1 { items } else { sizes.len() as u64 * item_bytes.div_ceil(block_bytes) });
        if workers == 1 {
            for lane in 0..lanes {
                let own = ops.iter().filter(written).filter(|op| op.lane == lane).count() as u64;
                prop_assert!(own <= blocks.div_ceil(lanes.into()));
            }
        }
    }
}

#[test]
fn a_fill_does_again_what_failed() {
    let driver = LogDriver::new(|number, _| number.is_multiple_of(3).then_some(ErrorKind::Busy));
    let workload = StageWorkload::Fill { data_set: files(35, 4), block_bytes: 10, generation: 0 };
    let plan = StagePlan { stop: StopRule::Exhausted, workload, ..plan() };
    let result = run(&driver, &plan);
    assert!(result.exhausted && result.total.failed() > 0);
    assert_eq!((result.total.bytes(), result.written.is_uniform(0)), (140, true));
    // A commit after which the server's verifier changes causes the file to be rewritten.
    let commits = std::sync::atomic::AtomicU64::new(0);
    let driver = LogDriver::new(move |_, op| {
        let second =
            op.kind == OpKind::Commit && commits.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1;
        second.then_some(ErrorKind::VerifierChanged)
    });
    assert!(run(&driver, &plan).exhausted);
    let writes_to =
        |object| driver.asked().iter().filter(|op| op.kind == OpKind::Write && op.object == object).count();
    assert_eq!([0, 1, 2, 3].map(writes_to), [4, 8, 4, 4]);
    // Data that could not be written is not reported as existing.
    let driver = LogDriver::new(|_, op| (op.object == 2).then_some(ErrorKind::NoSpace));
    let result = run(&driver, &StagePlan { window: ms(5000), ..plan });
    assert!(!result.exhausted && !result.written.is_known());
}

#[test]
fn a_visit_comes_to_each_item_once() {
    for kind in [OpKind::Create, OpKind::Commit, OpKind::Stat, OpKind::Remove] {
        let (ops, _) = ask(StageWorkload::Visit { data_set: files(35, 7), kind }, 2, 3, StopRule::Window);
        let objects: Vec<u64> = ops.iter().map(|op| op.object).collect();
        assert_eq!((ops.len(), objects.iter().collect::<BTreeSet<_>>().len()), (7, 7));
        assert!(ops.iter().all(|op| op.kind == kind && op.offset == 0));
    }
}

#[test]
fn operations_come_in_their_shares() {
    let shares = [(OpKind::Read, 0.6), (OpKind::Write, 0.25), (OpKind::Stat, 0.1), (OpKind::List, 0.05)];
    let load = mix(files(1000, 10), &shares, Access::Random, &[(10, 1.0)]);
    let (ops, _) = ask(StageWorkload::Mix(load), 2, 4, StopRule::Ops(40_000));
    let chi_square: f64 = shares
        .iter()
        .map(|(kind, share)| (count(&ops, *kind) as f64 - share * 40_000.0).powi(2) / (share * 40_000.0))
        .sum();
    // Three degrees of freedom: one seed in 2000 exceeds 17.7.
    assert!(chi_square < 17.7, "{chi_square}");
}

#[test]
fn sizes_come_in_their_shares_on_their_own_multiples_within_the_file() {
    let sizes = [(10, 0.5), (40, 0.3), (64, 0.2)];
    for access in [Access::Random, Access::Sequential, Access::Shuffled, Access::Zipf { theta: 0.9 }] {
        let load = mix(files(1005, 6), &[(OpKind::Read, 1.0)], access, &sizes);
        let (ops, _) = ask(StageWorkload::Mix(load), 1, 3, StopRule::Ops(30_000));
        assert!(ops.iter().all(|op| op.object < 6 && op.len > 0 && op.offset + op.len <= 1005));
        let mut seen = [0u64; 3];
        for op in &ops {
            // The last block of a file may be shorter; it still starts at a multiple of its size.
            let size = sizes.iter().position(|(size, _)| *size == op.len);
            match size {
                Some(at) => seen[at] += u64::from(op.offset % sizes[at].0 == 0),
                None => assert_eq!(op.offset + op.len, 1005, "{op:?}"),
            }
        }
        for (seen, (size, share)) in seen.iter().zip(sizes) {
            // Except for short ones, which are up to a twentieth of the largest size.
            let share_seen = *seen as f64 / 30_000.0;
            assert!((share_seen - share).abs() < 0.03, "{access:?} {size}: {share_seen}");
        }
    }
}

#[test]
fn sequential_sizes_follow_each_other() {
    let load = mix(files(100, 3), &[(OpKind::Read, 1.0)], Access::Sequential, &[(10, 0.5), (20, 0.5)]);
    let (ops, _) = ask(StageWorkload::Mix(load), 1, 1, StopRule::Ops(200));
    for pair in ops.windows(2) {
        let end = pair[0].offset + pair[0].len;
        let next = end.next_multiple_of(pair[1].len);
        let expected = if next < 100 { (pair[0].object, next) } else { ((pair[0].object + 1) % 3, 0) };
        assert_eq!((pair[1].object, pair[1].offset), expected, "{pair:?}");
    }
}

#[test]
fn each_pattern_reaches_every_block() {
    let patterns = [
        Access::Sequential,
        Access::Random,
        Access::Shuffled,
        Access::Strided { stride_bytes: 30 },
        Access::Zipf { theta: 0.8 },
        Access::Pareto { h: 0.3 },
        Access::Hotspot { ops: 0.8, space: 0.2 },
    ];
    for access in patterns {
        let load = mix(files(75, 5), &[(OpKind::Read, 0.5), (OpKind::Write, 0.5)], access, &[(10, 1.0)]);
        let (ops, result) = ask(StageWorkload::Mix(load), 2, 3, StopRule::Ops(5000));
        for kind in [OpKind::Read, OpKind::Write] {
            let places: BTreeSet<_> =
                ops.iter().filter(|op| op.kind == kind).map(|op| (op.object, op.offset, op.len)).collect();
            assert_eq!(places.len(), 5 * 8, "{access:?} {kind}");
        }
        assert!(!result.written.is_known(), "writes that nobody keeps track of");
    }
}

#[test]
fn one_place_is_come_to_again_and_again() {
    let of_ranges = |kind, sizes| mix(files(10, 1), &[(kind, 1.0)], Access::Random, sizes);
    for (load, len) in [
        (of_ranges(OpKind::Read, &[(10, 1.0)]), 10),
        (of_ranges(OpKind::Stat, &[]), 10),
        (mix(objects(1), &[(OpKind::Get, 1.0)], Access::Sequential, &[]), 25),
    ] {
        let kind = load.ops[0].op;
        let (ops, result) = ask(StageWorkload::Mix(load), 2, 3, StopRule::Ops(300));
        assert_eq!(ops.len(), 300);
        let asked: BTreeSet<_> =
            ops.iter().map(|op| (op.kind, op.object, op.offset, op.len, op.generation)).collect();
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), [(kind, 0, 0, len, 5)]);
        assert_eq!(ops.iter().map(|op| op.lane).collect::<BTreeSet<_>>().len(), 3);
        assert_eq!(result.total.op(kind).unwrap().ok, 300);
        assert!(result.written.is_known(), "nothing was changed");
    }
    // Two sizes within one file: the place is drawn.
    let (ops, _) =
        ask(StageWorkload::Mix(of_ranges(OpKind::Read, &[(10, 0.5), (5, 0.5)])), 1, 1, StopRule::Ops(300));
    let places: BTreeSet<_> = ops.iter().map(|op| (op.offset, op.len)).collect();
    assert_eq!(places.into_iter().collect::<Vec<_>>(), [(0, 5), (0, 10), (5, 5)]);
    // Every write has different content.
    let (ops, _) = ask(StageWorkload::Mix(of_ranges(OpKind::Write, &[(10, 1.0)])), 1, 1, StopRule::Ops(300));
    assert!(ops.iter().map(|op| op.generation).collect::<BTreeSet<_>>().len() > 290);
}

#[test]
fn writes_are_never_the_same_twice() {
    let load = mix(files(20, 1), &[(OpKind::Write, 1.0)], Access::Random, &[(10, 1.0)]);
    let (ops, _) = ask(StageWorkload::Mix(load), 1, 1, StopRule::Ops(500));
    let contents: BTreeSet<_> = ops.iter().map(|op| (op.object, op.stream_offset())).collect();
    assert_eq!(contents.len(), 500);
}

#[test]
fn a_commit_follows_so_many_writes_of_a_lane() {
    let load =
        Mix { fsync_every: 3, ..mix(files(100, 4), &[(OpKind::Write, 1.0)], Access::Random, &[(10, 1.0)]) };
    let (ops, result) = ask(StageWorkload::Mix(load), 1, 2, StopRule::Ops(40));
    for lane in 0..2 {
        let own: Vec<&Op> = ops.iter().filter(|op| op.lane == lane).collect();
        for (at, op) in own.iter().enumerate().take(20) {
            assert_eq!(op.kind == OpKind::Commit, at % 4 == 3, "{at}");
            if op.kind == OpKind::Commit {
                assert_eq!(op.object, own[at - 1].object, "the file that was written last");
            }
        }
    }
    assert_eq!(result.closing.ok, 0, "nothing was left uncommitted");
    assert_eq!((count(&ops, OpKind::Write), count(&ops, OpKind::Commit)), (30, 10));
}

#[test]
fn files_come_and_go_in_the_lanes_own_range() {
    let ops = [(OpKind::Create, 0.4), (OpKind::Remove, 0.4), (OpKind::Stat, 0.2)];
    let load = mix(files(100, 4), &ops, Access::Random, &[]);
    let (ops, result) = ask(StageWorkload::Mix(load), 2, 2, StopRule::Ops(4000));
    let mut there: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, op) in ops.iter().enumerate() {
        match op.kind {
            OpKind::Create => assert!(op.object >= 1 << 63 && there.insert(op.object, at).is_none()),
            OpKind::Remove => assert!(there.remove(&op.object).is_some(), "{op:?} was not there"),
            _ => assert!(op.object < 4),
        }
    }
    let left: BTreeSet<u64> = result.data_set.sizes().map(|(object, _)| object).collect();
    assert_eq!(left, there.keys().copied().collect());
    assert!(result.written.is_uniform(5), "the files that were there have not changed");
    // What is left is removed like any other data set.
    let count = left.len();
    let (ops, _) =
        ask(StageWorkload::Visit { data_set: result.data_set, kind: OpKind::Remove }, 1, 2, StopRule::Window);
    assert_eq!((ops.len(), ops.iter().map(|op| op.object).collect::<BTreeSet<_>>()), (count, left));
}

#[test]
fn the_oldest_goes_first_and_what_is_to_go_must_come_first() {
    let load = mix(files(1, 1), &[(OpKind::Remove, 1.0)], Access::Random, &[]);
    let (ops, _) = ask(StageWorkload::Mix(load), 1, 1, StopRule::Ops(6));
    let kinds: Vec<OpKind> = ops.iter().map(|op| op.kind).collect();
    use OpKind::{Create, Remove};
    assert_eq!(kinds, [Create, Remove, Create, Remove, Create, Remove]);
    let load = mix(
        objects(4),
        &[(OpKind::Put, 0.6), (OpKind::Delete, 0.3), (OpKind::Get, 0.1)],
        Access::Random,
        &[],
    );
    let (ops, result) = ask(StageWorkload::Mix(load), 1, 1, StopRule::Ops(2000));
    let deleted: Vec<u64> = ops.iter().filter(|op| op.kind == OpKind::Delete).map(|op| op.object).collect();
    assert!(deleted.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    let put: Vec<&Op> = ops.iter().filter(|op| op.kind == OpKind::Put).collect();
    assert!(put.iter().all(|op| op.object >= 1 << 63 && op.len == 25));
    assert_eq!(result.data_set.objects(), (put.len() - deleted.len()) as u64);
    assert_eq!(result.data_set.bytes(), 25 * result.data_set.objects());
    // Without deletes, puts overwrite the existing objects.
    let load = mix(objects(4), &[(OpKind::Put, 0.6), (OpKind::Get, 0.4)], Access::Random, &[]);
    let (ops, result) = ask(StageWorkload::Mix(load), 1, 1, StopRule::Ops(200));
    assert!(ops.iter().all(|op| op.object < 4 && op.len == 25 && op.offset == 0));
    assert_eq!(result.data_set.objects(), 0);
}

#[test]
fn what_may_have_been_made_is_left_to_be_removed() {
    // The third create seems to fail and is retried; then the file already exists.
    let driver = LogDriver::new(|number, _| match number {
        2 => Some(ErrorKind::TimedOut),
        3 => Some(ErrorKind::AlreadyExists),
        5 => Some(ErrorKind::TimedOut),
        _ => None,
    });
    let load = mix(files(1, 1), &[(OpKind::Create, 1.0)], Access::Random, &[]);
    let result =
        run(&driver, &StagePlan { stop: StopRule::Ops(6), workload: StageWorkload::Mix(load), ..plan() });
    let numbers: Vec<u64> = driver.asked().iter().map(|op| op.object - (1 << 63)).collect();
    assert_eq!(numbers, [0, 1, 2, 2, 3, 4]);
    assert_eq!((result.data_set.objects(), result.data_set.bytes()), (5, 0));
}

#[test]
fn a_removal_that_failed_is_tried_again_and_one_that_finds_nothing_is_done() {
    let driver = LogDriver::new(|number, _| match number {
        1 => Some(ErrorKind::TimedOut),
        2 => Some(ErrorKind::NotFound),
        _ => None,
    });
    let load = mix(files(1, 1), &[(OpKind::Remove, 1.0)], Access::Random, &[]);
    let result =
        run(&driver, &StagePlan { stop: StopRule::Ops(5), workload: StageWorkload::Mix(load), ..plan() });
    let asked: Vec<_> = driver.asked().iter().map(|op| (op.kind, op.object - (1 << 63))).collect();
    use OpKind::{Create, Remove};
    assert_eq!(asked, [(Create, 0), (Remove, 0), (Remove, 0), (Create, 1), (Remove, 1)]);
    assert_eq!(result.data_set.objects(), 0);
}

#[test]
fn a_load_may_begin_with_nothing() {
    let ops = [(OpKind::Create, 0.5), (OpKind::Remove, 0.3), (OpKind::List, 0.2)];
    let (asked, _) =
        ask(StageWorkload::Mix(mix(files(0, 0), &ops, Access::Random, &[])), 1, 2, StopRule::Ops(300));
    assert!(ops.iter().all(|(kind, _)| count(&asked, *kind) > 30));
    let ops = [(OpKind::Put, 0.5), (OpKind::Delete, 0.5)];
    let (asked, _) =
        ask(StageWorkload::Mix(mix(objects(0), &ops, Access::Random, &[])), 1, 2, StopRule::Ops(300));
    assert_eq!(asked.len(), 300);
}

/// Operations of a millisecond, and how many fit in a second with pauses.
#[test]
fn lanes_pause_each_for_itself() {
    let done = |think: Think, lanes: u32| {
        let load = mix(files(100, 4), &[(OpKind::Read, 1.0)], Access::Random, &[(10, 1.0)]);
        let load = StageWorkload::Mix(Mix { think: Some(think), ..load });
        let driver = LogDriver::new(|_, _| None);
        let plan = StagePlan { workload: load, lanes_per_worker: lanes, window: ms(1000), ..plan() };
        run(&driver, &plan).total.ok()
    };
    let pause = |after, ms: f64| Think { pause_s: ms / 1e3, after, ..Think::default() };
    // One operation, 4 ms of pause: 200 rounds; two operations, 6 ms: 125 rounds of two.
    assert_eq!(done(pause(0, 4.0), 1), 200);
    assert_eq!(done(pause(2, 6.0), 1), 250);
    assert_eq!(done(pause(0, 4.0), 3), 600);
    // 15 ms of load, 5 ms of pause.
    assert_eq!(done(Think { after_s: 0.015, ..pause(0, 5.0) }, 1), 750);
}

#[test]
fn mixes_that_make_no_sense_are_refused() {
    let reads = [(OpKind::Read, 1.0)];
    let good = || mix(files(100, 4), &reads, Access::Random, &[(10, 1.0)]);
    let two_sizes = [(10, 0.5), (20, 0.5)];
    let writes = [(OpKind::Write, 1.0)];
    let faulty = [
        mix(files(100, 4), &[], Access::Random, &[(10, 1.0)]),
        mix(files(100, 4), &[(OpKind::Read, 0.0)], Access::Random, &[(10, 1.0)]),
        mix(files(100, 4), &reads, Access::Random, &[]),
        mix(files(100, 4), &reads, Access::Random, &[(0, 1.0)]),
        mix(files(100, 0), &reads, Access::Random, &[(10, 1.0)]),
        mix(files(0, 4), &reads, Access::Random, &[(10, 1.0)]),
        mix(objects(0), &[(OpKind::Put, 1.0)], Access::Random, &[]),
        mix(files(100, 4), &[(OpKind::Append, 1.0)], Access::Random, &[]),
        mix(files(0, 4), &[(OpKind::Append, 1.0)], Access::Random, &[(10, 1.0)]),
        mix(objects(4), &[(OpKind::Append, 1.0)], Access::Random, &[(10, 1.0)]),
        mix(files(100, 4), &[(OpKind::Get, 1.0)], Access::Random, &[]),
        mix(objects(4), &writes, Access::Random, &[(10, 1.0)]),
        mix(
            DataSet::laid_out(DataShape::Device { bytes: 100 }, 1),
            &[(OpKind::Remove, 1.0)],
            Access::Random,
            &[],
        ),
        Mix { access: Access::Zipf { theta: 0.0 }, ..good() },
        Mix { access: Access::Pareto { h: 1.0 }, ..good() },
        Mix { access: Access::Hotspot { ops: 1.1, space: 0.1 }, ..good() },
        Mix { access: Access::Strided { stride_bytes: 0 }, ..good() },
        Mix { verify: true, ..mix(files(100, 4), &writes, Access::Random, &two_sizes) },
        Mix {
            verify: true,
            ..mix(files(100, 4), &[(OpKind::Write, 0.5), (OpKind::Trim, 0.5)], Access::Random, &[(10, 1.0)])
        },
        Mix { verify: true, ..mix(files(10, 1), &writes, Access::Random, &[(10, 1.0)]) },
    ];
    let refused = |load: Mix| {
        let plan = StagePlan {
            lanes_per_worker: 2,
            stop: StopRule::Ops(1),
            workload: StageWorkload::Mix(load),
            ..plan()
        };
        run_stage(&LogDriver::new(|_, _| None), &plan, &engine::Control::new(), &mut |_| {}).is_err()
    };
    for load in faulty {
        assert!(refused(load.clone()), "{load:?}");
    }
    assert!(!refused(good()));
    assert!(!refused(Mix { verify: true, ..mix(files(100, 4), &reads, Access::Random, &two_sizes) }));
}
