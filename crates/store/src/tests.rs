//! Tests that need the store's internals: a full disk.

use std::path::Path;

use metrics::{Interval, OpKind};

use crate::record::{Environment, RunRecord, State};
use crate::{Store, StoreError};

fn run(id: &str) -> RunRecord {
    RunRecord {
        id: id.into(),
        name: "full".into(),
        started: jiff::Timestamp::UNIX_EPOCH,
        finished: None,
        state: State::Running,
        version: "0".into(),
        plan: experiment::Plan {
            name: "full".into(),
            description: Some("x".repeat(100_000)),
            seed: 1,
            results: None,
            fleet: None,
            observe: None,
            server_scale: None,
            cells: Vec::new(),
        },
        environment: Environment::default(),
        hosts: Vec::new(),
    }
}

/// A store whose file may not grow any more.
fn full(path: &Path) -> Store {
    let store = Store::open(path).unwrap();
    let pages: i64 =
        store.connection.sqlite().unwrap().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    store
        .connection
        .sqlite()
        .unwrap()
        .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
        .unwrap();
    store
}

#[test]
fn a_full_disk_is_one_line_and_leaves_the_file_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    Store::open(&path).unwrap().begin_run(&run("aaaabbb2")).unwrap();
    let store = full(&path);
    let error = store.begin_run(&run("zzzz2222")).unwrap_err();
    assert!(matches!(error, StoreError::Full(_)));
    let line = error.to_string();
    assert!(line.contains("full; next: make room") && line.contains("manometer forget"), "{line}");
    assert_eq!(store.runs().unwrap(), vec![run("aaaabbb2")], "all or nothing");
    // The space that a removed run leaves is enough.
    store.forget("aaaabbb2").unwrap();
    drop(store);
    Store::open(&path).unwrap().begin_run(&run("zzzz2222")).unwrap();
}

#[test]
fn the_writer_says_why_it_ended_and_says_it_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.begin_run(&run("aaaabbb2")).unwrap();
    assert!(matches!(store.writer("zzzz2222"), Err(StoreError::Unknown { .. })));
    let mut writer = store.writer("aaaabbb2").unwrap();
    let mut interval = Interval::default();
    interval.op_mut(OpKind::Read).ok = 1;
    // The plan has no cell 7.
    writer.interval(7, "measure", 0, &interval).unwrap();
    let line = writer.flush().unwrap_err().to_string();
    assert!(line.contains("has no cell 7"), "{line}");
    let again = writer.finish().unwrap_err().to_string();
    assert!(again.contains("after the error that was reported"), "{again}");
}

#[test]
fn a_histogram_takes_little_room_and_other_libraries_read_it() {
    let mut histogram = metrics::Histogram::new();
    (0..100_000u64).for_each(|n| histogram.record(1_000_000 + n * n % 700_001));
    let packed = crate::pack_histogram(&histogram);
    assert!(packed.len() < 4000 && packed.len() < histogram.to_bytes().len(), "{}", packed.len());
    assert_eq!(packed[..4], 0x1c84_9314_u32.to_be_bytes(), "HdrHistogram V2, compressed");
    assert_eq!(packed[4..8], u32::try_from(packed.len() - 8).unwrap().to_be_bytes());
    // The library's own decoder for this format, which knows nothing about our encoder.
    assert_eq!(metrics::Histogram::from_bytes(&packed), Ok(histogram));
    assert_eq!(crate::unpack_histogram(&[]), Ok(metrics::Histogram::new()));
}

/// Independent of this process's privileges.
#[test]
fn an_older_file_is_shown_like_a_new_one_without_a_change() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/results/v1.sqlite");
    let connection = crate::file::as_it_lies(&old).unwrap();
    let store = Store::of_file(old.clone(), connection);
    assert!(store.run("last").unwrap().hosts.is_empty());
    assert_eq!(store.intervals("aaaabbb2", 1, "measure", 0, 0..9).unwrap().count(), 5);
    assert_eq!(store.stages("aaaabbb2", 1).unwrap().len(), 3);
    assert!(store.host_series("aaaabbb2", 1).unwrap().is_empty());
    assert!(store.samples("aaaabbb2", 1, "db1").unwrap().is_empty());
    assert!(store.baselines().unwrap().is_empty());
    assert!(store.forget_baseline("x").is_err() && store.begin_run(&run("zzzz2222")).is_err());
}
