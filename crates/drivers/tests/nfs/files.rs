//! Many files: handles are cached, stale ones are replaced, and wrong data in a place is detected.

use std::sync::atomic::Ordering::SeqCst;

use drivers::nfs::NfsDriver;
use drivers::{Op, Session};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;
use std::time::Duration;
use wire::nfs3::{Procedure, Status};

use crate::alloc::allocated;
use crate::server::{Action, Server};
use crate::support::*;

fn generation(number: u32, op: Op) -> Op {
    Op { generation: number, ..op }
}

#[test]
fn random_access_over_many_files_looks_each_up_once() {
    let server = Server::start(obedient);
    for object in 0..300 {
        add_file(&server, object, 8192);
    }
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(4));
    let visit = |turn: u64| {
        reactor.block_on(async {
            for step in 0..600u64 {
                let (lane, object) = ((step % 4) as u32, step * 7919 % 300);
                let read = op(OpKind::Read, lane, object, turn * 4096, 4096);
                assert_eq!(session.perform(&read).await.unwrap().bytes, 4096);
            }
        });
    };
    visit(0);
    let looked_up = server.count(Procedure::Lookup);
    // One for our directory, one for each file.
    assert_eq!(looked_up, 301);
    let ((), seen) = allocated(|| visit(1));
    assert_eq!(server.count(Procedure::Lookup), looked_up, "no lane looks anything up again");
    assert!(seen.calls < 50, "{} allocations in 600 operations", seen.calls);
    for kind in [OpKind::Stat, OpKind::Commit] {
        perform(&reactor, &session, op(kind, 3, 299, 0, 0)).unwrap();
    }
    assert_eq!(server.count(Procedure::Lookup), looked_up);
    assert_eq!(server.count(Procedure::Getattr), 1);
}

#[test]
fn a_file_that_was_made_again_is_found_again() {
    let server = Server::start(obedient);
    add_file(&server, 3, 4096);
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(1));
    let all = [OpKind::Read, OpKind::Write, OpKind::Stat];
    for kind in all {
        perform(&reactor, &session, op(OpKind::Read, 0, 3, 0, 4096)).unwrap();
        // Another worker removes and recreates it.
        server.state.nodes.lock().unwrap().retain(|_, node| node.name != format!("{:016x}", 3));
        add_file(&server, 3, 4096);
        let done = perform(&reactor, &session, op(kind, 0, 3, 0, 4096)).unwrap();
        assert_eq!((done.retries, done.rpcs), (1, 3), "{kind}: the call, the LOOKUP, the call again");
        assert_eq!(done.bytes, if kind == OpKind::Stat { 0 } else { 4096 });
    }
    assert_eq!(session.facts().retries, 3, "the session has counted them, too");
    // Gone permanently: the server's own error, once.
    server.state.nodes.lock().unwrap().retain(|_, node| node.name != format!("{:016x}", 3));
    let error = perform(&reactor, &session, op(OpKind::Read, 0, 3, 0, 4096)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn a_handle_that_is_stale_again_is_an_error() {
    let server = Server::start(|call| match call.procedure {
        Procedure::Read if call.number > 0 => Action::Status(Status::STALE),
        _ => Action::Answer,
    });
    add_file(&server, 3, 4096);
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(1));
    perform(&reactor, &session, op(OpKind::Read, 0, 3, 0, 4096)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Read, 0, 3, 0, 4096)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Stale);
    assert_eq!(server.count(Procedure::Read), 3, "tried once more, not for ever");
}

#[test]
fn a_commit_covers_what_every_lane_wrote() {
    let server = Server::start(obedient);
    add_file(&server, 3, 8192);
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(2));
    perform(&reactor, &session, op(OpKind::Write, 0, 3, 0, 4096)).unwrap();
    *server.state.write_verifier.lock().unwrap() = [8; 8];
    let error = perform(&reactor, &session, op(OpKind::Commit, 1, 3, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::VerifierChanged, "lane 0's data may be lost");
    perform(&reactor, &session, op(OpKind::Commit, 0, 3, 0, 0)).unwrap();
}

/// The result of reading generation 2 after `lie` has changed the file.
fn verdict(lie: impl FnOnce(&mut Vec<u8>)) -> String {
    let server = Server::start(obedient);
    server.state.transfer_max.store(16 << 10, SeqCst);
    add_file(&server, 3, 0);
    let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let session = open(&reactor, &server, &context(1));
    let write = generation(2, op(OpKind::Write, 0, 3, 0, 65536));
    perform(&reactor, &session, write).unwrap();
    let read = Op { kind: OpKind::Read, ..write };
    assert_eq!(perform(&reactor, &session, read).unwrap().bytes, 65536);
    let mut nodes = server.state.nodes.lock().unwrap();
    lie(&mut nodes.values_mut().find(|node| node.name == format!("{:016x}", 3)).unwrap().data);
    drop(nodes);
    let error = reactor.block_on(session.perform(&read)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    error.detail.into()
}

#[test]
fn damage_is_named() {
    let old = |data: &mut Vec<u8>| PAYLOAD.fill(3, 1 << 48 | 4096, &mut data[4096..8192]);
    let text = verdict(old);
    assert!(
        text.contains("4096 bytes from byte 4096 on are generation 1 of this place instead of 2"),
        "{text}"
    );
    let misplaced = |data: &mut Vec<u8>| PAYLOAD.fill(9, 2 << 48 | 512, &mut data[20480..24576]);
    let text = verdict(misplaced);
    assert!(
        text.contains(
            "4096 bytes from byte 20480 on belong to object 0000000000000009 at byte 512 (generation 2)"
        ),
        "{text}"
    );
    let text = verdict(|data| data[40_000] ^= 0x80);
    assert!(text.contains("1 bit differs at byte 40000"), "{text}");
    let text = verdict(|data| data[8192..32768].fill(0));
    assert!(text.contains("at least "), "the check ended with the first piece: {text}");
    let text = verdict(|data| data[8192..12288].fill(0));
    assert!(text.contains("4096 bytes from byte 8192 on are zeros"), "{text}");
}

#[test]
fn a_directory_that_is_there_is_adopted() {
    let server = Server::start(obedient);
    let limit = Duration::from_secs(20);
    let driver = NfsDriver::new(config(&server)).unwrap();
    let error = driver.adopt(limit).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("must be prepared first"), "{error}");
    driver.prepare(limit).unwrap();
    driver.adopt(limit).unwrap();
    add_file(&server, 5, 100);
    let mut listed = Vec::new();
    driver.list_each(limit, |name, size| listed.push((name.to_owned(), size))).unwrap();
    assert_eq!(listed, [(format!("{:016x}", 5), 100)]);
    let limits = driver.limits(limit).unwrap();
    assert_eq!((limits.read_max, limits.write_size, limits.remote), (1 << 20, 1 << 20, server.address));
}
