//! Our directory: created once, listed, and removed without touching anything else.

use std::time::Duration;

use drivers::nfs::{NfsConfig, NfsDriver};
use drivers::tree::{DirectoryTree, TreeLayout};
use metrics::ErrorKind;
use wire::nfs3::{Procedure, Status};

use crate::server::{Action, Server};
use crate::support::*;

const LIMIT: Duration = Duration::from_secs(20);

fn driver(server: &Server) -> NfsDriver {
    NfsDriver::new(config(server)).unwrap()
}

#[test]
fn the_directory_is_made_once() {
    let server = Server::start(obedient);
    driver(&server).prepare(LIMIT).unwrap();
    assert!(server.state.nodes.lock().unwrap().values().any(|node| node.name == DIRECTORY && node.directory));
    let error = driver(&server).prepare(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
    assert!(error.detail.contains("exists already") && error.detail.contains(DIRECTORY), "{error}");
}

#[test]
fn everything_of_ours_is_removed() {
    let server = Server::start(obedient);
    server.add(1, "theirs", true, &[]);
    for object in 0..1234 {
        add_file(&server, object * 977, 1);
    }
    let files = driver(&server).list(LIMIT).unwrap();
    assert_eq!(files.len(), 1234);
    assert!(files.iter().all(|(name, size)| name.len() == 16 && *size == 1));
    assert_eq!(driver(&server).remove_all(LIMIT).unwrap(), 1234);
    let left: Vec<String> =
        server.state.nodes.lock().unwrap().values().map(|node| node.name.clone()).collect();
    assert_eq!(left, ["", "theirs"]);
    assert_eq!(driver(&server).remove_all(LIMIT).unwrap(), 0, "nothing there is no error");
    assert_eq!(driver(&server).list(LIMIT).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn what_is_not_ours_stays() {
    let server = Server::start(obedient);
    add_file(&server, 1, 1);
    let directory = {
        let nodes = server.state.nodes.lock().unwrap();
        *nodes.iter().find(|(_, node)| node.name == DIRECTORY).unwrap().0
    };
    server.add(directory, "precious.txt", false, b"keep");
    let error = driver(&server).remove_all(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
    assert!(error.detail.contains("not ours"), "{error}");
    let nodes = server.state.nodes.lock().unwrap();
    assert!(nodes.values().any(|node| node.name == "precious.txt"));
    assert!(!nodes.values().any(|node| node.name == "0000000000000001"));
}

#[test]
fn what_is_not_ours_stays_in_a_tree() {
    let server = Server::start(obedient);
    let tree = DirectoryTree::new(2, 3, TreeLayout::Hashed).unwrap();
    let of_tree = || NfsDriver::new(NfsConfig { tree, ..config(&server) }).unwrap();
    of_tree().prepare(LIMIT).unwrap();
    let of_name = |name: &str| {
        let nodes = server.state.nodes.lock().unwrap();
        nodes.iter().filter(|(_, node)| node.name == name).map(|(id, _)| *id).max().unwrap()
    };
    let first = {
        let nodes = server.state.nodes.lock().unwrap();
        *nodes.iter().find(|(_, node)| node.name == "01").unwrap().0
    };
    // The leaf is the last made of its name.
    server.add(of_name("02"), "precious.txt", false, b"keep");
    server.add(of_name("02"), "0000000000000001", false, b"ours");
    server.state.nodes.lock().unwrap().retain(|id, node| *id != first && node.parent != first);
    server.add(of_name(DIRECTORY), "01", false, b"a file with a directory's name");
    let error = of_tree().remove_all(LIMIT).unwrap_err();
    assert!(error.kind == ErrorKind::AlreadyExists && error.detail.contains("not ours"), "{error}");
    let mut left: Vec<String> =
        server.state.nodes.lock().unwrap().values().map(|node| node.name.clone()).collect();
    left.sort_unstable();
    assert_eq!(left, ["", "01", "02", "02", DIRECTORY, "precious.txt"]);
}

#[test]
fn a_tree_that_cannot_be_made_leaves_nothing() {
    let server = Server::start(|call| match call.procedure {
        Procedure::Mkdir if call.number == 5 => Action::Status(Status::NOSPC),
        _ => Action::Answer,
    });
    let tree = DirectoryTree::new(2, 3, TreeLayout::Hashed).unwrap();
    let driver = NfsDriver::new(NfsConfig { tree, ..config(&server) }).unwrap();
    let error = driver.prepare(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoSpace, "{error}");
    assert_eq!(server.state.nodes.lock().unwrap().len(), 1, "the root alone");
}

#[test]
fn refusals_say_what_to_do() {
    for (status, kind, expected) in [
        (Status::ROFS, ErrorKind::ReadOnly, "the export is read-only: allow writing"),
        (Status::ACCES, ErrorKind::AccessDenied, "for uid 0 gid 0; let this user write"),
        (Status::NOSPC, ErrorKind::NoSpace, "the file system is full"),
    ] {
        let server = Server::start(move |call| match call.procedure {
            Procedure::Mkdir => Action::Status(status),
            _ => Action::Answer,
        });
        let error = driver(&server).prepare(LIMIT).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.detail.contains(expected) && error.detail.contains("127.0.0.1:/export"), "{error}");
    }
}

/// The first reply to every procedure is "later", as from a server that has just started.
fn busy_at_first(call: &crate::server::Call) -> Action {
    if call.number == 0 { Action::Status(Status::JUKEBOX) } else { Action::Answer }
}

#[test]
fn a_server_that_asks_to_be_called_later_is_called_later() {
    let server = Server::start(busy_at_first);
    driver(&server).prepare(LIMIT).unwrap();
    assert_eq!((server.count(Procedure::Fsinfo), server.count(Procedure::Mkdir)), (2, 2));
    driver(&server).adopt(LIMIT).unwrap();
    // Our directory twice, and whether it has a tree.
    assert_eq!(server.count(Procedure::Lookup), 3);
    add_file(&server, 5, 100);
    assert_eq!(driver(&server).list(LIMIT).unwrap().len(), 1);
    assert_eq!(driver(&server).beginning(5, 50, LIMIT).unwrap().len(), 50);
    assert_eq!(driver(&server).remove_all(LIMIT).unwrap(), 1);
    for procedure in [Procedure::Readdirplus, Procedure::Read, Procedure::Remove, Procedure::Rmdir] {
        assert_eq!(server.count(procedure), 2, "{procedure:?}");
    }
    assert_eq!(server.state.nodes.lock().unwrap().len(), 1, "nothing is left");
}

#[test]
fn opening_a_session_waits_for_a_busy_server_and_counts_that() {
    let server = Server::start(busy_at_first);
    let reactor = reactor::Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(1));
    assert_eq!(drivers::Session::facts(&session).retries, 2, "FSINFO and LOOKUP");
}

#[test]
fn a_server_that_is_busy_for_ever_is_given_up_in_time() {
    let server = Server::start(|call| match call.procedure {
        Procedure::Fsinfo => Action::Status(Status::JUKEBOX),
        _ => Action::Answer,
    });
    let error = driver(&server).prepare(Duration::from_millis(1500)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert!(error.detail.contains("FSINFO answers NFS3ERR_JUKEBOX"), "{error}");
    // After 0, 50, 150, 350 and 750 ms; the last reply may take half the allowed time.
    assert_eq!(server.count(Procedure::Fsinfo), 5);
}

#[test]
fn the_beginning_of_a_file_comes_whole() {
    let server = Server::start(|call| match call.procedure {
        Procedure::Read => Action::Short(1000),
        _ => Action::Answer,
    });
    add_file(&server, 5, 10_000);
    let mut expected = vec![0; 10_000];
    PAYLOAD.fill(5, 0, &mut expected);
    assert!(driver(&server).beginning(5, 4096, LIMIT).unwrap() == expected[..4096]);
    assert!(driver(&server).beginning(5, 20_000, LIMIT).unwrap() == expected);
}
