//! Files that are opened and closed over version 4.1.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use drivers::Session;
use drivers::nfs::NfsSession;
use metrics::{CallKind, ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs4::{Nfs4Status, Operation};

use crate::server::Server;
use crate::server41::{Act, Server41};
use crate::support::{context, obedient, on_all_lanes, on_both, op, perform};
use crate::v41::{LIMIT, driver, open};

/// A server on which file 1 exists, with a session of four lanes. The next COMPOUND that ends with `operation` meets `act` once
/// the flag is set.
fn prepared(
    choice: BackendChoice,
    operation: Operation,
    act: fn() -> Act,
) -> (Server41, Reactor, NfsSession, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&armed);
    let server = Server41::start(8, move |seen| {
        if seen.last == operation && flag.swap(false, SeqCst) { act() } else { Act::Answer }
    });
    let driver = driver(&server, 2);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(choice).unwrap();
    let session = open(&reactor, &driver, &context(4));
    perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
    (server, reactor, session, armed)
}

#[test]
fn lanes_open_and_close_the_same_file_independently() {
    on_both(|choice| {
        let (server, reactor, session, _) = prepared(choice, Operation::Illegal, || Act::Answer);
        for lane in 0..4 {
            perform(&reactor, &session, op(OpKind::Open, lane, 1, 0, 0)).unwrap();
        }
        assert_eq!(server.state().opens.count(), 4, "each under an owner of its own");
        for lane in 0..4 {
            let done = perform(&reactor, &session, op(OpKind::Close, lane, 1, 0, 0)).unwrap();
            assert_eq!(done.rpcs, 1);
            assert_eq!(server.state().opens.count(), 3 - lane as usize);
        }
        let error = perform(&reactor, &session, op(OpKind::Close, 0, 1, 0, 0)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.detail.contains("the lane has no open file"), "{error}");
        let error = perform(&reactor, &session, op(OpKind::Open, 0, 9, 0, 0)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
        assert!(error.detail.starts_with("OPEN"), "{error}");
    });
}

#[test]
fn a_lane_that_opens_another_file_closes_the_first() {
    let (server, reactor, session, _) = prepared(BackendChoice::Auto, Operation::Illegal, || Act::Answer);
    perform(&reactor, &session, op(OpKind::Create, 0, 2, 0, 0)).unwrap();
    perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
    let done = perform(&reactor, &session, op(OpKind::Open, 0, 2, 0, 0)).unwrap();
    assert_eq!((done.rpcs, server.state().opens.count()), (2, 1));
    let mut calls = Vec::new();
    session.visit_procedures(0, |stats| calls.push((stats.procedure, stats.calls)));
    calls.sort_unstable();
    assert_eq!(calls, [(CallKind::Open, 1), (CallKind::Close, 1)]);
}

#[test]
fn what_is_open_at_the_end_is_closed_before_the_client_leaves() {
    on_both(|choice| {
        let (server, reactor, session, _) = prepared(choice, Operation::Illegal, || Act::Answer);
        let others = on_all_lanes(&reactor, &session, 4, OpKind::WriteFile, 0, 100);
        // Lane 1's file exists already.
        assert_eq!(others.iter().filter(|result| result.is_err()).count(), 1);
        let opened = on_all_lanes(&reactor, &session, 4, OpKind::Open, 0, 0);
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
        assert_eq!(server.state().opens.count(), 4);
        drop(session);
        assert_eq!(server.state().opens.count(), 0);
        assert!(server.is_empty(), "a client with open files would stay until its lease ends");
    });
}

#[test]
fn a_retransmitted_open_or_close_is_executed_once() {
    on_both(|choice| {
        // An OPEN's COMPOUND ends with GETFH.
        for (last, operation) in [(Operation::GetFh, Operation::Open), (Operation::Close, Operation::Close)] {
            let (server, reactor, session, armed) = prepared(choice, last, || Act::Lose);
            if operation == Operation::Close {
                perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
            }
            let before = server.executed(operation);
            armed.store(true, SeqCst);
            let kind = if operation == Operation::Open { OpKind::Open } else { OpKind::Close };
            let done = perform(&reactor, &session, op(kind, 0, 1, 0, 0)).unwrap();
            assert_eq!((done.rpcs, done.retries), (2, 1), "{kind}");
            assert_eq!(server.executed(operation), before + 1, "{kind}");
            assert_eq!(server.state().opens.count(), usize::from(kind == OpKind::Open));
        }
    });
}

/// The server no longer knows the client, and what it had open: that is closed then, and the next file is opened by the new
/// client.
#[test]
fn a_close_after_the_client_was_forgotten_has_nothing_to_close() {
    on_both(|choice| {
        let (server, reactor, session, armed) = prepared(choice, Operation::Close, || Act::Forget(true));
        perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
        armed.store(true, SeqCst);
        perform(&reactor, &session, op(OpKind::Close, 0, 1, 0, 0)).unwrap();
        assert!(session.facts().reconnects > 0, "the loss is counted, with its reason");
        perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
        perform(&reactor, &session, op(OpKind::Close, 0, 1, 0, 0)).unwrap();
        drop(session);
        assert!(server.is_empty());
    });
}

#[test]
fn a_refused_open_or_close_is_named_and_leaves_nothing_open() {
    let fails = || Act::Fail(Nfs4Status::BAD_STATEID);
    let (_server, reactor, session, armed) = prepared(BackendChoice::Auto, Operation::Close, fails);
    perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
    armed.store(true, SeqCst);
    let error = perform(&reactor, &session, op(OpKind::Close, 0, 1, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.detail.starts_with("CLOSE") && error.detail.contains("NFS4ERR_BAD_STATEID"), "{error}");
    let error = perform(&reactor, &session, op(OpKind::Close, 0, 1, 0, 0)).unwrap_err();
    assert!(error.detail.contains("the lane has no open file"), "{error}");
    perform(&reactor, &session, op(OpKind::Open, 0, 1, 0, 0)).unwrap();
}

#[test]
fn version_3_has_neither() {
    let server = Server::start(obedient);
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = crate::support::open(&reactor, &server, &context(1));
    for kind in [OpKind::Open, OpKind::Close] {
        let error = perform(&reactor, &session, op(kind, 0, 1, 0, 0)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.detail.contains(&format!("NFS version 3 has no operation \"{kind}\"")), "{error}");
    }
}
