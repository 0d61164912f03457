//! Version 4.1 against a scripted server: slots, sequence numbers, lost sessions, malformed COMPOUNDs.

use std::time::Duration;

use drivers::nfs::{NfsConfig, NfsDriver, NfsSession, NfsVersion};
use drivers::{Driver, Session, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs4::{Nfs4Status, Operation};

use crate::alloc::allocated;
use crate::server41::{Act, Seen, Server41};
use crate::support::{DIRECTORY, context, on_all_lanes, on_both, op, perform};

pub const LIMIT: Duration = Duration::from_secs(20);

pub fn driver(server: &Server41, connections_per_worker: u32) -> NfsDriver {
    let config = NfsConfig {
        version: NfsVersion::V4_1,
        nfs_port: Some(server.address.port()),
        connections_per_worker,
        ..NfsConfig::new(server.address.ip(), "/export", DIRECTORY)
    };
    NfsDriver::new(config).unwrap()
}

pub fn open(reactor: &Reactor, driver: &NfsDriver, context: &WorkerContext) -> NfsSession {
    reactor.block_on(driver.connect(reactor, context)).unwrap()
}

/// The first COMPOUND that ends with this operation meets `act`.
pub fn first(
    operation: Operation,
    act: impl Fn() -> Act + Send + Sync,
) -> impl Fn(&Seen) -> Act + Send + Sync {
    move |seen| if seen.last == operation && seen.number == 0 { act() } else { Act::Answer }
}

/// Creates, writes and reads a file on a server with this script.
fn cycle(
    choice: BackendChoice,
    script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
) -> (Server41, drivers::SessionFacts) {
    let server = Server41::start(8, script);
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(choice).unwrap();
    let session = open(&reactor, &driver, &context(2));
    for kind in [OpKind::Create, OpKind::Write, OpKind::Commit, OpKind::Read, OpKind::Stat, OpKind::List] {
        let len = if kind.moves_bytes() { 100_000 } else { 0 };
        let done = perform(&reactor, &session, op(kind, 0, 1, 0, len)).unwrap();
        assert_eq!(done.bytes, len, "{kind}");
    }
    let facts = session.facts();
    drop(session);
    (server, facts)
}

#[test]
fn every_operation_is_one_compound_and_nothing_stays() {
    on_both(|choice| {
        let (server, facts) = cycle(choice, |_| Act::Answer);
        assert_eq!((facts.retries, facts.reconnects), (0, 0));
        for operation in
            [Operation::Open, Operation::Close, Operation::Write, Operation::Commit, Operation::Read]
        {
            assert_eq!(server.executed(operation), 1, "{}", operation.name());
        }
        assert!(server.is_empty(), "session and client were destroyed");
        let driver = driver(&server, 1);
        assert_eq!(driver.list(LIMIT).unwrap(), [("0000000000000001".to_owned(), 100_000)]);
        assert_eq!(driver.beginning(1, 10, LIMIT).unwrap().len(), 10);
        assert_eq!(driver.remove_all(LIMIT).unwrap(), 1);
        assert!(server.is_empty(), "also those of the work around the load");
        assert_eq!(server.state().nodes.len(), 2, "the root and the export");
    });
}

#[test]
fn calls_wait_for_a_slot_when_the_server_grants_few() {
    on_both(|choice| {
        let server = Server41::start(3, |_| Act::Answer);
        let driver = driver(&server, 2);
        driver.prepare(LIMIT).unwrap();
        let reactor = Reactor::open(choice).unwrap();
        let session = open(&reactor, &driver, &context(40));
        for (kind, len) in [(OpKind::Create, 0), (OpKind::Write, 5000), (OpKind::Read, 5000)] {
            let results = on_all_lanes(&reactor, &session, 40, kind, 0, len);
            assert!(results.iter().all(Result::is_ok), "{kind}: {results:?}");
        }
        assert_eq!(session.facts().retries, 0);
        assert_eq!(server.state().highest, 2, "all slots were used, and no other");
        assert_eq!(server.executed(Operation::Write), 40);
    });
}

#[test]
fn a_retransmission_is_executed_once() {
    on_both(|choice| {
        // The reply to a create is lost with the connection; the kept one comes on the next.
        let (server, facts) = cycle(choice, first(Operation::Close, || Act::Lose));
        assert_eq!(server.executed(Operation::Open), 1);
        assert_eq!((facts.reconnects, facts.retries), (1, 1));
        // The reply to a read is not kept: it is read again, and so is a write written.
        for operation in [Operation::Read, Operation::Write] {
            let (server, facts) = cycle(choice, first(operation, || Act::Lose));
            assert_eq!(server.executed(operation), 2, "{}", operation.name());
            assert_eq!((facts.reconnects, facts.retries), (1, 2));
        }
    });
}

#[test]
fn a_lost_session_is_replaced_in_mid_run() {
    on_both(|choice| {
        for (act, clients) in [
            ((|| Act::Forget(false)) as fn() -> Act, 1),
            (|| Act::Forget(true), 2),
            (|| Act::Refuse(Nfs4Status::BADSESSION), 1),
            (|| Act::Refuse(Nfs4Status::DEADSESSION), 1),
            (|| Act::Refuse(Nfs4Status::SEQ_MISORDERED), 1),
            (|| Act::Refuse(Nfs4Status::BADSLOT), 1),
            (|| Act::Refuse(Nfs4Status::CONN_NOT_BOUND_TO_SESSION), 1),
            (|| Act::Refuse(Nfs4Status::STALE_CLIENTID), 1),
            (|| Act::Refuse(Nfs4Status::EXPIRED), 1),
        ] {
            for operation in [Operation::Close, Operation::Write, Operation::Read, Operation::ReadDir] {
                let (server, facts) = cycle(choice, first(operation, act));
                assert_eq!((facts.reconnects, facts.retries), (1, 1), "{}", operation.name());
                let reason = &facts.reconnect_reasons[0].text;
                assert!(
                    reason.starts_with("the server ended the session, or differs about its slots: NFS4ERR_"),
                    "{reason}"
                );
                assert!(server.is_empty());
                // Once for the work before the load, once for its session, once for a client that is new.
                assert_eq!(server.state().reclaims, 1 + clients);
            }
        }
    });
}

#[test]
fn a_session_that_is_always_lost_is_an_error_in_bounded_time() {
    let server = Server41::start(8, |seen| match seen.last {
        Operation::Read => Act::Refuse(Nfs4Status::BADSESSION),
        _ => Act::Answer,
    });
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let context = WorkerContext { op_timeout: Duration::from_secs(1), ..context(1) };
    let session = open(&reactor, &driver, &context);
    perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectionLost, "{error}");
    assert!(error.detail.contains("NFS4ERR_BADSESSION") || error.detail.contains("session"), "{error}");
}

#[test]
fn delay_and_grace_are_repeated_and_counted() {
    on_both(|choice| {
        for status in [Nfs4Status::DELAY, Nfs4Status::GRACE] {
            let (_, facts) = cycle(choice, first(Operation::Read, move || Act::Fail(status)));
            assert_eq!((facts.retries, facts.reconnects), (1, 0), "{status}");
        }
        // The slot's number is not used up when SEQUENCE itself is refused.
        let (_, facts) = cycle(choice, first(Operation::Read, || Act::Refuse(Nfs4Status::DELAY)));
        assert_eq!((facts.retries, facts.reconnects), (1, 0));
    });
    let server = Server41::start(8, |seen| match seen.last {
        Operation::Write => Act::Fail(Nfs4Status::GRACE),
        _ => Act::Answer,
    });
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let context = WorkerContext { op_timeout: Duration::from_millis(300), ..context(1) };
    let session = open(&reactor, &driver, &context);
    perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Write, 0, 1, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert!(error.detail.contains("NFS4ERR_GRACE (10013)") && error.retries > 0, "{error}");
}

/// What is done to a COMPOUND's reply.
type Change = fn(&mut Vec<u8>);

// A COMPOUND's reply without tag: status, length of the tag, count; SEQUENCE's number, status, session, sequence, slot.
const TAG: usize = 4;
const COUNT: usize = 8;
const SEQUENCE: usize = 36;
const SLOT: usize = 40;

fn put(reply: &mut [u8], at: usize, value: u32) {
    reply[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

#[test]
fn a_malformed_reply_is_named_and_survived() {
    let changes: [(&str, Change); 7] = [
        ("another slot", |reply| put(reply, SLOT, 5)),
        ("another sequence number", |reply| put(reply, SEQUENCE, 77)),
        ("another session", |reply| reply[20] ^= 1),
        ("a tag that nobody gave", |reply| {
            put(reply, TAG, 4);
            reply.splice(COUNT..COUNT, *b"oops");
        }),
        ("fewer operations", |reply| put(reply, COUNT, 1)),
        ("more operations", |reply| put(reply, COUNT, 9)),
        ("a truncated COMPOUND", |reply| reply.truncate(reply.len() - 8)),
    ];
    on_both(|choice| {
        for (name, change) in changes {
            for operation in [Operation::Read, Operation::Commit] {
                let server = Server41::start(8, first(operation, move || Act::Alter(change)));
                let driver = driver(&server, 1);
                driver.prepare(LIMIT).unwrap();
                let reactor = Reactor::open(choice).unwrap();
                let session = open(&reactor, &driver, &context(1));
                perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
                perform(&reactor, &session, op(OpKind::Write, 0, 1, 0, 9000)).unwrap();
                let kind = if operation == Operation::Read { OpKind::Read } else { OpKind::Commit };
                let error = perform(&reactor, &session, op(kind, 0, 1, 0, 9000)).unwrap_err();
                assert_eq!(error.kind, ErrorKind::Protocol, "{name}: {error}");
                let done = perform(&reactor, &session, op(kind, 0, 1, 0, 9000));
                assert!(done.is_ok(), "{name}: the session continues: {done:?}");
            }
        }
    });
}

#[test]
fn a_call_without_a_reply_keeps_its_slot_until_the_session_is_replaced() {
    let server = Server41::start(2, first(Operation::Read, || Act::Silence));
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let context = WorkerContext { op_timeout: Duration::from_millis(500), ..context(2) };
    let session = open(&reactor, &driver, &context);
    perform(&reactor, &session, op(OpKind::Create, 0, 1, 0, 0)).unwrap();
    perform(&reactor, &session, op(OpKind::Write, 0, 1, 0, 10)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
    for _ in 0..3 {
        perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 10)).unwrap();
    }
}

#[test]
fn an_idle_session_is_kept_alive() {
    let server = Server41::start(4, |_| Act::Answer);
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = open(&reactor, &driver, &context(1));
    let before = server.state().executed.clone();
    // The server's lease is 3 s: a third of it passes twice.
    reactor.block_on(reactor.sleep(Duration::from_millis(2300)));
    assert_eq!(server.state().executed, before, "SEQUENCE alone executes nothing else");
    let renewals = server.renewals();
    assert!((1..=3).contains(&renewals), "{renewals}");
    drop(session);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let server = Server41::start(4, |_| Act::Answer);
    let config = NfsConfig { export: "/exports/none".to_owned(), ..driver(&server, 1).config().clone() };
    let error = NfsDriver::new(config).unwrap().limits(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("NFSv4 root") && error.detail.contains("NFS4ERR_NOENT (2)"), "{error}");
}

#[test]
fn the_hot_path_allocates_nothing() {
    let server = Server41::start(8, |_| Act::Answer);
    let driver = driver(&server, 1);
    driver.prepare(LIMIT).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = open(&reactor, &driver, &context(1));
    let all = [
        (OpKind::Create, 0),
        (OpKind::Write, 4096),
        (OpKind::Read, 4096),
        (OpKind::Stat, 0),
        (OpKind::Open, 0),
        (OpKind::Close, 0),
    ];
    let round = |kinds: &[(OpKind, u64)]| {
        for (kind, len) in kinds {
            reactor.block_on(session.perform(&op(*kind, 0, 1, 0, *len))).unwrap();
        }
    };
    round(&all);
    round(&all[1..]);
    let ((), seen) = allocated(|| (0..50).for_each(|_| round(&all[1..])));
    assert_eq!(seen.calls, 0);
}
