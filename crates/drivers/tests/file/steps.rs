//! The system calls of an operation, counted and timed.

use drivers::file::{FileSession, Place};
use drivers::{Op, Session, Sink};
use metrics::{CallKind, OpKind};
use reactor::{BackendChoice, Reactor};

use crate::support::{connect, directory, driver, op, perform, place, with_directories};

const LEN: u64 = 65_536;

/// The calls of the last operation: name, calls, errors.
fn calls(session: &FileSession) -> Vec<(&'static str, u64, u64)> {
    let mut all = Vec::new();
    session.visit_procedures(0, |stats| {
        assert_eq!(stats.ok + stats.errors, stats.calls, "{stats:?}");
        assert!(stats.max_ns <= stats.total_ns && (stats.ok == 0) == (stats.total_ns == 0), "{stats:?}");
        assert!(stats.procedure.is_system_call(), "{stats:?}");
        all.push((stats.procedure.name(), stats.calls, stats.errors));
    });
    all
}

#[test]
fn each_step_of_a_file_is_counted_and_timed() {
    with_directories(Sink::Verify, |reactor, session, _| {
        let steps = |op: Op| {
            let result = perform(reactor, session, &op);
            (result.is_ok(), calls(session))
        };
        let whole = |kind, durable| Op { durable, ..op(kind, 1, 0, LEN) };
        let once =
            |names: &[&'static str]| (true, names.iter().map(|name| (*name, 1, 0)).collect::<Vec<_>>());
        assert_eq!(steps(whole(OpKind::WriteFile, true)), once(&["open", "write", "fsync", "close"]));
        assert_eq!(steps(whole(OpKind::WriteFile, false)), (false, vec![("open", 1, 1)]));
        assert_eq!(steps(whole(OpKind::ReadFile, false)), once(&["open", "read", "close"]));
        assert_eq!(steps(whole(OpKind::TruncateOverwrite, false)), once(&["open", "write", "close"]));
        for (kind, call) in [
            (OpKind::Stat, "stat"),
            (OpKind::Access, "access"),
            (OpKind::Chmod, "chmod"),
            (OpKind::Open, "open"),
            (OpKind::Close, "close"),
        ] {
            assert_eq!(steps(op(kind, 1, 0, 0)), once(&[call]), "{kind}");
        }
        // The file stays open, so only its first use opens it.
        assert_eq!(steps(op(OpKind::Truncate, 1, 0, LEN)), once(&["open", "ftruncate"]));
        assert_eq!(steps(op(OpKind::Truncate, 1, 0, LEN)), once(&["ftruncate"]));
        assert_eq!(steps(op(OpKind::Commit, 1, 0, 0)), once(&["fsync"]));
        assert_eq!(steps(op(OpKind::Trim, 1, 0, 4096)), once(&["fallocate"]));
        // The last page is empty.
        let listing = vec![("open", 1, 0), ("getdents64", 2, 0), ("close", 1, 0)];
        assert_eq!(steps(op(OpKind::List, 0, 0, 0)), (true, listing));
        for (kind, call) in [(OpKind::Link, "link"), (OpKind::Rename, "rename")] {
            assert_eq!(steps(op(kind, 1, 0, 0).other(2 + kind as u64)), once(&[call]), "{kind}");
        }
        assert_eq!(steps(op(OpKind::Remove, 1, 0, 0)), (false, vec![("unlink", 1, 1)]));
        assert_eq!(steps(op(OpKind::Remove, 2 + OpKind::Link as u64, 0, 0)), once(&["unlink"]));
    });
}

/// A read or write of an open file is one call, which is neither counted nor timed; opening it is.
#[test]
fn reads_and_writes_of_open_files_have_no_steps() {
    with_directories(Sink::Verify, |reactor, session, _| {
        let steps = |kind| {
            perform(reactor, session, &op(kind, 1, 0, LEN)).unwrap();
            calls(session)
        };
        assert_eq!(steps(OpKind::Create), [("open", 1, 0)]);
        // Created for writing, and read through the same descriptor.
        for kind in [OpKind::Write, OpKind::Read, OpKind::Write, OpKind::Read] {
            assert_eq!(steps(kind), [], "{kind}");
        }
    });
}

#[test]
fn files_that_do_not_stay_open_are_opened_again() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |config| config.open_files = 1);
    driver.prepare().unwrap();
    let reactor = Reactor::open(BackendChoice::Epoll).unwrap();
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    const FILES: u64 = 40;
    let mut opens = 0;
    for round in 0..4 {
        for object in 0..FILES {
            let kind = if round == 0 { OpKind::Create } else { OpKind::Write };
            perform(&reactor, &session, &op(kind, object, 0, 4096)).unwrap();
            session.visit_procedures(0, |stats| {
                assert_eq!(stats.procedure, CallKind::SysOpen);
                opens += stats.calls;
            });
        }
    }
    assert_eq!(opens, 4 * FILES, "each operation opens its file");
}

/// What one operation did is not counted again for the next one, nor for another lane.
#[test]
fn steps_belong_to_one_operation() {
    with_directories(Sink::Buffer, |reactor, session, _| {
        perform(reactor, session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        session.visit_procedures(1, |stats| panic!("another lane has {stats:?}"));
        session.visit_procedures(99, |stats| panic!("no lane has {stats:?}"));
        assert_eq!(calls(session), [("open", 1, 0)]);
        assert_eq!(calls(session), []);
    });
}
