//! Shorthand for sessions and operations.

use std::time::Duration;

use drivers::nfs::{NfsConfig, NfsDriver, NfsSession};
use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

use crate::server::{Action, Call, Server};

pub const PAYLOAD: Payload = Payload::new(42);
pub const DIRECTORY: &str = "manometer-test2345";

/// Replies to everything correctly.
pub fn obedient(_: &Call) -> Action {
    Action::Answer
}

/// Runs a test on both backends.
pub fn on_both(test: impl Fn(BackendChoice)) {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        test(choice);
    }
}

pub fn config(server: &Server) -> NfsConfig {
    NfsConfig {
        nfs_port: Some(server.address.port()),
        mount_port: Some(server.address.port()),
        ..NfsConfig::new(server.address.ip(), "/export", DIRECTORY)
    }
}

pub fn context(lanes: u32) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes,
        payload: PAYLOAD,
        sink: Sink::Verify,
        op_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
    }
}

/// A session on a server whose directory already exists.
pub fn open(reactor: &Reactor, server: &Server, context: &WorkerContext) -> NfsSession {
    open_with(reactor, server, &config(server), context).expect("the server can be opened")
}

pub fn open_with(
    reactor: &Reactor,
    server: &Server,
    config: &NfsConfig,
    context: &WorkerContext,
) -> Result<NfsSession, DriverError> {
    if !server.state.nodes.lock().unwrap().values().any(|node| node.name == DIRECTORY) {
        server.add(1, DIRECTORY, true, &[]);
    }
    let driver = NfsDriver::new(config.clone())?;
    reactor.block_on(driver.connect(reactor, context))
}

pub fn op(kind: OpKind, lane: u32, object: u64, offset: u64, len: u64) -> Op {
    Op::new(kind, lane, object).range(offset, len)
}

/// One operation to its end.
pub fn perform(reactor: &Reactor, session: &NfsSession, op: Op) -> Result<Done, OpError> {
    reactor.block_on(session.perform(&op))
}

/// The same operation on every lane concurrently, each on its own object.
pub fn on_all_lanes(
    reactor: &Reactor,
    session: &NfsSession,
    lanes: u32,
    kind: OpKind,
    offset: u64,
    len: u64,
) -> Vec<Result<Done, OpError>> {
    let results = std::cell::RefCell::new(Vec::new());
    let lane = async |lane: u32| {
        let result = session.perform(&op(kind, lane, u64::from(lane), offset, len)).await;
        results.borrow_mut().push(result);
    };
    reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
    results.into_inner()
}

/// Creates a file with the payload's content on the server.
pub fn add_file(server: &Server, object: u64, len: usize) {
    let directory = {
        let nodes = server.state.nodes.lock().unwrap();
        nodes.iter().find(|(_, node)| node.name == DIRECTORY).map(|(id, _)| *id)
    };
    let directory = directory.unwrap_or_else(|| server.add(1, DIRECTORY, true, &[]));
    let mut data = vec![0; len];
    PAYLOAD.fill(object, 0, &mut data);
    server.add(directory, &format!("{object:016x}"), false, &data);
}
