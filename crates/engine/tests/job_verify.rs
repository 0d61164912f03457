//! A job reads back exactly what it wrote.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use drivers::{Op, Sink};
use engine::{StagePlan, StageResult};
use experiment::{Amount, Check, CheckMethod, Distribution, Job, Rate, SizeChoice, WeightedSize};
use metrics::OpKind::{self, Read, Write};
use proptest::prelude::*;
use support::jobs::{KIB, asked_by, job, job_plan, load, random, script, sizes};
use support::memory::{Defect, MemoryDriver};
use support::run;

const WRITES: &[(OpKind, f64)] = &[(Write, 1.0)];

fn checked(mut job: Job) -> Job {
    job.check = Some(Check::default());
    job
}

fn plan(job: Job, ops: &[(OpKind, f64)], files: &[u64], lanes: u32) -> StagePlan {
    StagePlan { sink: Sink::Verify, ..job_plan(load(job, ops, files), lanes) }
}

fn asked(job: Job, ops: &[(OpKind, f64)], bytes: u64) -> (Vec<Op>, StageResult) {
    asked_by(&plan(job, ops, &[bytes], 1))
}

#[test]
fn what_was_written_is_read_in_the_same_order() {
    let (ops, result) = asked(checked(job()), WRITES, 16 * KIB);
    assert_eq!(script(&ops), "w0 w1 w2 w3 r0 r1 r2 r3");
    assert_eq!((result.checked.right, result.checked.blocks()), (4, 4));
    let mut ending = checked(job());
    ending.commits.at_end = true;
    assert_eq!(script(&asked(ending, WRITES, 8 * KIB).0), "w0 w1 c r0 r1");
}

#[test]
fn each_pass_is_read_back() {
    // As in fio, reads back count towards the amount of 40 KiB, so two passes of 16 KiB are all.
    let mut round = checked(job());
    round.region.io_bytes = Amount::Bytes(40 * KIB);
    let (ops, _) = asked(round, WRITES, 16 * KIB);
    assert_eq!(script(&ops), "w0 w1 w2 w3 r0 r1 r2 r3 w0 w1 w2 w3 r0 r1 r2 r3");
    let generations: Vec<u32> = ops.iter().map(|op| op.generation).collect();
    assert_eq!(generations, [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_backlog_is_read_between_the_writes() {
    let mut backlog = checked(job());
    backlog.check.as_mut().unwrap().backlog = 2;
    assert_eq!(script(&asked(backlog.clone(), WRITES, 20 * KIB).0), "w0 w1 r0 r1 w2 w3 r2 r3 w4 r4");
    backlog.check.as_mut().unwrap().backlog_batch = 1;
    assert_eq!(script(&asked(backlog, WRITES, 16 * KIB).0), "w0 w1 r0 w2 r1 w3 r2 r3");
}

#[test]
fn a_reading_job_compares_what_it_reads_and_a_mixed_one_only_what_it_wrote() {
    let (ops, result) = asked(checked(job()), &[(Read, 1.0)], 16 * KIB);
    assert!(ops.iter().all(|op| op.kind == Read && op.generation == Op::ANY_GENERATION));
    assert_eq!(result.checked.right, 4);
    let (ops, result) = asked(checked(random()), &[(Read, 0.5), (Write, 0.5)], 1024 * KIB);
    let written: BTreeSet<u64> = ops.iter().filter(|op| op.kind == Write).map(|op| op.offset).collect();
    let back: BTreeSet<u64> =
        ops.iter().filter(|op| op.kind == Read && op.generation == 1).map(|op| op.offset).collect();
    assert_eq!(written, back);
    assert_eq!(result.checked.right, written.len() as u64);
    assert!(ops[..256].iter().all(|op| op.kind == Write || op.generation == Op::UNCHECKED));
    let mut only = checked(random());
    only.check.as_mut().unwrap().only = true;
    let (ops, result) = asked(only, WRITES, 16 * KIB);
    assert!(ops.iter().all(|op| op.kind == Read));
    assert_eq!((ops.len(), result.checked.right), (4, 4));
}

#[test]
fn a_block_that_was_written_several_times_is_read_back_once() {
    let mut zipf = checked(random());
    zipf.pattern.distribution.write = Distribution::Zipf { theta: 1.2, centre: None };
    let (ops, result) = asked(zipf, WRITES, 1024 * KIB);
    let written: BTreeSet<u64> = ops.iter().filter(|op| op.kind == Write).map(|op| op.offset).collect();
    let back: Vec<u64> = ops.iter().filter(|op| op.kind == Read).map(|op| op.offset).collect();
    assert!(written.len() < 200, "zipf has favourites: {}", written.len());
    assert_eq!(back.len(), written.len());
    assert_eq!(back.into_iter().collect::<BTreeSet<_>>(), written);
    assert_eq!(result.checked.right, written.len() as u64);
}

/// A run against memory that really stores what is written.
fn kept(job: Job, ops: &[(OpKind, f64)], lanes: u32, defects: &[((u64, u64), Defect)]) -> StageResult {
    let driver = MemoryDriver::default();
    defects.iter().for_each(|(place, defect)| driver.defect(*place, *defect));
    let mut job = job;
    job.ending.errors.go_on_read = true;
    job.ending.errors.go_on_verify = true;
    job.ending.errors.go_on_write = true;
    run(&driver, &plan(job, ops, &[64 * KIB, 32 * KIB], lanes))
}

#[test]
fn defects_are_found_and_what_failed_is_not_judged() {
    let clean = kept(checked(random()), WRITES, 4, &[]);
    assert_eq!((clean.checked.right, clean.checked.wrong), (24, 0));
    let defects = [
        ((0, 4096), Defect::FlippedBit),
        ((1, 0), Defect::LostWrite),
        ((0, 8192), Defect::Refused { stored: false }),
        ((1, 4096), Defect::Refused { stored: true }),
    ];
    let found = kept(checked(random()), WRITES, 4, &defects);
    let checked_blocks = found.checked;
    assert_eq!((checked_blocks.right, checked_blocks.wrong, checked_blocks.uncertain), (20, 2, 2));
    assert!(found.job.failures.is_empty());
    // A lost write in a later pass leaves the content of the earlier one.
    let mut twice = checked(random());
    twice.ending.loops = 2;
    let result = kept(twice, WRITES, 4, &[]);
    assert_eq!(result.checked.right, 48);
}

#[test]
fn the_first_wrong_block_ends_the_job_unless_it_is_told_to_go_on() {
    let driver = MemoryDriver::default();
    driver.defect((0, 4096), Defect::FlippedBit);
    driver.defect((0, 8192), Defect::FlippedBit);
    let result = run(&driver, &plan(checked(job()), WRITES, &[64 * KIB], 1));
    assert_eq!((result.checked.right, result.checked.wrong, result.job.failures.len()), (1, 1, 1));
}

/// The blocks in a job's operations that nothing overwrote afterwards.
fn intact(ops: &[Op]) -> BTreeSet<(u64, u64)> {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for op in ops.iter().filter(|op| op.kind == Write) {
        blocks.retain(|(offset, len)| offset + len <= op.offset || op.offset + op.len <= *offset);
        blocks.push((op.offset, op.len));
    }
    blocks.into_iter().collect()
}

fn read_back(ops: &[Op]) -> Vec<(u64, u64)> {
    ops.iter().filter(|op| op.kind == Read).map(|op| (op.offset, op.len)).collect()
}

#[test]
fn what_a_pass_writes_over_in_part_is_not_read_back_and_the_rest_is() {
    let mut gaps = checked(job());
    gaps.check.as_mut().unwrap().method = CheckMethod::Crc32c;
    gaps.pattern.skip = 4096;
    let (ops, result) = asked(gaps.clone(), WRITES, 64 * KIB);
    assert_eq!(ops.iter().filter(|op| op.kind == Write).count(), 16);
    assert_eq!((read_back(&ops).len(), result.checked.right, result.checked.uncertain), (8, 8, 0));
    gaps.pattern.skip = -8192;
    let (ops, _) = asked(gaps, WRITES, 64 * KIB);
    assert_eq!(read_back(&ops).into_iter().collect::<BTreeSet<_>>(), intact(&ops));
}

fn distributions() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        Just(Distribution::Even),
        Just(Distribution::Zipf { theta: 1.1, centre: None }),
        Just(Distribution::Normal { deviation: 10.0, centre: None }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However blocks overlap, exactly the whole ones are read back, each once.
    #[test]
    fn what_is_whole_is_read_back(
        is_random: bool,
        skip in -6i64..6,
        align in prop_oneof![Just(0u64), Just(2048), Just(1024)],
        several: bool,
        run_length in 1u32..4,
        blocks in 1u64..40,
        seed: u64,
    ) {
        let mut job = checked(job());
        job.seed = seed;
        job.check.as_mut().unwrap().method = CheckMethod::Crc32c;
        job.pattern.random = is_random;
        job.pattern.with_repeats = is_random;
        job.pattern.run = if is_random { run_length } else { 0 };
        job.pattern.skip = if is_random { 0 } else { skip * 2048 };
        if is_random {
            job.block_sizes.align = experiment::Directions::all(align);
        }
        if several && is_random {
            let size = |bytes, weight| WeightedSize { bytes, weight };
            job.block_sizes.sizes =
                experiment::Directions::all(SizeChoice::Split(vec![size(4096, 50.0), size(10_240, 50.0)]));
        }
        let (ops, result) = asked(job, WRITES, (blocks + 3) * 4096);
        let back = read_back(&ops);
        prop_assert_eq!(back.iter().copied().collect::<BTreeSet<_>>(), intact(&ops));
        prop_assert_eq!(back.len(), intact(&ops).len());
        prop_assert_eq!((result.checked.wrong, result.checked.uncertain), (0, 0));
    }

    /// With any pattern, what is written is read back, all of it is right, and nothing else is compared.
    #[test]
    fn what_is_written_is_right(
        is_random: bool,
        with_repeats: bool,
        distribution in distributions(),
        several: bool,
        mixed: bool,
        run_length in 1u32..4,
        loops in 1u32..3,
        backlog in 0u64..6,
        rate: bool,
        lanes in 1u32..5,
        seed: u64,
    ) {
        let mut job = checked(job());
        job.seed = seed;
        job.pattern.random = is_random;
        job.pattern.with_repeats = with_repeats;
        job.pattern.distribution.write = distribution;
        job.pattern.run = run_length;
        job.ending.loops = loops;
        job.check.as_mut().unwrap().backlog = backlog;
        if several && !mixed && !with_repeats && run_length == 1 {
            let size = |bytes, weight| WeightedSize { bytes, weight };
            job.block_sizes = sizes(SizeChoice::Split(vec![size(4096, 50.0), size(8192, 50.0)]));
            job.pattern.distribution.write = Distribution::Even;
        }
        if rate {
            job.pace.rates.write = Some(Rate::OpsPerS(300.0));
        }
        let even = job.pattern.distribution.write == Distribution::Even;
        let job_is_plain = even && !with_repeats && run_length == 1;
        let ops: &[(OpKind, f64)] = if mixed { &[(Read, 0.5), (Write, 0.5)] } else { WRITES };
        let result = kept(job, ops, lanes, &[]);
        prop_assert_eq!(result.checked.wrong, 0);
        let writes = result.total.op(Write).map_or(0, |stats| stats.ok);
        if backlog > 0 || !is_random || job_is_plain {
            prop_assert_eq!(result.checked.right, writes);
        } else {
            prop_assert!(result.checked.right <= writes && (result.checked.right > 0 || writes == 0));
        }
    }
}
