//! Every figure here was observed with fio 3.33.

use super::*;
use crate::{BlockSizes, Directions};

fn job(change: impl FnOnce(&mut Job)) -> Job {
    let mut job = Job { name: "a".into(), ..Job::default() };
    change(&mut job);
    job
}

const MISSING: FoundFile = FoundFile { bytes: 0, fixed: false };

fn found(bytes: u64) -> FoundFile {
    FoundFile { bytes, fixed: false }
}

fn part(start: u64, length: u64, bytes: u64) -> Result<FilePart, BeginsBehindEnd> {
    Ok(FilePart { start, length, bytes })
}

#[test]
fn a_size_is_shared_by_the_files() {
    let three = job(|job| {
        job.region.size = Amount::Bytes(102_400);
        job.files.count = 3;
    });
    for file in 0..3 {
        assert_eq!(three.part(0, file, MISSING), part(0, 34_133, 34_133));
    }
    assert_eq!(three.part(0, 0, found(50_000)), part(0, 34_133, 50_000), "what is longer stays");
}

#[test]
fn without_a_size_all_that_is_there_is_used() {
    assert_eq!(job(|_| {}).part(0, 0, found(20_000)), part(0, 20_000, 20_000));
    assert_eq!(job(|_| {}).part(0, 0, MISSING), part(0, 0, 0));
    let half = job(|job| job.region.size = Amount::Percent(50.0));
    assert_eq!(half.part(0, 0, found(20_000)), part(0, 8192, 20_000), "whole blocks");
}

#[test]
fn sizes_of_files_count_before_the_region() {
    let given = job(|job| {
        job.files.bytes = 65_536;
        job.region.size = Amount::Bytes(32_768);
        job.region.offset = Amount::Bytes(16_384);
    });
    assert_eq!(given.part(0, 0, MISSING), part(16_384, 49_152, 65_536));
    let half = job(|job| {
        job.files.bytes = 65_536;
        job.region.size = Amount::Percent(50.0);
    });
    assert_eq!(half.part(0, 0, MISSING), part(0, 32_768, 32_768));
    let quarter = job(|job| {
        job.files.bytes = 65_536;
        job.region.offset = Amount::Percent(25.0);
    });
    assert_eq!(quarter.part(0, 0, MISSING), part(0, 65_536, 65_536), "a quarter of nothing");
}

#[test]
fn each_worker_begins_further_on() {
    let steps = job(|job| {
        job.region.size = Amount::Bytes(32_768);
        job.region.offset_increment = Amount::Bytes(32_768);
        job.files.names.listed = vec!["x".into()];
    });
    for number in 0..3 {
        let start = u64::from(number) * 32_768;
        assert_eq!(steps.part(number, 0, MISSING), part(start, 32_768, start + 32_768));
    }
}

#[test]
fn what_is_appended_lies_behind_what_is_there() {
    let append = job(|job| {
        job.region.size = Amount::Bytes(65_536);
        job.files.layout.append = true;
    });
    assert_eq!(append.part(0, 0, found(20_000)), part(20_000, 65_536, 85_536));
    assert_eq!(append.part(0, 0, MISSING), part(0, 65_536, 65_536));
}

#[test]
fn devices_do_not_grow() {
    let device = |bytes| FoundFile { bytes, fixed: true };
    let large = job(|job| job.region.size = Amount::Bytes(1 << 30));
    assert_eq!(large.part(0, 0, device(1 << 20)), part(0, 1 << 20, 1 << 20));
    let late = job(|job| {
        job.region.offset = Amount::Percent(50.0);
        job.region.offset_increment = Amount::Percent(25.0);
    });
    assert_eq!(late.part(1, 0, device(1 << 20)), part(768 << 10, 256 << 10, 1 << 20));
    assert!(late.part(3, 0, device(1 << 20)).unwrap_err().to_string().contains("smaller offset"));
    let full = job(|job| job.region.fill_device = true);
    assert_eq!(full.part(0, 0, device(1 << 20)), part(0, 1 << 20, 1 << 20));
    assert_eq!(full.part(0, 0, MISSING), part(0, UNTIL_FULL, 0));
}

#[test]
fn sizes_from_a_range_are_whole_blocks_within_it() {
    let range = job(|job| {
        job.files.bytes = 40 << 10;
        job.files.most_bytes = 80 << 10;
        job.files.count = 100;
        job.block_sizes =
            BlockSizes { sizes: Directions::all(SizeChoice::Fixed(4096)), ..BlockSizes::default() };
    });
    let sizes: Vec<u64> = (0..100).map(|file| range.part(0, file, MISSING).unwrap().bytes).collect();
    assert!(
        sizes.iter().all(|bytes| bytes % 4096 == 0 && (40 << 10..=80 << 10).contains(bytes)),
        "{sizes:?}"
    );
    assert!(sizes.iter().any(|bytes| *bytes != sizes[0]));
    assert_eq!(range.part(0, 7, MISSING).unwrap().bytes, sizes[7], "the same again");
    assert_eq!(range.part(0, 7, found(50_000)), part(0, 50_000, 50_000), "what fits is used as it is");
    assert_eq!(range.part(0, 7, found(90_000)), part(0, sizes[7], 90_000));
}
