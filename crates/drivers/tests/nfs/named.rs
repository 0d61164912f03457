//! Files that a job names: paths below the export's root, several addresses, inspecting, creating, removing.

use std::sync::Arc;
use std::time::Duration;

use content::FileNames;
use drivers::nfs::{
    ExportFiles, ExportNames, NamedPath, NfsAddress, NfsConfig, NfsDriver, NfsSession, PathState,
};
use drivers::{Done, Driver, OpError, Session, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;
use wire::nfs3::Procedure;

use crate::alloc::allocated;
use crate::server::Server;
use crate::support::*;

const LIMIT: Duration = Duration::from_secs(20);

/// Names from a job's `filename_format`, `myfiles..<worker>.<file>`, in a directory.
fn named(server: &Server, directory: &str) -> NfsConfig {
    let names = FileNames {
        directories: vec![directory.to_owned()],
        format: "myfiles.$clientuid.$jobnum.$filenum".to_owned(),
        ..FileNames::default()
    };
    let named =
        ExportFiles { names: ExportNames::Files { job: "w".to_owned(), names }, first_number: 0, files: 2 };
    NfsConfig { named: Some(Arc::new(named)), directory: String::new(), ..config(server) }
}

fn path(worker: u32, path: &str) -> NamedPath {
    NamedPath { worker, path: path.to_owned() }
}

#[test]
fn files_are_made_where_they_are_named_and_found_again() {
    let server = Server::start(obedient);
    let driver = NfsDriver::new(named(&server, "a/b")).unwrap();
    let files = [path(0, "a/b/myfiles..0.0"), path(0, "a/b/myfiles..0.1")];
    assert_eq!(driver.look_at(&files, LIMIT).unwrap(), [PathState::Missing, PathState::Missing]);
    driver.make(&files, LIMIT).unwrap();
    driver.make(&files, LIMIT).unwrap();
    assert_eq!(driver.look_at(&files, LIMIT).unwrap(), [PathState::File(0), PathState::File(0)]);

    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let session = reactor.block_on(driver.connect(&reactor, &context(2))).unwrap();
        perform(&reactor, &session, op(OpKind::Write, 0, 1, 4096, 4096)).unwrap();
        perform(&reactor, &session, op(OpKind::Read, 1, 1, 4096, 4096)).unwrap();
        perform(&reactor, &session, op(OpKind::Commit, 1, 1, 0, 0)).unwrap();
        let missing = perform(&reactor, &session, op(OpKind::Read, 0, 5 << 32, 0, 4096)).unwrap_err();
        assert_eq!(missing.kind, ErrorKind::NotFound);
        assert!(missing.detail.contains("/export/a/b/myfiles..5.0: "), "{missing}");
        let trim = perform(&reactor, &session, op(OpKind::Trim, 0, 1, 0, 4096)).unwrap_err();
        assert!(trim.detail.contains("NFS has no operation \"trim\""), "{trim}");
    });
    assert_eq!(driver.look_at(&files, LIMIT).unwrap(), [PathState::File(0), PathState::File(8192)]);

    driver.remove_files(&files, LIMIT).unwrap();
    driver.remove_files(&files, LIMIT).unwrap();
    assert_eq!(driver.look_at(&files, LIMIT).unwrap(), [PathState::Missing, PathState::Missing]);
}

#[test]
fn a_file_that_is_written_and_is_not_there_is_made() {
    let server = Server::start(obedient);
    let driver = NfsDriver::new(named(&server, "")).unwrap();
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = reactor.block_on(driver.connect(&reactor, &context(4))).unwrap();
    for _ in 0..2 {
        for result in on_all_lanes_of(&reactor, &session, 4, OpKind::Write) {
            result.unwrap();
        }
        perform(&reactor, &session, op(OpKind::Read, 0, 0, 0, 4096)).unwrap();
        perform(&reactor, &session, op(OpKind::Remove, 0, 0, 0, 0)).unwrap();
        let gone = perform(&reactor, &session, op(OpKind::Read, 0, 0, 0, 4096)).unwrap_err();
        assert_eq!(gone.kind, ErrorKind::NotFound);
    }
}

/// The same operation on every lane concurrently, all on one file.
fn on_all_lanes_of(
    reactor: &Reactor,
    session: &NfsSession,
    lanes: u32,
    kind: OpKind,
) -> Vec<Result<Done, OpError>> {
    let results = std::cell::RefCell::new(Vec::new());
    let lane = async |lane: u32| {
        let result = session.perform(&op(kind, lane, 0, u64::from(lane) * 4096, 4096)).await;
        results.borrow_mut().push(result);
    };
    reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
    results.into_inner()
}

#[test]
fn what_is_no_file_is_not_taken_for_one() {
    let server = Server::start(obedient);
    server.add(1, "x", true, &[]);
    let driver = NfsDriver::new(named(&server, "")).unwrap();
    let error = driver.look_at(&[path(0, "x")], LIMIT).unwrap_err().to_string();
    assert!(error.starts_with("x in export") && error.contains("is no file"), "{error}");
    assert!(!error.contains('\n'));
}

#[test]
fn workers_use_the_addresses_in_turn() {
    let servers = [Server::start(obedient), Server::start(obedient)];
    let other = &servers[1];
    let mut config = named(&servers[0], "");
    config.more = vec![NfsAddress {
        server: other.address.ip(),
        export: "/export".to_owned(),
        nfs_port: Some(other.address.port()),
        mount_port: Some(other.address.port()),
    }];
    if let Some(named) = config.named.as_mut().and_then(Arc::get_mut) {
        named.first_number = 3;
    }
    let driver = NfsDriver::new(config).unwrap();
    // The job's clone with number 3 uses the second address in turn, the next the first.
    driver.make(&[path(0, "f"), path(1, "g")], LIMIT).unwrap();
    let files = |server: &Server| -> Vec<String> {
        let nodes = server.state.nodes.lock().unwrap();
        nodes.values().filter(|node| !node.directory).map(|node| node.name.clone()).collect()
    };
    assert_eq!([files(&servers[0]), files(&servers[1])], [vec!["g".to_owned()], vec!["f".to_owned()]]);
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    for worker in 0..2 {
        let context = WorkerContext { worker, ..context(1) };
        let before = servers.each_ref().map(|server| server.count(Procedure::Fsinfo));
        let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
        let after = servers.each_ref().map(|server| server.count(Procedure::Fsinfo));
        let asked = [after[0] - before[0], after[1] - before[1]];
        assert_eq!(asked, if worker == 0 { [0, 1] } else { [1, 0] });
        assert_eq!(session.facts().connections.len(), 1);
    }
}

/// Names are written into the lanes' own buffers without allocating, for numbered and named files and for every
/// operation.
#[test]
fn names_take_no_memory() {
    on_both(|choice| {
        for directory in [None, Some(""), Some("a/b")] {
            let server = Server::start(obedient);
            let config = match directory {
                Some(directory) => named(&server, directory),
                None => config(&server),
            };
            let driver = NfsDriver::new(config).unwrap();
            match directory {
                Some(_) => driver.make(&[path(0, "a/b/other")], LIMIT).unwrap(),
                None => driver.prepare(LIMIT).unwrap(),
            }
            let reactor = Reactor::open(choice).unwrap();
            let connect = || reactor.block_on(driver.connect(&reactor, &context(2))).unwrap();
            let (one, other) = (connect(), connect());
            let round = || {
                for object in 0..3 {
                    let one = |kind, len| perform(&reactor, &one, op(kind, 1, object, 0, len)).unwrap();
                    let other = |kind, len| perform(&reactor, &other, op(kind, 0, object, 0, len)).unwrap();
                    one(OpKind::Create, 0);
                    one(OpKind::Write, 100);
                    one(OpKind::Commit, 0);
                    // It was looked up by name.
                    assert!(other(OpKind::Read, 100).rpcs >= 2);
                    one(OpKind::Stat, 0);
                    other(OpKind::Remove, 0);
                }
            };
            (0..20).for_each(|_| round());
            let ((), seen) = allocated(|| (0..20).for_each(|_| round()));
            assert_eq!(seen.calls, 0, "{choice} {directory:?}");
        }
    });
}
