//! A server, a client of it, and shorthand for operations.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use array::faults::{FaultPlan, PathRule};
use array::files::{Files, NodeCounts, Options};
use array::nfs::{NfsEndpoint, NfsServer, NfsServerSettings};
use array::{Capacity, FaultHandle};
use drivers::nfs::{NfsConfig, NfsDriver, NfsSession, NfsVersion};
use drivers::{Done, Driver, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

/// A guard against hanging, not a measurement.
pub const LIMIT: Duration = Duration::from_secs(30);
pub const BOTH: [NfsVersion; 2] = [NfsVersion::V3, NfsVersion::V4_1];
/// The run's directory.
pub const DIRECTORY: &str = "manometer-test2345";

/// A server with the file system `fs` on two addresses.
pub struct Fixture {
    pub files: Arc<Files>,
    pub faults: FaultHandle,
    pub server: NfsServer,
}

impl Fixture {
    pub fn new() -> Self {
        let files = Files::new(Capacity::new(1 << 30));
        files.create("fs", Options::default()).unwrap();
        let faults = FaultHandle::default();
        let settings = NfsServerSettings { threads: 2, ..NfsServerSettings::default() };
        let endpoint = |last| NfsEndpoint {
            ip: Ipv4Addr::new(127, 0, 0, last).into(),
            nfs_port: 0,
            mount_port: 0,
            portmap_port: 0,
        };
        let server = NfsServer::start(&files, &faults, &[endpoint(1), endpoint(2)], settings).unwrap();
        Self { files, faults, server }
    }

    pub fn config(&self, version: NfsVersion) -> NfsConfig {
        let endpoint = self.server.endpoints()[0];
        NfsConfig {
            version,
            nfs_port: Some(endpoint.nfs_port),
            mount_port: Some(endpoint.mount_port),
            ..NfsConfig::new(endpoint.ip, "/fs", DIRECTORY)
        }
    }

    /// A client whose directory is there.
    pub fn driver(&self, version: NfsVersion, connections_per_worker: u32) -> NfsDriver {
        let config = NfsConfig { connections_per_worker, ..self.config(version) };
        let driver = NfsDriver::new(config).unwrap();
        driver.prepare(LIMIT).unwrap();
        driver
    }

    pub fn counts(&self) -> NodeCounts {
        self.files.usage("fs").unwrap().counts
    }

    pub fn assert_empty(&self) {
        assert_eq!(self.counts(), NodeCounts::default());
        assert_eq!(self.files.usage("fs").unwrap().bytes, 0);
    }

    /// Faults of all NFS calls.
    pub fn strike(&self, rule: PathRule) {
        self.faults.set(FaultPlan { paths: vec![rule], ..FaultPlan::default() });
    }
}

pub fn reactor() -> Reactor {
    Reactor::open(BackendChoice::Auto).unwrap()
}

pub fn context(lanes: u32) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes,
        payload: Payload::new(42),
        sink: Sink::Verify,
        op_timeout: LIMIT,
        connect_timeout: LIMIT,
    }
}

pub fn open(reactor: &Reactor, driver: &NfsDriver, lanes: u32) -> NfsSession {
    reactor.block_on(driver.connect(reactor, &context(lanes))).unwrap()
}

/// A server, a client of it whose directory is there, and a session.
pub fn started(
    version: NfsVersion,
    connections_per_worker: u32,
    lanes: u32,
) -> (Fixture, NfsDriver, Reactor, NfsSession) {
    let fixture = Fixture::new();
    let driver = fixture.driver(version, connections_per_worker);
    let reactor = reactor();
    let session = open(&reactor, &driver, lanes);
    (fixture, driver, reactor, session)
}

/// Ends a session, removes everything, and checks that nothing is left.
pub fn finished(fixture: &Fixture, driver: &NfsDriver, session: NfsSession) {
    drop(session);
    driver.remove_all(LIMIT).unwrap();
    fixture.assert_empty();
}

pub fn op(kind: OpKind, object: u64, offset: u64, len: u64) -> Op {
    Op::new(kind, 0, object).range(offset, len)
}

pub fn perform(reactor: &Reactor, session: &NfsSession, op: Op) -> Result<Done, OpError> {
    reactor.block_on(session.perform(&op))
}

/// The same operation on every lane at the same time, each on an object of its own.
pub fn on_all(
    reactor: &Reactor,
    session: &NfsSession,
    lanes: u32,
    kind: OpKind,
    len: u64,
) -> Vec<Result<Done, OpError>> {
    let results = std::cell::RefCell::new(Vec::new());
    let lane = async |lane: u32| {
        let op = Op::new(kind, lane, u64::from(lane)).range(0, len);
        let result = session.perform(&op).await;
        results.borrow_mut().push(result);
    };
    reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
    results.into_inner()
}

/// The same, all of which must succeed.
pub fn all_ok(reactor: &Reactor, session: &NfsSession, lanes: u32, kind: OpKind, len: u64) {
    let failed: Vec<_> =
        on_all(reactor, session, lanes, kind, len).into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{kind}: {} of {lanes} failed: {}", failed.len(), failed[0]);
}
