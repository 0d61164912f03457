//! Files of every version stay readable, the layout does not change by accident, and foreign files are left alone.
//!
//! When the layout changes: add a migration in `src/schema.rs`, and write a file of the new version with
//! `MANOMETER_WRITE_SAMPLE=tests/data/results cargo test -p store --test layout` from the top of the repository. Files
//! of earlier versions are never rewritten.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use store::{State, Store, StoreError, VERSION};
use support::{cells, events, interval, moment, run, sample};

fn kept(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/results/v{version}.sqlite"))
}

/// A copy, since opening a file migrates it.
fn copy(version: i64) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    fs::copy(kept(version), &path).unwrap();
    (directory, path)
}

/// Every table, index and view, as SQL.
fn layout(path: &Path) -> Vec<(String, String)> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_file_of_each_version_is_read() {
    if let Some(directory) = std::env::var_os("MANOMETER_WRITE_SAMPLE") {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
        let new = directory.join("new.sqlite");
        drop(sample(&new));
        fs::rename(new, directory.join(format!("v{VERSION}.sqlite"))).unwrap();
    }
    for version in 1..=VERSION {
        let (_directory, path) = copy(version);
        let store = Store::open_existing(&path).unwrap();
        let expected = store::RunRecord {
            state: State::Interrupted,
            finished: Some(moment(700)),
            ..run("aaaabbb2", "every alternative")
        };
        assert_eq!(store.run("last").unwrap(), expected, "version {version}");
        assert_eq!(store.cells("aaaabbb2").unwrap(), cells(), "version {version}");
        assert_eq!(store.events("aaaabbb2").unwrap(), events(), "version {version}");
        let measured = store.intervals("aaaabbb2", 1, "measure", 0, 0..u32::MAX).unwrap();
        let measured: Vec<_> = measured.map(Result::unwrap).collect();
        assert_eq!(measured, (0..5).map(interval).collect::<Vec<_>>(), "version {version}");
        // It can be resumed.
        store.resume_run("aaaabbb2").unwrap();
        store.begin_cell("aaaabbb2", 5, moment(800)).unwrap();
    }
}

#[test]
fn the_layout_is_that_of_its_version() {
    let directory = tempfile::tempdir().unwrap();
    let fresh = directory.path().join("fresh.sqlite");
    drop(Store::open(&fresh).unwrap());
    let (_directory, last) = copy(VERSION);
    assert_eq!(
        layout(&fresh),
        layout(&last),
        "the layout is not that of version {VERSION} any more: add a migration and a file (see the top of this file)"
    );
    for version in 1..=VERSION {
        let (_directory, path) = copy(version);
        drop(Store::open(&path).unwrap());
        assert_eq!(layout(&path), layout(&fresh), "version {version} brought up to date");
    }
}

#[test]
fn a_missing_directory_is_made_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b ?#%41/results.sqlite");
    let store = Store::open(&path).unwrap();
    store.begin_run(&run("aaaabbb2", "odd path")).unwrap();
    drop(store);
    for made in ["a", "a/b ?#%41"] {
        let mode = fs::metadata(directory.path().join(made)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
    assert_eq!(Store::open_existing(&path).unwrap().runs().unwrap().len(), 1);
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["results.sqlite"], "a closed file is one file");
}

/// Refused in one line with a next step, and not a byte has changed.
fn assert_left_alone(path: &Path, words: &[&str]) {
    let directory = path.parent().unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (names(), fs::read(path).ok());
    for opened in [Store::open(path), Store::open_existing(path)] {
        let line = opened.unwrap_err().to_string();
        assert!(!line.contains('\n') && line.contains("next: "), "{line}");
        words.iter().for_each(|word| assert!(line.contains(word), "{line}"));
    }
    assert!((names(), fs::read(path).ok()) == before, "{} was touched", path.display());
}

#[test]
fn what_belongs_to_others_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for journal in ["WAL", "DELETE"] {
        let path = at(&format!("other-{journal}.sqlite"));
        let connection = Connection::open(&path).unwrap();
        connection.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |_| Ok(())).unwrap();
        connection.execute_batch("CREATE TABLE runs (id TEXT)").unwrap();
        drop(connection);
        assert_left_alone(&path, &["database of another program", "--results"]);
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        drop(connection);
        assert_left_alone(&path, &["database of another program", "--results"]);
    }
    // Its tables are still in its journal; the file itself is blank.
    let other = Connection::open(at("busy.sqlite")).unwrap();
    other.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    other.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
    let before = fs::read(at("busy.sqlite-wal")).unwrap();
    assert!(matches!(Store::open(&at("busy.sqlite")), Err(StoreError::Foreign { .. })));
    assert!(fs::read(at("busy.sqlite-wal")).unwrap() == before);
    assert_eq!(other.query_row("SELECT x FROM t", [], |row| row.get(0)), Ok(7));
    fs::write(at("text"), "id,name\n".repeat(1000)).unwrap();
    assert_left_alone(&at("text"), &["not a results file"]);
    fs::write(at("short"), "x").unwrap();
    assert_left_alone(&at("short"), &["not a results file"]);
    fs::write(at("medium"), "x\n".repeat(1500)).unwrap();
    assert_left_alone(&at("medium"), &["not a results file"]);
    fs::write(at("zeros"), vec![0; 8192]).unwrap();
    assert_left_alone(&at("zeros"), &["not a results file"]);
    fs::create_dir(at("directory")).unwrap();
    assert_left_alone(&at("directory"), &["a directory"]);
    fs::write(at("file"), "").unwrap();
    let line = Store::open(&at("file/results.sqlite")).unwrap_err().to_string();
    assert!(line.contains("Not a directory") && line.contains("next: "), "{line}");
}

#[test]
fn a_file_of_a_newer_program_is_refused_and_left_as_it_is() {
    let (_directory, path) = copy(VERSION);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
    drop(connection);
    let newer = format!("version {}", VERSION + 1);
    assert_left_alone(&path, &["newer manometer", &newer]);
}

#[test]
fn an_empty_file_is_taken_and_an_absent_one_is_not_made_by_looking() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.sqlite");
    assert!(matches!(Store::open_existing(&path), Err(StoreError::Missing(_))));
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    assert!(matches!(Store::open_existing(&path), Err(StoreError::Missing(_))));
    drop(Store::open(&path).unwrap());
    assert!(Store::open_existing(&path).unwrap().runs().unwrap().is_empty());
}

#[test]
fn damage_is_said_in_one_line() {
    let (_directory, path) = copy(VERSION);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length - 4096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let read = Store::open_existing(&path).and_then(|store| store.run("last"));
    let line = read.unwrap_err().to_string();
    assert!(line.contains("is damaged") && line.contains("next: ") && !line.contains('\n'), "{line}");
    // A truncated file.
    fs::write(&path, &bytes[..2000]).unwrap();
    let line = Store::open_existing(&path).and_then(|store| store.runs()).unwrap_err().to_string();
    assert!(line.contains("next: ") && !line.contains('\n'), "{line}");
}

/// The first page holds the file's length, and is checkpointed first.
#[test]
fn a_journal_that_was_carried_over_in_part_is_no_damage() {
    let (directory, path) = copy(VERSION);
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer.execute("UPDATE runs SET plan = plan || printf('%400000s', '')", []).unwrap();
    let half = directory.path().join("half.sqlite");
    fs::copy(&path, &half).unwrap();
    fs::copy(directory.path().join("results.sqlite-wal"), directory.path().join("half.sqlite-wal")).unwrap();
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let (whole, mut cut) = (fs::read(&path).unwrap(), fs::read(&half).unwrap());
    assert!(whole.len() > cut.len() && whole[..4096] != cut[..4096]);
    cut[..4096].copy_from_slice(&whole[..4096]);
    fs::write(&half, cut).unwrap();
    let store = Store::open_existing(&half).unwrap();
    assert_eq!(store.run("last").unwrap().plan, run("aaaabbb2", "every alternative").plan);
    assert_eq!(store.cells("aaaabbb2").unwrap(), cells());
}

#[test]
fn records_that_cannot_be_understood_are_damage() {
    let (_directory, path) = copy(VERSION);
    let spoil = |sql: &str| {
        let connection = Connection::open(&path).unwrap();
        assert!(connection.execute(sql, []).unwrap() > 0);
        drop(connection);
        Store::open_existing(&path).unwrap()
    };
    let store = spoil("UPDATE interval_ops SET service = X'0102' WHERE op = 'read'");
    let mut intervals = store.intervals("aaaabbb2", 0, "measure", 0, 0..9).unwrap();
    let line = intervals.next().unwrap().unwrap_err().to_string();
    assert!(line.contains("interval 0") && line.contains("damaged"), "{line}");
    assert!(intervals.next().is_none());
    assert!(store.series("aaaabbb2", 0, "measure", 0, 0..9).unwrap().all(|point| point.is_ok()));
    let store = spoil("UPDATE interval_ops SET op = 'fly' WHERE op = 'read'");
    assert!(store.series("aaaabbb2", 0, "measure", 0, 0..9).unwrap().next().unwrap().is_err());
    let store = spoil("UPDATE cells SET result = '{}' WHERE cell = 0");
    assert!(store.cells("aaaabbb2").unwrap_err().to_string().contains("damaged"));
    let store = spoil("UPDATE runs SET state = 'asleep'");
    assert!(store.run("last").unwrap_err().to_string().contains("asleep"));
    let store = spoil("UPDATE runs SET state = 'failed', started = 'yesterday'");
    assert!(store.summaries().unwrap_err().to_string().contains("yesterday"));
}

#[test]
fn a_lock_that_is_not_given_up_is_named() {
    let (_directory, path) = copy(VERSION);
    let store = Store::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.runs().unwrap().len(), 2, "reading needs no lock");
    let line = store.finish_run("aaaabbb2", State::Finished, moment(0)).unwrap_err().to_string();
    assert!(line.contains("locked by another process") && line.contains("fuser"), "{line}");
    other.execute_batch("ROLLBACK").unwrap();
    store.finish_run("aaaabbb2", State::Finished, moment(0)).unwrap();
}
