//! Shared test helpers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drivers::file::{FileConfig, FileDriver, FileSession, Place};
use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Polling, Reactor};

/// Every backend; those that poll the device support only direct I/O.
pub fn backends(direct: bool) -> Vec<BackendChoice> {
    let mut backends = vec![
        BackendChoice::Uring,
        BackendChoice::Epoll,
        BackendChoice::Polling(Polling { completions: false, submissions: true }),
    ];
    if direct {
        backends.push(BackendChoice::Polling(Polling { completions: true, submissions: false }));
        backends.push(BackendChoice::Polling(Polling { completions: true, submissions: true }));
    }
    backends
}

/// A directory on disk, not on tmpfs, which has no direct I/O on older kernels.
pub fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub fn directory(place: &Path) -> PathBuf {
    place.join("ours")
}

pub fn context(sink: Sink) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes: 8,
        payload: Payload::new(7),
        sink,
        op_timeout: Duration::from_secs(60),
        connect_timeout: Duration::from_secs(60),
    }
}

pub fn op(kind: OpKind, object: u64, offset: u64, len: u64) -> Op {
    Op::new(kind, 0, object).range(offset, len)
}

pub fn driver(place: Place, change: impl FnOnce(&mut FileConfig)) -> FileDriver {
    let mut config = FileConfig::new(place);
    change(&mut config);
    FileDriver::new(config).unwrap()
}

/// A session, or why there is none.
pub fn connect(reactor: &Reactor, driver: &FileDriver, sink: Sink) -> Result<FileSession, DriverError> {
    reactor.block_on(driver.connect(reactor, &context(sink)))
}

/// One operation to its end.
pub fn perform(reactor: &Reactor, session: &FileSession, op: &Op) -> Result<Done, OpError> {
    reactor.block_on(session.perform(op))
}

/// Runs a test with a session on a fresh directory, on every backend, through the page cache and past it.
pub fn with_directories(sink: Sink, test: impl Fn(&Reactor, &FileSession, &FileDriver)) {
    for direct in [false, true] {
        for choice in backends(direct) {
            let place = place();
            let driver = driver(Place::Directory(directory(place.path())), |config| config.direct = direct);
            driver.prepare().unwrap();
            let reactor = Reactor::open(choice).unwrap();
            let session = match connect(&reactor, &driver, sink) {
                Ok(session) => session,
                // Not every disk has queues to poll; what counts is that the error says so.
                Err(e) if reactor.polls_completions() && e.detail.contains("cannot be polled") => continue,
                Err(e) => panic!("{choice} direct {direct}: {e}"),
            };
            test(&reactor, &session, &driver);
        }
    }
}

/// A file of a size that is used like a device.
pub fn image(place: &Path, bytes: u64) -> PathBuf {
    let path = place.join("image");
    std::fs::File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}
