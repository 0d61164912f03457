//! The Gluster driver against a scripted libgfapi, compiled from `data/libgfapi.c`.
#![allow(clippy::unwrap_used)]

mod gluster_library;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use drivers::gluster::{GlusterConfig, GlusterDriver};
use drivers::tree::{DirectoryTree, TreeLayout};
use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, Sink, WorkerContext};
use gluster_library::GlusterLibrary;
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};

static LIBRARY: LazyLock<GlusterLibrary> = LazyLock::new(GlusterLibrary::compiled);

const LONG: Duration = Duration::from_secs(30);

/// A driver's settings for a directory of this name.
fn config(directory: &str) -> GlusterConfig {
    GlusterConfig {
        port: LIBRARY.port(),
        library: Some(LIBRARY.file()),
        ..GlusterConfig::new("127.0.0.1", "gv", directory)
    }
}

fn context(lanes: u32, op_timeout: Duration) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes,
        payload: Payload::new(7),
        sink: Sink::Verify,
        op_timeout,
        connect_timeout: Duration::from_secs(5),
    }
}

fn prepare(driver: &GlusterDriver) -> Result<(), DriverError> {
    driver.prepare_announced(LONG, &mut || Ok(()))
}

/// Performs operations one after another in a session of its own.
fn perform(config: GlusterConfig, ops: &[Op]) -> Vec<Result<Done, OpError>> {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = GlusterDriver::new(config).unwrap();
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(1, LONG)).await.unwrap();
        let mut results = Vec::new();
        for op in ops {
            results.push(session.perform(op).await);
        }
        results
    })
}

fn op(kind: OpKind, object: u64) -> Op {
    Op::new(kind, 0, object)
}

fn path(directory: &str, object: u64) -> PathBuf {
    LIBRARY.volume().join(directory).join(format!("{object:016x}"))
}

#[test]
fn every_operation_does_what_its_name_says() {
    const LEN: u64 = 250_000;
    let (own, linked, symlink, directory) = (1, 2, 3, 4);
    let sized = |kind| op(kind, own).range(0, LEN);
    // The scripted library moves at most 100,000 bytes a call.
    let steps = [
        (op(OpKind::Create, own), 1),
        (sized(OpKind::Write), 3),
        (sized(OpKind::Read), 3),
        (op(OpKind::Write, own).range(4096, 4096).generation(1), 1),
        (op(OpKind::Read, own).range(4096, 4096).generation(1), 1),
        (op(OpKind::Append, own).range(LEN, 4096), 1),
        (op(OpKind::Read, own).range(LEN, 4096), 1),
        (op(OpKind::Commit, own), 1),
        (op(OpKind::Stat, own), 1),
        (op(OpKind::Access, own), 1),
        (op(OpKind::Chmod, own), 1),
        (op(OpKind::Getxattr, own), 1),
        (op(OpKind::Setxattr, own), 1),
        (op(OpKind::Getxattr, own), 1),
        (op(OpKind::Open, own), 1),
        (op(OpKind::Close, own), 1),
        (op(OpKind::Link, own).other(linked), 1),
        (op(OpKind::Symlink, symlink).other(own), 1),
        (op(OpKind::Readlink, symlink), 1),
        (op(OpKind::Mkdir, directory), 1),
        (op(OpKind::Readdir, 0), 2),
        (op(OpKind::Rmdir, directory), 1),
        (op(OpKind::Trim, own).range(0, 4096), 1),
        (op(OpKind::WriteZeroes, own).range(4096, 8192), 1),
        (op(OpKind::Read, own).range(0, 12_288).generation(Op::ZEROES), 1),
        (op(OpKind::Truncate, own).range(0, 8192), 1),
        (Op { durable: true, ..sized(OpKind::Overwrite) }, 6),
        (sized(OpKind::ReadFile), 5),
        (op(OpKind::TruncateOverwrite, own).range(0, 4096).generation(2), 3),
        (op(OpKind::ReadFile, own).range(0, 4096).generation(2), 3),
        (op(OpKind::Rename, own).other(9), 1),
        (op(OpKind::WriteFile, own).range(0, 100), 3),
        (op(OpKind::List, 0), 2),
        (op(OpKind::Remove, own), 1),
    ];
    let driver = GlusterDriver::new(config("all")).unwrap();
    prepare(&driver).unwrap();
    let ops = steps.map(|(op, _)| op);
    let results = perform(config("all"), &ops);
    for ((op, rpcs), result) in steps.iter().zip(results) {
        let done = result.unwrap_or_else(|error| panic!("{op:?}: {error}"));
        assert_eq!((done.bytes, done.rpcs), (op.payload_bytes(), *rpcs), "{op:?}");
    }
    assert!(!path("all", own).exists() && path("all", 9).metadata().unwrap().len() == 4096);
    assert_eq!(path("all", symlink).read_link().unwrap(), PathBuf::from(format!("{own:016x}")));
    let mut listed = Vec::new();
    driver.list(LONG, &mut |object, bytes| listed.push((object, bytes))).unwrap();
    listed.retain(|(object, _)| *object != symlink);
    listed.sort_unstable();
    assert_eq!(listed, [(linked, 4096), (9, 4096)]);
    assert_eq!(driver.remove_all(LONG).unwrap(), 3);
    assert!(!LIBRARY.volume().join("all").exists());
}

#[test]
fn wrong_content_and_lengths_are_errors() {
    let driver = GlusterDriver::new(config("wrong")).unwrap();
    prepare(&driver).unwrap();
    let ops = [
        op(OpKind::WriteFile, 2).range(0, 8192),
        op(OpKind::Read, 2).range(0, 8192).generation(1),
        op(OpKind::Read, 2).range(8000, 4096),
        op(OpKind::Create, 2),
        op(OpKind::Read, 77).range(0, 4096),
        op(OpKind::Close, 2),
        op(OpKind::Put, 2),
    ];
    let results = perform(config("wrong"), &ops);
    let kinds: Vec<_> = results.iter().map(|result| result.as_ref().err().map(|error| error.kind)).collect();
    let [length, corrupt] = [ErrorKind::Length, ErrorKind::Corrupt].map(Some);
    let [exists, missing, rejected] =
        [ErrorKind::AlreadyExists, ErrorKind::NotFound, ErrorKind::Rejected].map(Some);
    assert_eq!(kinds, [None, corrupt, length, exists, missing, rejected, rejected]);
    let missing = results[4].as_ref().unwrap_err();
    let start = format!(
        "read of 4096 bytes at 0, /wrong/{:016x} in volume gv on 127.0.0.1:{}: No such file",
        77,
        LIBRARY.port()
    );
    assert!(missing.detail.starts_with(&start), "{missing}");
    driver.remove_all(LONG).unwrap();
}

/// Errors of asynchronous calls come with the callback.
#[test]
fn errors_of_asynchronous_calls_have_names() {
    let driver = GlusterDriver::new(config("errors")).unwrap();
    prepare(&driver).unwrap();
    for (object, kind) in
        [(0xe028, ErrorKind::NoSpace), (0xe107, ErrorKind::ConnectionLost), (0xe005, ErrorKind::ServerFault)]
    {
        let ops = [
            op(OpKind::Create, object),
            op(OpKind::Write, object).range(0, 4096),
            op(OpKind::Commit, object),
        ];
        for (op, result) in ops.iter().zip(perform(config("errors"), &ops)).skip(1) {
            assert_eq!(result.unwrap_err().kind, kind, "{op:?}");
        }
    }
    driver.remove_all(LONG).unwrap();
}

/// libgfapi cannot cancel: the lane continues, and the memory and the file of the first operation stay its own.
#[test]
fn an_operation_ends_at_its_deadline_and_keeps_its_memory_until_libgfapi_is_done() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = GlusterDriver::new(config("late")).unwrap();
    prepare(&driver).unwrap();
    perform(
        config("late"),
        &[op(OpKind::Create, 3), op(OpKind::Write, 3).range(0, 4096), op(OpKind::Create, 0xf2)],
    );
    let read = |object| op(OpKind::Read, object).range(0, 4096);
    reactor.block_on(async {
        let session = driver.connect(&reactor, &context(1, Duration::from_secs(1))).await.unwrap();
        for _ in 0..2 {
            let error = session.perform(&read(0xf2)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
            // The file is forgotten, but not closed while libgfapi works on it.
            let _ = session.perform(&op(OpKind::Remove, 0xf2)).await;
            let _ = session.perform(&op(OpKind::Create, 0xf2)).await;
        }
        while session.facts().late_replies < 2 {
            session.perform(&read(3)).await.unwrap();
        }
    });
    driver.remove_all(LONG).unwrap();
}

#[test]
fn a_session_is_closed_while_libgfapi_has_its_operations() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let driver = GlusterDriver::new(GlusterConfig { clients: 3, ..config("closed") }).unwrap();
    prepare(&driver).unwrap();
    perform(config("closed"), &[op(OpKind::Create, 0xf2)]);
    let session = reactor.block_on(driver.connect(&reactor, &context(4, LONG))).unwrap();
    let stuck = async |lane: u32| {
        let _ = session.perform(&Op::new(OpKind::Write, lane, 0xf2).range(0, 4096)).await;
    };
    let left = reactor.run_lanes((0..4).map(stuck).collect(), reactor.sleep(Duration::from_millis(50)));
    assert_eq!(left, 4);
    drop(session);
    driver.remove_all(LONG).unwrap();
}

#[test]
fn what_cannot_be_opened_is_explained_in_one_line() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let usual = || config("refused");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (config, kind, text) in [
        (
            GlusterConfig { volume: "sink".into(), ..usual() },
            ErrorKind::NotFound,
            "no volume sink, or it is not started; next:",
        ),
        (
            GlusterConfig { volume: "theirs".into(), ..usual() },
            ErrorKind::AccessDenied,
            "refuses this host; next: compare",
        ),
        (
            GlusterConfig { volume: "slow".into(), ..usual() },
            ErrorKind::ConnectFailed,
            "did not answer within 1s; next:",
        ),
        (
            GlusterConfig { port: nobody, ..usual() },
            ErrorKind::ConnectFailed,
            "Connection refused (error 111); next: check the host",
        ),
        (
            GlusterConfig { library: Some("libgfapi-missing.so.9".into()), ..usual() },
            ErrorKind::Local,
            "next: install the package libgfapi0",
        ),
    ] {
        let driver = GlusterDriver::new(config).unwrap();
        let context = WorkerContext { connect_timeout: Duration::from_secs(1), ..context(1, LONG) };
        let error = reactor.block_on(driver.connect(&reactor, &context)).err().unwrap();
        assert!(error.kind == kind && error.detail.contains(text), "{error:?}");
        assert!(!error.detail.contains('\n'), "{error}");
        let error = driver.look(Duration::from_secs(1)).unwrap_err();
        assert!(error.kind == kind && error.detail.contains(text), "{error:?}");
    }
    let parent = GlusterDriver::new(GlusterConfig { parent: "missing".into(), ..usual() }).unwrap();
    let error = prepare(&parent).unwrap_err();
    assert!(
        error.kind == ErrorKind::NotFound
            && error.detail.contains("/missing does not exist; next: create it"),
        "{error}"
    );
    assert!(GlusterDriver::new(config("a/b")).is_err());
}

#[test]
fn our_directory_is_removed_with_its_tree_and_nothing_else() {
    let tree = DirectoryTree::new(2, 3, TreeLayout::Hashed).unwrap();
    let deep = || GlusterConfig { tree, ..config("ours") };
    let driver = GlusterDriver::new(deep()).unwrap();
    assert_eq!(driver.adopt(LONG).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(driver.remove_all(LONG).unwrap(), 0);
    prepare(&driver).unwrap();
    assert_eq!(prepare(&driver).unwrap_err().kind, ErrorKind::AlreadyExists);
    driver.adopt(LONG).unwrap();
    let files: Vec<Op> = (0..50).map(|object| op(OpKind::WriteFile, object).range(0, 100 + object)).collect();
    assert!(perform(deep(), &files).iter().all(Result::is_ok));
    assert!(
        perform(deep(), &[op(OpKind::List, 0), op(OpKind::Symlink, 60).other(5)]).iter().all(Result::is_ok)
    );
    assert_eq!(driver.beginning(7, 4096, LONG).unwrap().len(), 107);
    let mut found = Vec::new();
    driver.list(LONG, &mut |object, bytes| found.push((object, bytes))).unwrap();
    found.sort_unstable();
    found.truncate(50);
    assert_eq!(found, (0..50).map(|object| (object, 100 + object)).collect::<Vec<_>>());
    let seen = driver.look(LONG).unwrap();
    assert!(seen.directory_exists && seen.bricks == 1 && seen.available_bytes > Some(0), "{seen:?}");
    let theirs = LIBRARY.volume().join("ours/00/theirs");
    std::fs::write(&theirs, "").unwrap();
    let error = driver.remove_all(LONG).unwrap_err();
    assert!(error.detail.contains("holds files that are not ours") && theirs.exists(), "{error}");
    std::fs::remove_file(theirs).unwrap();
    assert_eq!(driver.remove_all(LONG).unwrap(), 0);
    assert!(!LIBRARY.volume().join("ours").exists());
    // One without our mark is not ours.
    let foreign = LIBRARY.volume().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("0000000000000001"), "").unwrap();
    let driver = GlusterDriver::new(config("foreign")).unwrap();
    assert_eq!(driver.remove_all(LONG).unwrap_err().kind, ErrorKind::AlreadyExists);
    assert_eq!(driver.adopt(LONG).unwrap_err().kind, ErrorKind::AlreadyExists);
    assert!(foreign.join("0000000000000001").exists());
}

#[test]
fn nothing_is_created_unless_it_is_announced() {
    let driver = GlusterDriver::new(config("announced")).unwrap();
    let refused = || Err(DriverError::new(ErrorKind::Local, "the journal is full"));
    assert!(driver.prepare_announced(LONG, &mut refused.clone()).is_err());
    assert!(!LIBRARY.volume().join("announced").exists());
}

#[test]
fn files_that_the_user_named_are_used_where_they_are() {
    std::fs::create_dir(LIBRARY.volume().join("sub")).unwrap();
    std::fs::write(LIBRARY.volume().join("sub/old"), "1234").unwrap();
    let named = BTreeMap::from([(1, "sub/old".to_owned()), (2, "sub/new".to_owned())]);
    let named = || GlusterConfig { named: named.clone(), ..config("unused") };
    let driver = GlusterDriver::new(named()).unwrap();
    let sizes = driver.sizes(&[1, 2], LONG).unwrap();
    assert_eq!(sizes, BTreeMap::from([(1, Some(4)), (2, None)]));
    let writes = [1, 2].map(|object| op(OpKind::Write, object).range(0, 4096));
    assert!(perform(named(), &writes).iter().all(Result::is_ok));
    let never = GlusterConfig { create: false, named: BTreeMap::from([(3, "sub/no".to_owned())]), ..named() };
    let [result] = &perform(never, &[op(OpKind::Write, 3).range(0, 4096)])[..] else { panic!() };
    assert_eq!(result.as_ref().unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(driver.sizes(&[1, 2], LONG).unwrap(), BTreeMap::from([(1, Some(4096)), (2, Some(4096))]));
    driver.remove(&[1, 2], LONG).unwrap();
    assert_eq!(std::fs::read_dir(LIBRARY.volume().join("sub")).unwrap().count(), 0);
}

#[test]
fn lanes_that_want_the_same_file_at_once_open_it_once() {
    let named = BTreeMap::from([(1, "written-once".to_owned())]);
    let driver = GlusterDriver::new(GlusterConfig { named, create: true, ..config("unused") }).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    reactor.block_on(async {
        let session = Rc::new(driver.connect(&reactor, &context(4, LONG)).await.unwrap());
        let (ended, all) = (Rc::new(RefCell::new(Vec::new())), reactor.signal());
        let lanes: Vec<_> = (0..4)
            .map(|lane| {
                let (session, ended, all) = (Rc::clone(&session), Rc::clone(&ended), all.clone());
                reactor.spawn(async move {
                    let op = Op::new(OpKind::Write, lane, 1).range(u64::from(lane) * 4096, 4096);
                    let result = session.perform(&op).await;
                    ended.borrow_mut().push(result);
                    if ended.borrow().len() == 4 {
                        all.set();
                    }
                })
            })
            .collect();
        all.wait().await;
        drop(lanes);
        for result in ended.borrow_mut().drain(..) {
            assert_eq!(result.unwrap().bytes, 4096);
        }
    });
    assert_eq!(LIBRARY.volume().join("written-once").metadata().unwrap().len(), 4 * 4096);
}
