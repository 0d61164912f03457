//! The operations issued by lanes: every block in its place, everything once, nothing forgotten.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use drivers::Op;
use drivers::sim::{SimConfig, SimLatency};
use engine::{DataSet, DataShape, StagePlan, StageWorkload, StopRule, VisitOrder};
use metrics::{ErrorKind, OpKind};
use support::{LogDriver, MS, ms, ok, plan, run, simulate};

const FILES: DataShape = DataShape::Files { file_bytes: 40, block_bytes: 10 };

fn write(shape: DataShape, limit_bytes: u64) -> StagePlan {
    StagePlan { workload: StageWorkload::Write { shape, limit_bytes }, ..plan() }
}

/// Two workers of three lanes write everything once.
fn written(shape: DataShape, limit_bytes: u64) -> (DataSet, LogDriver) {
    let driver = LogDriver::new(|_, _| None);
    let plan =
        StagePlan { workers: 2, lanes_per_worker: 3, stop: StopRule::Exhausted, ..write(shape, limit_bytes) };
    let result = run(&driver, &plan);
    assert!(result.exhausted);
    (result.data_set, driver)
}

fn asked(plan: &StagePlan) -> Vec<Op> {
    let driver = LogDriver::new(|_, _| None);
    run(&driver, plan);
    driver.asked()
}

#[test]
fn writing_wraps_over_the_same_files() {
    let latency_of = [(OpKind::Create, 1), (OpKind::Write, 2), (OpKind::Commit, 5)]
        .map(|(kind, latency)| (kind, SimLatency::Fixed(latency * MS)));
    let config = SimConfig { latency_of: latency_of.into(), ..SimConfig::default() };
    let result = simulate(config, &StagePlan { window: ms(100), ..write(FILES, 80) });
    // Two files of 14 ms; then, without creating, 13 ms each until 93 ms; then writes until 95, 97 and 99 ms.
    assert_eq!(ok(&result, OpKind::Create), 2);
    assert_eq!(ok(&result, OpKind::Commit), 7);
    assert_eq!(ok(&result, OpKind::Write), 7 * 4 + 3);
    assert_eq!(result.total.bytes(), 310);
    // One write ends at 101 ms; its file is then committed until 106 ms.
    assert_eq!((result.in_flight_at_end, result.after.ok, result.after.bytes), (1, 1, 10));
    assert_eq!((result.closing.ok, result.settled_ns), (1, 6 * MS));
    assert_eq!((result.data_set.objects(), result.data_set.bytes()), (2, 80));
}

#[test]
fn a_file_is_created_written_in_order_and_committed() {
    let (data_set, driver) = written(FILES, 12 * 40);
    let mut by_object: BTreeMap<u64, Vec<(OpKind, u64, u64)>> = BTreeMap::new();
    for op in driver.asked() {
        by_object.entry(op.object).or_default().push((op.kind, op.offset, op.len));
    }
    assert_eq!(by_object.len(), 12);
    let write = |offset| (OpKind::Write, offset, 10);
    let expected =
        [(OpKind::Create, 0, 0), write(0), write(10), write(20), write(30), (OpKind::Commit, 0, 40)];
    assert!(by_object.values().all(|ops| ops == &expected));
    let sizes: BTreeMap<u64, u64> = data_set.sizes().collect();
    assert!(sizes.keys().eq(by_object.keys()) && sizes.values().all(|size| *size == 40));
}

#[test]
fn an_unfinished_file_counts_as_far_as_it_was_acknowledged() {
    let shape = DataShape::Files { file_bytes: 100, block_bytes: 10 };
    let driver = LogDriver::new(|_, _| None);
    let result = run(&driver, &StagePlan { window: ms(6), ..write(shape, 100) });
    // Created at 1 ms, written at 2, 3, 4 and 5 ms; the write until 6 ms is waited for and committed.
    assert_eq!((ok(&result, OpKind::Write), result.after.bytes), (4, 10));
    assert_eq!((result.data_set.objects(), result.data_set.bytes()), (1, 50));
    assert_eq!(driver.asked().last().map(|op| (op.kind, op.len)), Some((OpKind::Commit, 50)));

    let workload = StageWorkload::Read {
        data_set: result.data_set,
        block_bytes: Some(7),
        order: VisitOrder::Sequential,
    };
    let result = run(&driver, &StagePlan { stop: StopRule::Exhausted, workload, ..plan() });
    assert_eq!((result.total.ok(), result.total.bytes(), result.window_ns), (8, 50, 8 * MS));
}

#[test]
fn every_byte_is_read_once_whatever_the_lanes_and_blocks() {
    let (data_set, _) = written(FILES, 12 * 40);
    for (workers, lanes, block) in [(1, 1, 10), (2, 3, 10), (3, 5, 16), (1, 7, 40), (2, 100, 3)] {
        let ops = asked(&StagePlan {
            workers,
            lanes_per_worker: lanes,
            stop: StopRule::Exhausted,
            workload: StageWorkload::Read {
                data_set: data_set.clone(),
                block_bytes: Some(block),
                order: VisitOrder::Sequential,
            },
            ..plan()
        });
        let bytes: Vec<(u64, u64)> =
            ops.iter().flat_map(|op| (op.offset..op.offset + op.len).map(|at| (op.object, at))).collect();
        let different: BTreeSet<_> = bytes.iter().collect();
        assert_eq!((bytes.len(), different.len()), (480, 480), "{workers} {lanes} {block}");
        assert!(ops.iter().all(|op| op.kind == OpKind::Read && op.offset % block == 0));
    }
}

#[test]
fn lanes_that_read_on_begin_at_different_places_and_wrap() {
    let (data_set, _) = written(FILES, 12 * 40);
    let workload = StageWorkload::Read { data_set, block_bytes: Some(10), order: VisitOrder::Sequential };
    let ops = asked(&StagePlan { lanes_per_worker: 4, window: ms(50), workload, ..plan() });
    let place = |op: &Op| (op.object, op.offset);
    let of_lane = |lane: u32| ops.iter().filter(|op| op.lane == lane).map(place).collect::<Vec<_>>();
    let firsts: BTreeSet<_> = (0..4).map(|lane| of_lane(lane)[0]).collect();
    assert_eq!(firsts.len(), 4);
    for lane in 0..4 {
        let places = of_lane(lane);
        assert_eq!(places.len(), 50, "48 blocks and two of them again");
        assert_eq!(places[..2], places[48..]);
        assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 48);
    }
}

#[test]
fn random_reads_stay_inside_and_reach_everything() {
    let (data_set, _) = written(FILES, 12 * 40);
    let sizes: BTreeMap<u64, u64> = data_set.sizes().collect();
    let workload = StageWorkload::Read { data_set, block_bytes: Some(10), order: VisitOrder::Random };
    for lanes in [1, 4, 100] {
        let plan =
            StagePlan { lanes_per_worker: lanes, window: ms(2000), workload: workload.clone(), ..plan() };
        let ops = asked(&plan);
        assert!(ops.iter().all(|op| op.offset + op.len <= sizes[&op.object]));
        let places: BTreeSet<_> = ops.iter().map(|op| (op.object, op.offset)).collect();
        assert_eq!(places.len(), 48, "{lanes} lanes");
        if lanes == 4 {
            let files = ops.iter().filter(|op| op.lane == 2).map(|op| op.object).collect::<BTreeSet<_>>();
            assert_eq!(files.len(), 3, "a lane keeps to its share");
        }
    }
}

#[test]
fn objects_are_put_fetched_looked_at_and_deleted_whole() {
    let (data_set, driver) = written(DataShape::Objects { object_bytes: 25 }, 12 * 25);
    assert!(driver.asked().iter().all(|op| (op.kind, op.offset, op.len) == (OpKind::Put, 0, 25)));
    let once = StagePlan { lanes_per_worker: 5, stop: StopRule::Exhausted, ..plan() };
    let read =
        StageWorkload::Read { data_set: data_set.clone(), block_bytes: None, order: VisitOrder::Sequential };
    let stat = StageWorkload::Visit { data_set: data_set.clone(), kind: OpKind::Stat };
    let remove = StageWorkload::Visit { data_set: data_set.clone(), kind: OpKind::Delete };
    let written: BTreeSet<u64> = data_set.sizes().map(|(object, _)| object).collect();
    for (workload, kind) in [(read, OpKind::Get), (stat, OpKind::Stat), (remove, OpKind::Delete)] {
        let ops = asked(&StagePlan { workload, ..once.clone() });
        assert!(ops.iter().all(|op| (op.kind, op.offset, op.len) == (kind, 0, 25)));
        assert_eq!(
            (ops.len(), ops.iter().map(|op| op.object).collect::<BTreeSet<_>>()),
            (12, written.clone())
        );
    }
}

#[test]
fn removal_visits_each_file_once_whatever_the_stop_rule() {
    let (data_set, _) = written(FILES, 12 * 40);
    let ops =
        asked(&StagePlan { workload: StageWorkload::Visit { data_set, kind: OpKind::Remove }, ..plan() });
    assert!(ops.iter().all(|op| op.kind == OpKind::Remove));
    assert_eq!(ops.iter().map(|op| op.object).collect::<BTreeSet<_>>().len(), 12);
    assert_eq!(ops.len(), 12);
}

#[test]
fn a_write_that_fails_is_done_again_so_that_there_are_no_holes() {
    let driver = LogDriver::new(|number, _| number.is_multiple_of(3).then_some(ErrorKind::Busy));
    let plan = StagePlan { stop: StopRule::Exhausted, ..write(FILES, 80) };
    let result = run(&driver, &plan);
    assert!(result.exhausted && result.total.failed() > 0);
    assert_eq!((result.data_set.objects(), result.data_set.bytes(), result.total.bytes()), (2, 80, 80));
    // Without the failed attempts, the plain sequence remains.
    let kept: Vec<_> = driver.asked().into_iter().zip(0u64..).filter(|(_, n)| n % 3 != 0).collect();
    assert_eq!(kept.len(), 2 * 6);
}

#[test]
fn a_changed_verifier_has_the_file_written_again() {
    let commits = std::sync::atomic::AtomicU64::new(0);
    let driver = LogDriver::new(move |_, op| {
        let first =
            op.kind == OpKind::Commit && commits.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        first.then_some(ErrorKind::VerifierChanged)
    });
    let result = run(&driver, &StagePlan { stop: StopRule::Exhausted, ..write(FILES, 40) });
    let count = |kind| driver.asked().iter().filter(|op| op.kind == kind).count();
    assert_eq!((count(OpKind::Create), count(OpKind::Write), count(OpKind::Commit)), (1, 8, 2));
    assert_eq!(result.data_set.bytes(), 40);
    let errors = result.total.op(OpKind::Commit).unwrap().errors;
    assert_eq!(errors[ErrorKind::VerifierChanged as usize], 1);
}

#[test]
fn what_a_restarted_server_may_have_lost_is_not_read_back() {
    let driver = LogDriver::new(|_, op| (op.kind == OpKind::Commit).then_some(ErrorKind::VerifierChanged));
    let result = run(&driver, &StagePlan { window: ms(4), ..write(FILES, 40) });
    assert_eq!(result.closing.errors[ErrorKind::VerifierChanged as usize], 1);
    assert_eq!((result.data_set.objects(), result.data_set.bytes()), (1, 0));
}

#[test]
fn a_target_without_room_leaves_an_honest_data_set() {
    let driver =
        LogDriver::new(|number, op| (op.kind == OpKind::Write && number > 2).then_some(ErrorKind::NoSpace));
    let result = run(&driver, &StagePlan { window: ms(1000), ..write(FILES, 80) });
    assert_eq!((result.data_set.objects(), result.data_set.bytes()), (1, 20));
    assert!(result.total.op(OpKind::Write).unwrap().errors[ErrorKind::NoSpace as usize] > 5);
}
