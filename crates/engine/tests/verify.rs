//! Acknowledged data is found again, and wrong data is found at its place.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::collections::BTreeSet;

use drivers::Sink;
use engine::{ContentSummary, DataSet, DataShape, Mix, StagePlan, StageResult, StageWorkload, StopRule};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::{ErrorKind, OpKind};
use proptest::prelude::*;
use support::memory::{Defect, MemoryDriver, Place};
use support::{plan, run};

const BLOCK: u64 = 64;
/// Five files of six and a half blocks.
const FILES: DataShape = DataShape::Files { file_bytes: 416, block_bytes: BLOCK };
const OBJECTS: DataShape = DataShape::Objects { object_bytes: 200 };

/// Every order in which a share can be traversed.
const ACCESSES: [Access; 7] = [
    Access::Sequential,
    Access::Random,
    Access::Shuffled,
    Access::Strided { stride_bytes: 3 * BLOCK },
    Access::Zipf { theta: 1.1 },
    Access::Pareto { h: 0.2 },
    Access::Hotspot { ops: 0.9, space: 0.1 },
];

fn files() -> DataSet {
    DataSet::laid_out(FILES, 5)
}

fn fill(driver: &MemoryDriver, data_set: &DataSet) -> StageResult {
    let workload = StageWorkload::Fill { data_set: data_set.clone(), block_bytes: BLOCK, generation: 3 };
    let stop = StopRule::Exhausted;
    run(driver, &StagePlan { workers: 2, lanes_per_worker: 2, stop, workload, ..plan() })
}

fn mix_of(data_set: &DataSet, ops: &[(OpKind, f64)], access: Access) -> Mix {
    Mix {
        data_set: data_set.clone(),
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access,
        block_sizes: vec![WeightedSize { bytes: BLOCK, weight: 1.0 }],
        fsync_every: 0,
        batch_size: 10,
        think: None,
        on_own: false,
        verify: true,
        generation: 3,
        seed: 17,
    }
}

/// Runs a mix for this many operations.
fn load(driver: &MemoryDriver, mix: Mix, workers: u32, lanes: u32, ops: u64) -> StageResult {
    let (stop, workload) = (StopRule::Ops(ops), StageWorkload::Mix(mix));
    let sink = Sink::Verify;
    run(driver, &StagePlan { workers, lanes_per_worker: lanes, stop, workload, sink, ..plan() })
}

/// Checks everything, with a different number of lanes.
fn check(driver: &MemoryDriver, data_set: &DataSet, written: &ContentSummary) -> StageResult {
    let workload =
        StageWorkload::Check { data_set: data_set.clone(), block_bytes: BLOCK, written: written.clone() };
    let stop = StopRule::Exhausted;
    let sink = Sink::Verify;
    run(driver, &StagePlan { workers: 3, lanes_per_worker: 2, stop, workload, sink, ..plan() })
}

fn wrong_places(result: &StageResult) -> BTreeSet<Place> {
    result.corrupt.iter().map(|range| (range.object, range.offset)).collect()
}

#[test]
fn a_fill_is_found_complete() {
    for data_set in
        [files(), DataSet::laid_out(OBJECTS, 7), DataSet::laid_out(DataShape::Device { bytes: 1000 }, 1)]
    {
        let driver = MemoryDriver::default();
        let filled = fill(&driver, &data_set);
        assert!(filled.exhausted && filled.written.is_uniform(3));
        let bytes: usize = driver.sizes().values().sum();
        assert_eq!((bytes as u64, filled.total.bytes()), (data_set.bytes(), data_set.bytes()));
        let found = check(&driver, &data_set, &filled.written);
        assert_eq!((found.checked.right, found.checked.blocks()), (driver.writes(), driver.writes()));
        assert!(found.exhausted && found.corrupt.is_empty());
        // The same content under a different generation counts as different.
        let found = check(&driver, &data_set, &ContentSummary::uniform(4));
        assert_eq!((found.checked.wrong, found.checked.right), (driver.writes(), 0));
    }
}

#[test]
fn what_a_clean_load_wrote_is_found_wherever_it_stopped() {
    for access in ACCESSES {
        // 35 blocks: less than a pass, a pass and some, several.
        for (workers, lanes, ops) in [(1, 1, 20), (1, 4, 50), (3, 2, 35 * 4 + 11), (2, 5, 400)] {
            let driver = MemoryDriver::default();
            fill(&driver, &files());
            let mix = mix_of(&files(), &[(OpKind::Write, 1.0)], access);
            let loaded = load(&driver, mix, workers, lanes, ops);
            assert_eq!((loaded.total.ok(), loaded.total.failed()), (ops, 0));
            let found = check(&driver, &files(), &loaded.written);
            assert_eq!(
                (found.checked.right, found.checked.blocks()),
                (35, 35),
                "{access:?} {workers} {lanes}"
            );
        }
    }
}

#[test]
fn reads_among_writes_are_compared_too() {
    for access in ACCESSES {
        let driver = MemoryDriver::default();
        fill(&driver, &files());
        let mix = mix_of(&files(), &[(OpKind::Read, 0.5), (OpKind::Write, 0.5)], access);
        let loaded = load(&driver, mix, 2, 3, 600);
        let reads = loaded.total.op(OpKind::Read).unwrap().ok;
        // 300 on average, standard deviation 12.
        assert!((240..360).contains(&reads) && loaded.total.failed() == 0, "{access:?}: {reads}");
        assert_eq!(check(&driver, &files(), &loaded.written).checked.right, 35);
    }
}

/// Blocks are written and zeroed in their shares, and each is compared with what it was last.
#[test]
fn zeroes_among_writes_are_compared_too() {
    let ops = [(OpKind::Read, 0.4), (OpKind::Write, 0.3), (OpKind::WriteZeroes, 0.3)];
    for access in ACCESSES {
        for (workers, lanes, ops) in [(1, 1, &ops[..]), (2, 3, &ops), (2, 2, &[(OpKind::WriteZeroes, 1.0)])] {
            let driver = MemoryDriver::default();
            fill(&driver, &files());
            let loaded = load(&driver, mix_of(&files(), ops, access), workers, lanes, 600);
            assert_eq!((loaded.total.ok(), loaded.total.failed()), (600, 0), "{access:?}");
            let zeroed = loaded.total.op(OpKind::WriteZeroes).unwrap().ok;
            let expected = if ops.len() > 1 { 120..240 } else { 600..601 };
            assert!(expected.contains(&zeroed), "{access:?}: {zeroed}");
            let found = check(&driver, &files(), &loaded.written);
            assert_eq!((found.checked.right, found.checked.blocks()), (35, 35), "{access:?}");
        }
    }
    // Zeroes that are lost are found.
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    driver.defect((2, 3 * BLOCK), Defect::LostWrite);
    let loaded = load(&driver, mix_of(&files(), &[(OpKind::WriteZeroes, 1.0)], Access::Random), 2, 3, 90);
    let found = check(&driver, &files(), &loaded.written);
    assert_eq!((found.checked.wrong, found.checked.right), (1, 34));
    assert_eq!(wrong_places(&found), [(2, 3 * BLOCK)].into());
}

#[test]
fn objects_that_are_put_again_are_compared_whole_and_in_parts() {
    let data_set = DataSet::laid_out(OBJECTS, 12);
    let driver = MemoryDriver::default();
    fill(&driver, &data_set);
    let mix = mix_of(&data_set, &[(OpKind::Get, 0.5), (OpKind::Put, 0.5)], Access::Random);
    let loaded = load(&driver, mix, 2, 2, 300);
    assert_eq!((loaded.total.ok(), loaded.total.failed()), (300, 0));
    let found = check(&driver, &data_set, &loaded.written);
    assert_eq!((found.checked.right, found.checked.blocks()), (12, 12));
}

#[test]
fn a_defect_is_found_at_its_place_and_nowhere_else() {
    let place = (2, 3 * BLOCK);
    let elsewhere = (4, 6 * BLOCK);
    for defect in [Defect::FlippedBit, Defect::LostWrite, Defect::Misplaced((9, 0))] {
        for access in ACCESSES {
            for (workers, lanes) in [(1, 1), (2, 3)] {
                let driver = MemoryDriver::default();
                fill(&driver, &files());
                driver.defect(place, defect);
                // Two passes and a part: the place is written two or three times.
                let mix = mix_of(&files(), &[(OpKind::Write, 1.0)], access);
                let loaded = load(&driver, mix, workers, lanes, 90);
                let found = check(&driver, &files(), &loaded.written);
                assert_eq!((found.checked.wrong, found.checked.right), (1, 34), "{defect:?} {access:?}");
                assert_eq!(wrong_places(&found), [place].into());
                let said = &found.corrupt[0].detail;
                assert!(said.starts_with("read of 0000000000000002 at 192, 64 bytes: not what"), "{said}");
                assert!(said.ends_with("a second read was wrong too"), "{said}");
                assert_eq!(found.error_samples, [(ErrorKind::Corrupt, said.clone())]);
            }
        }
    }
    // A block written over another one damages both; the last one of a file is half as long, which is detected too.
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    let mix = mix_of(&files(), &[(OpKind::Write, 1.0)], Access::Sequential);
    driver.defect(elsewhere, Defect::Misplaced(place));
    let loaded = load(&driver, mix, 1, 1, 35);
    let found = check(&driver, &files(), &loaded.written);
    // The other place has the wrong length, so it is not `Corrupt`, but still wrong.
    assert_eq!((found.checked.wrong, wrong_places(&found)), (2, [elsewhere].into()));
    assert_eq!(found.total.op(OpKind::Read).unwrap().errors[ErrorKind::Length as usize], 1);
}

#[test]
fn a_stale_block_is_told_from_one_that_is_wrong_for_good() {
    let place = (1, 0);
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    let mix = mix_of(&files(), &[(OpKind::Write, 1.0)], Access::Shuffled);
    let loaded = load(&driver, mix, 1, 2, 70);
    driver.defect(place, Defect::StaleRead);
    let found = check(&driver, &files(), &loaded.written);
    assert_eq!((found.checked.wrong, wrong_places(&found)), (1, [place].into()));
    assert!(
        found.corrupt[0]
            .detail
            .ends_with("a second read was right: the first was stale, torn or damaged on the way")
    );
    // The second read is not an operation of the load.
    assert_eq!((found.total.ok(), found.total.failed()), (34, 1));
}

#[test]
fn files_that_are_read_as_a_whole_are_compared_with_the_fill() {
    // Whole files are one block each here.
    let data_set = DataSet::laid_out(DataShape::Files { file_bytes: BLOCK, block_bytes: BLOCK }, 5);
    let driver = MemoryDriver::default();
    driver.defect((3, 0), Defect::FlippedBit);
    fill(&driver, &data_set);
    let mix = mix_of(&data_set, &[(OpKind::ReadFile, 1.0)], Access::Random);
    let loaded = load(&driver, mix, 1, 4, 500);
    assert_eq!(wrong_places(&loaded), [(3, 0)].into());
    let failed = loaded.total.op(OpKind::ReadFile).unwrap().errors[ErrorKind::Corrupt as usize];
    assert!((50..150).contains(&failed) && loaded.total.failed() == failed, "{failed}");
}

#[test]
fn whole_files_whose_content_is_not_tracked_are_refused() {
    for ops in [
        &[(OpKind::Overwrite, 1.0)][..],
        &[(OpKind::TruncateOverwrite, 1.0)],
        &[(OpKind::ReadFile, 0.5), (OpKind::Write, 0.5)],
    ] {
        let workload = StageWorkload::Mix(mix_of(&files(), ops, Access::Random));
        let plan = StagePlan { workload, sink: Sink::Verify, ..plan() };
        let refused =
            engine::run_stage(&MemoryDriver::default(), &plan, &engine::Control::new(), &mut |_| {});
        assert!(refused.unwrap_err().to_string().contains("whole files"), "{ops:?}");
    }
}

#[test]
fn a_load_finds_defects_while_it_runs() {
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    driver.defect((3, BLOCK), Defect::FlippedBit);
    let ops = [(OpKind::Read, 0.7), (OpKind::Write, 0.3)];
    let loaded = load(&driver, mix_of(&files(), &ops, Access::Random), 1, 4, 2000);
    assert!(loaded.total.failed() > 0 && loaded.corrupt.len() <= 16);
    assert_eq!(wrong_places(&loaded), [(3, BLOCK)].into());
    // A verified read-only load is compared with the fill, by all lanes everywhere.
    let driver = MemoryDriver::default();
    driver.defect((3, BLOCK), Defect::FlippedBit);
    fill(&driver, &files());
    let loaded = load(&driver, mix_of(&files(), &[(OpKind::Read, 1.0)], Access::Random), 1, 4, 2000);
    assert_eq!(wrong_places(&loaded), [(3, BLOCK)].into());
    assert!(loaded.written.is_uniform(3));
}

#[test]
fn what_was_not_acknowledged_is_not_judged_and_is_counted() {
    for stored in [false, true] {
        let driver = MemoryDriver::default();
        fill(&driver, &files());
        driver.defect((2, 0), Defect::Refused { stored });
        driver.defect((2, 2 * BLOCK), Defect::Refused { stored });
        let ops = [(OpKind::Read, 0.5), (OpKind::Write, 0.5)];
        let loaded = load(&driver, mix_of(&files(), &ops, Access::Shuffled), 1, 3, 500);
        // Blocks in doubt are not read, so nothing is called corrupt.
        let read = loaded.total.op(OpKind::Read).unwrap();
        assert_eq!((read.failed(), loaded.corrupt.len()), (0, 0));
        let found = check(&driver, &files(), &loaded.written);
        let checked = found.checked;
        assert_eq!((checked.uncertain, checked.right, checked.wrong), (2, 33, 0));
        assert_eq!(checked.blocks(), 35);
    }
}

#[test]
fn what_is_in_flight_at_the_end_is_not_judged() {
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    let workload = StageWorkload::Mix(mix_of(&files(), &[(OpKind::Write, 1.0)], Access::Random));
    // The write that starts at 19 ms would end at 20: it is not waited for, and its block is in doubt.
    let drain = std::time::Duration::ZERO;
    let window = std::time::Duration::from_micros(19_500);
    let loaded = run(&driver, &StagePlan { window, drain, workload, ..plan() });
    assert_eq!((loaded.total.ok(), loaded.abandoned), (19, 1));
    let found = check(&driver, &files(), &loaded.written);
    assert_eq!((found.checked.uncertain, found.checked.right), (1, 34));
}

#[test]
fn a_commit_that_fails_puts_in_doubt_what_it_was_for() {
    let writes = mix_of(&files(), &[(OpKind::Write, 1.0)], Access::Sequential);
    let mix = Mix { fsync_every: 4, ..writes };
    let driver = support::LogDriver::new(|_, op| {
        (op.kind == OpKind::Commit && op.object == 0).then_some(ErrorKind::ServerFault)
    });
    let plan = StagePlan { stop: StopRule::Ops(15), workload: StageWorkload::Mix(mix), ..plan() };
    let loaded = run(&driver, &plan);
    let commits = driver.asked().iter().filter(|op| op.kind == OpKind::Commit).count();
    assert_eq!((commits, loaded.total.failed()), (3, 1), "after 4, 8 and 12 writes; the first is of file 0");
    let workload = StageWorkload::Check { data_set: files(), block_bytes: BLOCK, written: loaded.written };
    let stop = StopRule::Exhausted;
    let found = run(&driver, &StagePlan { stop, workload, sink: Sink::Verify, ..plan.clone() });
    assert_eq!((found.checked.uncertain, found.checked.right), (4, 31));
}

#[test]
fn content_that_nobody_kept_track_of_is_not_judged() {
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    let mix = Mix { verify: false, ..mix_of(&files(), &[(OpKind::Write, 1.0)], Access::Random) };
    let loaded = load(&driver, mix, 1, 2, 50);
    assert!(!loaded.written.is_known());
    let found = check(&driver, &files(), &loaded.written);
    assert_eq!((found.checked.uncertain, found.checked.blocks()), (35, 35));
}

#[test]
fn what_is_missing_or_shorter_is_wrong() {
    let driver = MemoryDriver::default();
    fill(&driver, &files());
    let larger = DataSet::laid_out(FILES, 6);
    let found = check(&driver, &larger, &ContentSummary::uniform(3));
    assert_eq!((found.checked.right, found.checked.wrong), (35, 7));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// With any data set, any lanes and any length of the load, a clean target is found clean, and one lost block is
    /// found.
    #[test]
    fn exactly_what_was_lost_is_found(
        files in 1u64..6,
        file_bytes in 64u64..700,
        workers in 1u32..4,
        lanes in 1u32..4,
        ops in 0u64..200,
        pattern in 0usize..7,
        lost in any::<prop::sample::Index>(),
    ) {
        let data_set = DataSet::laid_out(DataShape::Files { file_bytes, block_bytes: BLOCK }, files);
        let per_file = file_bytes.div_ceil(BLOCK);
        prop_assume!(files * per_file >= u64::from(workers * lanes));
        let mix = || mix_of(&data_set, &[(OpKind::Write, 0.7), (OpKind::Read, 0.3)], ACCESSES[pattern]);
        let clean = MemoryDriver::default();
        fill(&clean, &data_set);
        let loaded = load(&clean, mix(), workers, lanes, ops);
        prop_assert_eq!(loaded.total.failed(), 0);
        let found = check(&clean, &data_set, &loaded.written);
        prop_assert_eq!(found.checked.right, files * per_file);

        let at = lost.index((files * per_file) as usize) as u64;
        let place = (at / per_file, at % per_file * BLOCK);
        let driver = MemoryDriver::default();
        fill(&driver, &data_set);
        driver.defect(place, Defect::LostWrite);
        let loaded = load(&driver, mix(), workers, lanes, ops);
        let found = check(&driver, &data_set, &loaded.written);
        // The content of the fill is there; it is wrong only if the load got as far as writing the block.
        let was_written = clean.content(place) != driver.content(place);
        prop_assert_eq!(found.checked.wrong, u64::from(was_written));
        prop_assert!(wrong_places(&found).iter().all(|wrong| *wrong == place));
        prop_assert_eq!(found.checked.blocks(), files * per_file);
    }
}
