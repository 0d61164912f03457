//! The RBD driver against a scripted librbd, compiled from `data/librbd.c`.
#![allow(clippy::unwrap_used)]

mod rados_library;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use drivers::rados::rbd::{RbdConfig, RbdCreation, RbdDriver};
use drivers::rados::{RadosAccess, RadosConfig};
use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use tempfile::TempDir;

/// The scripted libraries: librados, librbd.
static LIBRARIES: LazyLock<(TempDir, PathBuf, PathBuf)> = LazyLock::new(|| {
    let directory = rados_library::compiled_with_rbd();
    let file = |name| directory.path().join(name);
    let (rados, rbd) = (file("librados.so.2"), file("librbd.so.1"));
    (directory, rados, rbd)
});

fn config(image: &str) -> RbdConfig {
    let pool = RadosConfig::new(RadosAccess::default(), "bench", "rbd");
    let (_, rados, rbd) = &*LIBRARIES;
    let pool = RadosConfig { library: Some(rados.clone()), ..pool };
    RbdConfig { library: Some(rbd.clone()), ..RbdConfig::new(pool, image) }
}

/// A driver that may write to the image.
fn driver(config: RbdConfig) -> RbdDriver {
    let driver = RbdDriver::new(config).unwrap();
    driver.allow_writing(true, LONG).unwrap();
    driver
}

/// Performs operations one after another in a session of its own.
fn perform(driver: &RbdDriver, ops: &[Op], op_timeout: Duration) -> (Vec<Result<Done, OpError>>, u64) {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(op_timeout)).await.unwrap();
        let mut results = Vec::new();
        for op in ops {
            results.push(session.perform(op).await);
        }
        (results, session.facts().late_replies)
    })
}

fn context(op_timeout: Duration) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes: 1,
        payload: Payload::new(7),
        sink: Sink::Verify,
        op_timeout,
        connect_timeout: Duration::from_secs(1),
    }
}

const LONG: Duration = Duration::from_secs(30);

fn op(kind: OpKind, slice: u64) -> Op {
    Op::new(kind, 0, slice)
}

const MIB: u64 = 1 << 20;

fn created(bytes: u64) -> RbdCreation {
    RbdCreation { bytes, object_bytes: None, data_pool: None, usual_features: true }
}

fn kinds(results: Vec<Result<Done, OpError>>) -> Vec<Option<ErrorKind>> {
    results.into_iter().map(|result| result.err().map(|error| error.kind)).collect()
}

#[test]
fn an_image_is_written_read_verified_trimmed_and_flushed_by_slices() {
    let ours = driver_of_new("slices", RbdConfig { slice_bytes: 2 * MIB, ..config("slices") });
    let block = |kind, slice, offset| op(kind, slice).range(offset, 65_536);
    let ops = [
        block(OpKind::Write, 1, 2 * MIB - 65_536),
        block(OpKind::Read, 1, 2 * MIB - 65_536),
        block(OpKind::Write, 0, 0).generation(1),
        block(OpKind::Read, 0, 0).generation(1),
        op(OpKind::Commit, 0),
        block(OpKind::Trim, 0, 0),
        block(OpKind::Write, 0, MIB),
        block(OpKind::WriteZeroes, 0, MIB),
        block(OpKind::Read, 0, MIB).generation(Op::ZEROES),
    ];
    let (results, late) = perform(&ours, &ops, LONG);
    for (op, result) in ops.iter().zip(results) {
        let done = result.unwrap_or_else(|error| panic!("{op:?}: {error}"));
        assert_eq!((done.bytes, done.rpcs), (op.payload_bytes(), 1), "{op:?}");
    }
    assert_eq!(late, 0);
    assert_eq!(ours.bytes_at(0, 65_536, LONG).unwrap(), vec![0; 65_536]);
    let behind = ours.bytes_at(4 * MIB - 65_536, 100_000, LONG).unwrap();
    assert!(behind.len() == 65_536 && behind.iter().any(|byte| *byte != 0));
    // What was trimmed is no longer there, and nothing is behind the end.
    let wrong = [block(OpKind::Read, 0, 0).generation(1), block(OpKind::Write, 1, 2 * MIB - 4096)];
    let expected = [Some(ErrorKind::Corrupt), Some(ErrorKind::Length)];
    assert_eq!(kinds(perform(&ours, &wrong, LONG).0), expected);
    ours.remove(LONG).unwrap();
}

/// A driver of an image that is created for it.
fn driver_of_new(name: &str, config: RbdConfig) -> RbdDriver {
    let driver = RbdDriver::new(config).unwrap();
    let mut announced = false;
    let mut announce = || {
        announced = true;
        Ok(())
    };
    driver.create(&created(4 * MIB), &mut announce, LONG).unwrap();
    assert!(announced, "{name}");
    driver
}

#[test]
fn small_trims_leave_data_unless_they_write_zeroes() {
    for (zeroes, name) in [(false, "discards"), (true, "zeroes")] {
        let ours = driver_of_new(name, RbdConfig { zeroes, ..config(name) });
        let ops = [op(OpKind::Write, 0).range(8192, 4096), op(OpKind::Trim, 0).range(8192, 4096)];
        let (results, _) = perform(&ours, &ops, LONG);
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        let left = ours.bytes_at(8192, 4096, LONG).unwrap().iter().any(|byte| *byte != 0);
        assert_eq!(left, !zeroes);
    }
}

#[test]
fn an_image_is_created_once_with_what_is_asked_for_and_removed() {
    let creation = RbdCreation {
        object_bytes: Some(MIB),
        usual_features: false,
        data_pool: Some("bench".to_owned()),
        ..created(3 * MIB)
    };
    let ours = RbdDriver::new(config("own")).unwrap();
    assert_eq!(ours.adopt(LONG).unwrap_err().kind, ErrorKind::NotFound);
    // What cannot be announced is not created.
    let refused = ours.create(
        &creation,
        &mut || Err(DriverError::new(ErrorKind::Local, "the disk with the journal is full")),
        LONG,
    );
    assert!(refused.unwrap_err().detail.contains("journal"));
    assert_eq!(ours.look(LONG).unwrap_err().kind, ErrorKind::NotFound);
    ours.create(&creation, &mut || Ok(()), LONG).unwrap();
    let facts = ours.look(LONG).unwrap();
    assert_eq!((facts.bytes, facts.object_bytes, &*facts.features), (3 * MIB, MIB, &["layering"][..]));
    assert!(!facts.exclusive_lock);
    let again = ours.create(&created(MIB), &mut || Ok(()), LONG).unwrap_err();
    assert_eq!(again.kind, ErrorKind::AlreadyExists);
    ours.adopt(LONG).unwrap();
    ours.remove(LONG).unwrap();
    ours.remove(LONG).unwrap();
    let nowhere = RbdCreation { data_pool: Some("missing".to_owned()), ..created(MIB) };
    let error = ours.create(&nowhere, &mut || Ok(()), LONG).unwrap_err();
    assert!(error.detail.contains("missing is not there; next: `ceph osd pool ls`"), "{error}");
    // A client that died is waited for.
    RbdDriver::new(config("busy")).unwrap().remove(LONG).unwrap();
}

#[test]
fn what_an_image_holds_is_protected() {
    let theirs = RbdDriver::new(config("theirs")).unwrap();
    let error = theirs.allow_writing(false, LONG).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert_eq!(
        &*error.detail,
        "RBD image bench/theirs carries an XFS file system: nothing was written; to overwrite it anyway, give --destroy \
         rbd://bench/theirs"
    );
    // Without that check a session writes nothing.
    let ops = [op(OpKind::Write, 0).range(0, 4096), op(OpKind::Trim, 0).range(0, 4096)];
    let ops = [&ops[..], &[op(OpKind::WriteZeroes, 0).range(0, 4096)]].concat();
    assert_eq!(kinds(perform(&theirs, &ops, LONG).0), [Some(ErrorKind::Local); 3]);
    assert_eq!(&theirs.bytes_at(0, 4, LONG).unwrap(), b"XFSB");
    let facts = theirs.look(LONG).unwrap();
    assert!(facts.exclusive_lock && facts.watchers.is_empty(), "{facts:?}");
    let watched = RbdDriver::new(config("watched")).unwrap().look(LONG).unwrap();
    assert_eq!(watched.watchers, ["client.4123 at 10.0.0.1:0/77"]);
}

#[test]
fn errors_name_operation_range_and_image() {
    let (results, _) = perform(
        &driver(config("failing")),
        &[op(OpKind::Read, 0).range(4096, 512), op(OpKind::Stat, 0)],
        LONG,
    );
    let error = results[0].as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::ServerFault);
    assert_eq!(
        &*error.detail,
        "read of 512 bytes at 4096, RBD image bench/failing: Input/output error (error 5)"
    );
    assert_eq!(results[1].as_ref().unwrap_err().kind, ErrorKind::Rejected);
}

/// librbd returns operations long after they were given up: the memory stays theirs.
#[test]
fn an_operation_ends_at_its_deadline_and_keeps_its_memory_until_librbd_is_done() {
    let slow = driver(config("slow"));
    let read = op(OpKind::Read, 0).range(0, 4096);
    let commit = op(OpKind::Commit, 0);
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    reactor.block_on(async {
        let session = slow.connect(&reactor, &context(Duration::from_millis(500))).await.unwrap();
        let error = session.perform(&read).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        while session.facts().late_replies < 1 {
            session.perform(&commit).await.unwrap();
        }
        // The session is closed while librbd has an operation.
        session.perform(&read).await.unwrap_err();
    });
}

#[test]
fn what_cannot_be_opened_is_explained_in_one_line() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let refused = |config: RbdConfig| {
        let driver = RbdDriver::new(config).unwrap();
        reactor.block_on(driver.connect(&reactor, &context(LONG))).err().unwrap()
    };
    let other_pool = |name: &str| {
        let usual = config("blank");
        RbdConfig { pool: RadosConfig { pool: name.to_owned(), ..usual.pool.clone() }, ..usual }
    };
    for (config, kind, text) in [
        (config("nothing"), ErrorKind::NotFound, "there is no such image; next: `rbd ls bench`"),
        (other_pool("sink"), ErrorKind::NotFound, "there is no pool sink; next:"),
        (config("stuck"), ErrorKind::TimedOut, "could not be opened within 1s; next:"),
        (
            RbdConfig { library: Some("librbd-missing.so.9".into()), ..config("blank") },
            ErrorKind::Local,
            "next: install the package librbd1",
        ),
    ] {
        let error = refused(config);
        assert!(error.kind == kind && error.detail.contains(text), "{error:?}");
        assert!(!error.detail.contains('\n'), "{error}");
    }
    for name in ["", "a@b", "a/b", &"x".repeat(96)] {
        assert!(RbdDriver::new(config(name)).is_err(), "{name}");
    }
}
