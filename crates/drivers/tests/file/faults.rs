//! Errors are counted by kind, with their location.

use std::fs;
use std::time::Duration;

use drivers::file::Place;
use drivers::{Driver, Op, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use crate::support::{backends, connect, context, directory, driver, op, perform, place};

#[test]
fn a_full_file_system_is_no_space_with_its_offset() {
    // `/dev/full` rejects every write like a full disk (full(4)).
    for choice in backends(false) {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |_| {});
        driver.prepare().unwrap();
        let name = driver.config().place.path().join(format!("{:016x}", 4));
        std::os::unix::fs::symlink("/dev/full", &name).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
        let full = perform(&reactor, &session, &op(OpKind::Write, 4, 12_288, 4096)).unwrap_err();
        assert_eq!(full.kind, ErrorKind::NoSpace);
        assert!(full.detail.starts_with("write of 4096 bytes at 12288, "), "{full}");
        assert!(full.detail.contains(&format!("{}: ", name.display())), "{full}");
        assert!(full.detail.contains("free some space"), "{full}");
        fs::remove_file(name).unwrap();
    }
}

#[test]
fn a_file_that_vanishes_is_not_found_from_then_on() {
    for choice in backends(false) {
        let place = place();
        // A single small set: the others evict it.
        let driver = driver(Place::Directory(directory(place.path())), |config| config.open_files = 1);
        driver.prepare().unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
        for object in 0..6 {
            perform(&reactor, &session, &op(OpKind::Create, object, 0, 0)).unwrap();
            perform(&reactor, &session, &op(OpKind::Write, object, 0, 4096)).unwrap();
        }
        fs::remove_file(driver.config().place.path().join(format!("{:016x}", 0))).unwrap();
        let gone = perform(&reactor, &session, &op(OpKind::Read, 0, 0, 4096)).unwrap_err();
        assert_eq!(gone.kind, ErrorKind::NotFound);
        assert!(gone.detail.starts_with("read of 4096 bytes at 0, "), "{gone}");
        perform(&reactor, &session, &op(OpKind::Read, 1, 0, 4096)).unwrap();
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_no_space() {
    for choice in backends(false) {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |_| {});
        driver.prepare().unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
        perform(&reactor, &session, &op(OpKind::Create, 1, 0, 0)).unwrap();
        // Beyond the range of any file system.
        let far = Op { offset: (1 << 62) + 4096, ..op(OpKind::Write, 1, 0, 4096) };
        let refused = perform(&reactor, &session, &far).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::NoSpace, "{refused}");
    }
}

#[test]
fn an_operation_without_an_answer_times_out_and_the_lane_goes_on() {
    for choice in backends(false) {
        let place = place();
        let driver = driver(Place::Directory(directory(place.path())), |_| {});
        driver.prepare().unwrap();
        // Opening a FIFO for reading waits for a writer that never comes, like a dead network file system.
        let name = driver.config().place.path().join(format!("{:016x}", 2));
        rustix::fs::mknodat(rustix::fs::CWD, &name, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let context = WorkerContext { op_timeout: Duration::from_millis(100), ..context(Sink::Verify) };
        let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
        for _ in 0..2 {
            let late = perform(&reactor, &session, &op(OpKind::Read, 2, 8192, 4096)).unwrap_err();
            assert_eq!(late.kind, ErrorKind::TimedOut, "{choice}: {late}");
            assert!(late.detail.contains("no answer within 0.1 s"), "{late}");
        }
        perform(&reactor, &session, &op(OpKind::Create, 3, 0, 0)).unwrap();
        perform(&reactor, &session, &op(OpKind::Write, 3, 0, 4096)).unwrap();
        perform(&reactor, &session, &op(OpKind::Read, 3, 0, 4096)).unwrap();
        // Releases the threads that still wait.
        drop(fs::OpenOptions::new().read(true).write(true).open(&name).unwrap());
    }
}

#[test]
fn a_lane_that_does_not_exist_is_refused() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |_| {});
    driver.prepare().unwrap();
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = connect(&reactor, &driver, Sink::Buffer).unwrap();
    let wrong = perform(&reactor, &session, &Op { lane: 8, ..op(OpKind::Stat, 1, 0, 0) }).unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::Local);
}

#[test]
fn an_operation_that_never_ends_is_given_up_at_its_deadline() {
    let place = place();
    let driver = driver(Place::Directory(directory(place.path())), |_| {});
    driver.prepare().unwrap();
    // On a virtual clock, the threads that perform file operations never report back.
    let reactor = Reactor::simulated();
    let limit = Duration::from_millis(1700);
    let context = WorkerContext { op_timeout: limit, ..context(Sink::Buffer) };
    let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
    for _ in 0..2 {
        let start = reactor.now();
        let late = perform(&reactor, &session, &op(OpKind::Stat, 1, 0, 0)).unwrap_err();
        assert_eq!(late.kind, ErrorKind::TimedOut, "{late}");
        let waited = Duration::from_nanos(reactor.now() - start);
        assert!(waited >= limit && waited <= limit + Duration::from_millis(1), "{waited:?}");
    }
}
