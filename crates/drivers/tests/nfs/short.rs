//! READs and WRITEs that move less than requested, as RFC 1813, 3.3.6 and 3.3.7, allows.

use std::sync::atomic::Ordering::SeqCst;

use content::{Check, CheckMethod, Content};
use drivers::nfs::{NfsConfig, NfsDriver};
use drivers::{Driver, Op, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs3::{Procedure, Stability};

use crate::alloc::allocated;
use crate::server::{Action, Call, Server};
use crate::support::*;

/// Every third READ and WRITE moves a third of what this server can move at once.
fn sometimes_short(call: &Call) -> Action {
    match call.procedure {
        Procedure::Read | Procedure::Write if call.number % 3 == 2 => Action::Short(21_845),
        _ => Action::Answer,
    }
}

#[test]
fn the_rest_of_a_short_answer_is_asked_for() {
    on_both(|choice| {
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            // In one call, and in pieces within the server's limit.
            for most in [1 << 20, 65_536] {
                let reactor = Reactor::open(choice).unwrap();
                let server = Server::start(sometimes_short);
                server.state.transfer_max.store(most, SeqCst);
                let session = open(&reactor, &server, &WorkerContext { sink, ..context(3) });
                on_all_lanes(&reactor, &session, 3, OpKind::Create, 0, 0);
                let mut rpcs = 0;
                for kind in [OpKind::Write, OpKind::Read] {
                    for offset in [0, 200_000] {
                        for result in on_all_lanes(&reactor, &session, 3, kind, offset, 200_000) {
                            let done = result.unwrap();
                            assert_eq!((done.bytes, done.retries), (200_000, 0), "{choice} {sink:?} {kind}");
                            rpcs += u64::from(done.rpcs);
                        }
                    }
                    assert!(session.facts().short_answers > 0);
                }
                let asked = server.count(Procedure::Read) + server.count(Procedure::Write);
                assert_eq!(rpcs, u64::from(asked), "each is counted");
                let whole = 12 * 200_000_u64.div_ceil(u64::from(most));
                let facts = session.facts();
                assert_eq!((facts.short_answers, facts.retries, facts.reconnects), (rpcs - whole, 0, 0));
                check_content(&server);
            }
        }
    });
}

/// Checks that every file contains its payload.
fn check_content(server: &Server) {
    let nodes = server.state.nodes.lock().unwrap();
    for object in 0..3_u64 {
        let mut expected = vec![0; 400_000];
        PAYLOAD.fill(object, 0, &mut expected);
        let node = nodes.values().find(|node| node.name == format!("{object:016x}")).unwrap();
        assert!(node.data == expected, "object {object} was written as its payload says");
    }
}

/// Blocks with a checksum over the whole are assembled from their pieces before they are verified.
#[test]
fn blocks_with_sums_are_put_together() {
    on_both(|choice| {
        for method in [CheckMethod::Crc32c, CheckMethod::Md5] {
            let reactor = Reactor::open(choice).unwrap();
            let server = Server::start(|call| match call.procedure {
                Procedure::Read | Procedure::Write => Action::Short(1000),
                _ => Action::Answer,
            });
            server.add(1, DIRECTORY, true, &[]);
            let check = Check { method, ..Check::default() };
            let payload = Payload::of_content(7, &Content::default(), Some(&check));
            let driver = NfsDriver::new(config(&server)).unwrap();
            let context = WorkerContext { payload, ..context(1) };
            let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
            let write = op(OpKind::Write, 0, 4, 4096, 4096);
            perform(&reactor, &session, op(OpKind::Create, 0, 4, 0, 0)).unwrap();
            assert_eq!(perform(&reactor, &session, write).unwrap().rpcs, 5);
            let read = Op { kind: OpKind::Read, ..write };
            let done = perform(&reactor, &session, read).unwrap();
            assert_eq!((done.bytes, done.rpcs), (4096, 5));
            let damage = |data: &mut Vec<u8>| data[7000] ^= 1;
            damage(&mut server.state.nodes.lock().unwrap().values_mut().last().unwrap().data);
            let error = perform(&reactor, &session, read).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
        }
    });
}

#[test]
fn answers_that_move_nothing_or_too_much_are_wrong_lengths() {
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let server = Server::start(|call| match (call.procedure, call.number) {
            (Procedure::Read | Procedure::Write, 0) => Action::Short(4),
            (Procedure::Read | Procedure::Write, _) => Action::Short(0),
            _ => Action::Answer,
        });
        add_file(&server, 0, 10);
        let session = open(&reactor, &server, &WorkerContext { sink, ..context(1) });
        let error = perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap_err();
        assert_eq!((error.kind, error.rpcs), (ErrorKind::Length, 3), "a LOOKUP and two WRITEs: {error}");
        assert!(error.detail.contains("wrote 0 of 6 bytes at offset 4"), "{error}");
        let error = perform(&reactor, &session, op(OpKind::Read, 0, 0, 0, 10)).unwrap_err();
        assert_eq!((error.kind, error.rpcs), (ErrorKind::Length, 2), "{error}");
        let expected = "0 of 6 bytes came from offset 4, although the file does not end there";
        assert!(error.detail.contains(expected), "{error}");
    }
    // Status, two absent attributes, count.
    let more = |results: &mut Vec<u8>| results[12..16].copy_from_slice(&11_u32.to_be_bytes());
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(move |call| match call.procedure {
        Procedure::Write => Action::Alter(Box::new(more)),
        _ => Action::Answer,
    });
    add_file(&server, 0, 10);
    let session = open(&reactor, &server, &context(1));
    let error = perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Length);
    assert!(error.detail.contains("wrote 11 of 10 bytes"), "{error}");
}

#[test]
fn short_writes_stay_as_stable_as_asked_and_a_lost_one_is_found() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(|call| match call.procedure {
        Procedure::Write => Action::Short(4),
        _ => Action::Answer,
    });
    add_file(&server, 0, 10);
    for (stable, expected) in [(false, Stability::Unstable), (true, Stability::FileSync)] {
        let config = NfsConfig { stable, ..config(&server) };
        let session = open_with(&reactor, &server, &config, &context(1)).unwrap();
        server.state.writes.lock().unwrap().clear();
        assert_eq!(perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap().bytes, 10);
        let writes = [(expected, 10), (expected, 6), (expected, 2)];
        assert_eq!(*server.state.writes.lock().unwrap(), writes);
    }
    // The server restarts between two parts of one write: the commit reports it.
    let server = Server::start(|call| match call.procedure {
        Procedure::Write if call.number == 1 => Action::Alter(Box::new(|results| {
            let verifier = results.len() - 8;
            results[verifier..].fill(9);
        })),
        Procedure::Write => Action::Short(4),
        _ => Action::Answer,
    });
    add_file(&server, 0, 10);
    let session = open(&reactor, &server, &context(1));
    perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Commit, 0, 0, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::VerifierChanged);
}

#[test]
fn short_answers_do_not_allocate() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(|call| match call.procedure {
            Procedure::Read | Procedure::Write => Action::Short(3000),
            _ => Action::Answer,
        });
        add_file(&server, 0, 8192);
        let session = open(&reactor, &server, &context(1));
        let round = |count: u64| {
            for _ in 0..count {
                for kind in [OpKind::Read, OpKind::Write] {
                    let done = perform(&reactor, &session, op(kind, 0, 0, 0, 8192)).unwrap();
                    assert_eq!(done.bytes, 8192);
                }
            }
        };
        round(50);
        let ((), seen) = allocated(|| round(100));
        assert_eq!(seen.calls, 0, "{choice}");
    });
}
