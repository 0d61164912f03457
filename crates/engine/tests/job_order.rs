//! Which operations a job issues, and in which order: same as fio 3.33, checked with its null engine and `write_iolog`.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use drivers::Op;
use experiment::{Amount, FileService, Job, Percent, SizeChoice, WeightedSize, Zones};
use metrics::OpKind::{self, Read, Trim, Write};
use proptest::prelude::*;
use support::jobs::{KIB, asked, asked_by, blocks, job, job_plan, load, random, script, sizes};

const READS: &[(OpKind, f64)] = &[(Read, 1.0)];
const WRITES: &[(OpKind, f64)] = &[(Write, 1.0)];

fn reads(job: Job, bytes: u64) -> Vec<u64> {
    blocks(&asked(load(job, READS, &[bytes])))
}

#[test]
fn in_order_whole_blocks_are_moved_and_a_rest_is_left_out() {
    assert_eq!(reads(job(), 16 * KIB), [0, 1, 2, 3]);
    assert_eq!(reads(job(), 10_000), [0, 1]);
    let tails = engine::JobLoad { tails: true, ..load(job(), WRITES, &[10_000]) };
    let lens: Vec<u64> = asked(tails).iter().map(|op| op.len).collect();
    assert_eq!(lens, [4096, 4096, 1808]);
}

#[test]
fn the_amount_may_be_more_or_less_than_the_region() {
    let amount = |bytes| {
        let mut job = job();
        job.region.io_bytes = Amount::Bytes(bytes);
        job
    };
    assert_eq!(reads(amount(40 * KIB), 16 * KIB), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]);
    // Blocks are completed: 10 KiB are three blocks.
    assert_eq!(reads(amount(10 * KIB), 32 * KIB), [0, 1, 2]);
    let mut twice = job();
    twice.ending.loops = 2;
    assert_eq!(reads(twice.clone(), 8 * KIB), [0, 1, 0, 1]);
    // Two passes, and a third for the rest of the amount.
    twice.region.io_bytes = Amount::Bytes(20 * KIB);
    assert_eq!(reads(twice.clone(), 8 * KIB), [0, 1, 0, 1, 0, 1]);
    twice.region.io_bytes = Amount::default();
    twice.region.operations = 3;
    assert_eq!(reads(twice, 16 * KIB), [0, 1, 2, 3, 0, 1]);
    let mut few = job();
    few.region.operations = 100;
    assert_eq!(reads(few, 16 * KIB).len(), 4);
}

#[test]
fn holes_and_backwards() {
    let skip = |bytes| {
        let mut job = job();
        job.pattern.skip = bytes;
        job
    };
    assert_eq!(reads(skip(4096), 32 * KIB), [0, 2, 4, 6, 0, 2, 4, 6]);
    // A block that ends with the region is the last one.
    assert_eq!(reads(skip(8192), 64 * KIB), [0, 3, 6, 9, 12, 15]);
    assert_eq!((reads(skip(8192), 100 * KIB).len(), reads(skip(8192), 60 * KIB).len()), (9, 15));
    assert_eq!(reads(skip(-8192), 32 * KIB), [0, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn each_direction_has_a_place_of_its_own() {
    let ops = asked(load(job(), &[(Read, 0.5), (Write, 0.5)], &[4096 * KIB]));
    assert_eq!(ops.len(), 1024);
    for kind in [Read, Write] {
        let mine: Vec<Op> = ops.iter().filter(|op| op.kind == kind).copied().collect();
        assert_eq!(blocks(&mine), (0..mine.len() as u64).collect::<Vec<_>>());
        // Half of 1024, standard deviation 16.
        assert!((432..592).contains(&mine.len()));
    }
}

#[test]
fn a_block_is_trimmed_then_written() {
    let mut pair = job();
    pair.pattern.trim_then_write = true;
    let ops = asked(load(pair, &[(Trim, 0.5), (Write, 0.5)], &[16 * KIB]));
    assert_eq!(script(&ops), "t0 w0 t1 w1 t2 w2 t3 w3");
}

#[test]
fn commits_follow_so_many_writes_but_not_the_last() {
    let mut every = job();
    every.commits.fsync_every = 3;
    let writes = |job: Job| script(&asked(load(job, WRITES, &[32 * KIB])));
    assert_eq!(writes(every.clone()), "w0 w1 w2 c w3 w4 w5 c w6 w7");
    every.commits.at_end = true;
    assert_eq!(writes(every), "w0 w1 w2 c w3 w4 w5 c w6 w7 c");
    let mut both = job();
    (both.commits.fdatasync_every, both.commits.fsync_every) = (2, 4);
    let ops = asked(load(both, WRITES, &[32 * KIB]));
    let kinds: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::Commit).map(|op| op.commit).collect();
    use drivers::CommitKind::{Data, Full};
    assert_eq!(kinds, [Data, Full, Data]);
    let mut ending = job();
    (ending.commits.fsync_every, ending.commits.at_end) = (3, true);
    let (_, result) = asked_by(&job_plan(load(ending, WRITES, &[32 * KIB]), 1));
    assert_eq!((result.job.fsyncs, result.total.op(OpKind::Commit).unwrap().ok), (2, 3));
}

#[test]
fn zones_are_entered_one_after_the_other() {
    let mut zoned = job();
    zoned.region.zones = Some(Zones { bytes: 8192, range: 8192, skip: 8192 });
    let seen = reads(zoned.clone(), 64 * KIB);
    assert_eq!(seen, [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13]);
    zoned.pattern.random = true;
    let mut seen = reads(zoned, 64 * KIB);
    for zone in seen.chunks_mut(2) {
        zone.sort_unstable();
    }
    assert_eq!(seen, [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13]);
}

#[test]
fn files_are_served_in_turn_or_one_by_one() {
    let files = |job: Job, files: &[u64]| -> Vec<(u64, u64)> {
        asked(load(job, READS, files)).iter().map(|op| (op.object, op.offset / 4096)).collect()
    };
    // A third of 32 KiB holds two blocks.
    assert_eq!(files(job(), &[10_922; 3]), [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]);
    let mut sequential = job();
    sequential.files.service = FileService::Sequential;
    assert_eq!(files(sequential, &[8192; 2]), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    let mut two = job();
    two.files.open = 2;
    let order: Vec<u64> = files(two, &[8192; 4]).iter().map(|(file, _)| *file).collect();
    assert_eq!(order, [0, 1, 0, 1, 2, 3, 2, 3]);
}

#[test]
fn runs_follow_a_place_by_chance() {
    let mut runs = random();
    runs.pattern.run = 8;
    let seen = reads(runs.clone(), 1024 * KIB);
    let breaks = seen.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    // 256 blocks in 32 runs, a few of which happen to be adjacent or are cut off at the end.
    assert!((25..=45).contains(&breaks), "{breaks}");
    runs.pattern.run_identical = true;
    let seen = reads(runs, 1024 * KIB);
    assert!(seen.chunks(8).all(|run| run.iter().all(|block| *block == run[0])));
}

#[test]
fn a_share_is_by_chance_and_the_rest_follows() {
    let mut half = random();
    half.pattern.percent_random.read = Percent(25.0);
    let seen = reads(half, 16 * 1024 * KIB);
    assert_eq!(seen.len(), 4096);
    let follow = seen.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    // Three quarters of 4096: 3072, standard deviation 28.
    assert!((2930..3210).contains(&follow), "{follow}");
}

#[test]
fn sizes_may_go_by_order() {
    let mut by_order = random();
    by_order.pattern.sizes_by_order = true;
    by_order.pattern.percent_random = experiment::Directions::all(Percent(50.0));
    by_order.block_sizes.sizes.write = SizeChoice::Fixed(8192);
    let ops = asked(load(by_order, READS, &[1024 * KIB]));
    for pair in ops.windows(2) {
        if pair[1].len == 4096 {
            assert_eq!(pair[1].offset, pair[0].offset + pair[0].len, "in order");
        }
    }
    assert!(ops.iter().any(|op| op.len == 4096) && ops.iter().any(|op| op.len == 8192));
}

#[test]
fn lanes_share_one_stream() {
    let (ops, result) = asked_by(&job_plan(load(job(), READS, &[64 * KIB]), 4));
    assert_eq!(blocks(&ops), (0..16).collect::<Vec<_>>());
    assert!(result.exhausted);
    // Four at a time, one millisecond each.
    assert_eq!((result.window_ns, result.total.ok()), (4_000_000, 16));
    // One, two to three, four: the queue fills at the start.
    assert_eq!(result.job.depths, [1, 2, 13, 0, 0, 0, 0]);
    let span = result.job.spans.read.unwrap();
    assert_eq!((span.from_ns, span.until_ns), (0, 4_000_000));
}

#[test]
fn directions_come_by_weight_and_sizes_by_split() {
    let mut mixed = random();
    mixed.pattern.with_repeats = true;
    mixed.block_sizes = sizes(SizeChoice::Split(vec![
        WeightedSize { bytes: 4096, weight: 60.0 },
        WeightedSize { bytes: 16384, weight: 40.0 },
    ]));
    mixed.region.operations = 20_000;
    mixed.region.io_bytes = Amount::Bytes(1 << 40);
    let (ops, _) = asked_by(&job_plan(load(mixed, &[(Read, 70.0), (Write, 30.0)], &[1 << 30]), 8));
    assert_eq!(ops.len(), 20_000);
    let reads = ops.iter().filter(|op| op.kind == Read).count();
    // 14 000, standard deviation 65; 12 000, standard deviation 69.
    assert!(reads.abs_diff(14_000) < 325, "{reads}");
    let small = ops.iter().filter(|op| op.len == 4096).count();
    assert!(small.abs_diff(12_000) < 345, "{small}");
    assert!(ops.iter().all(|op| op.offset % 4096 == 0 && op.offset + op.len <= 1 << 30));
}

#[test]
fn a_timed_job_goes_on_in_another_order() {
    let mut timed = random();
    timed.ending.time_based = true;
    let plan = engine::StagePlan {
        stop: engine::StopRule::Window,
        window: support::ms(40),
        ..job_plan(load(timed, READS, &[64 * KIB]), 1)
    };
    let (ops, result) = asked_by(&plan);
    let seen = blocks(&ops);
    assert_eq!((seen.len(), result.exhausted), (40, false));
    for pass in seen[..32].chunks(16) {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
    }
    assert_ne!(seen[..16], seen[16..32]);
}

fn some_sizes() -> impl Strategy<Value = SizeChoice> {
    prop_oneof![
        (1u64..8).prop_map(|n| SizeChoice::Fixed(n * 512)),
        (1u64..4, 1u64..5)
            .prop_map(|(least, more)| SizeChoice::Range { least: least * 512, most: (least + more) * 512 }),
        prop::collection::vec((1u64..9, 1u32..50), 1..4).prop_map(|sizes| {
            let size =
                |(bytes, weight): (u64, u32)| WeightedSize { bytes: bytes * 512, weight: weight.into() };
            SizeChoice::Split(sizes.into_iter().map(size).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// At random without repeats, with any mix and any sizes, nothing is touched twice, and less than a block is left.
    #[test]
    fn each_block_comes_once(
        size in some_sizes(),
        other in some_sizes(),
        files in prop::collection::vec(1u64..40_000, 1..4),
        mixed: bool,
        lanes in 1u32..5,
        seed: u64,
    ) {
        let mut job = random();
        job.seed = seed;
        job.block_sizes = sizes(size.clone());
        if mixed {
            job.block_sizes.sizes.write = other.clone();
        }
        let most = if mixed { size.most().max(other.most()) } else { size.most() };
        let least = if mixed { size.least().min(other.least()) } else { size.least() };
        let weights: &[(OpKind, f64)] = if mixed { &[(Read, 2.0), (Write, 1.0)] } else { READS };
        let (ops, result) = asked_by(&job_plan(load(job, weights, &files), lanes));
        prop_assert!(result.exhausted);
        let mut by_file: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for op in &ops {
            by_file.entry(op.object).or_default().push((op.offset, op.len));
        }
        for (file, bytes) in files.iter().enumerate() {
            let mut ranges = by_file.remove(&(file as u64)).unwrap_or_default();
            ranges.sort_unstable();
            let mut end = 0;
            for (offset, len) in &ranges {
                prop_assert!(*offset >= end, "twice");
                prop_assert!(*len <= most && offset - end < most);
                end = offset + len;
            }
            // A size that is not a multiple of the smallest is followed by the remainder of its last unit.
            prop_assert!(end <= *bytes && bytes - end < most + least, "{} of {}", end, bytes);
        }
    }
}
