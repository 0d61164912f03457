//! Replies that are well-formed but unfavourable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use drivers::nfs::NfsConfig;
use drivers::{OpError, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs3::{Procedure, Status};

use crate::server::{Action, Call, Server};
use crate::support::*;

/// A script for one procedure.
fn at(procedure: Procedure, action: fn(&Call) -> Action) -> impl Fn(&Call) -> Action + Send + Sync {
    move |call| if call.procedure == procedure { action(call) } else { Action::Answer }
}

/// Reads a file of 10 000 bytes, with a READ's reply altered.
fn altered_read(sink: Sink, len: u64, change: fn(&mut Vec<u8>)) -> Result<u64, OpError> {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let script = move |call: &Call| match call.procedure {
        Procedure::Read => Action::Alter(Box::new(change)),
        _ => Action::Answer,
    };
    let server = Server::start(script);
    add_file(&server, 3, 10_000);
    let session = open(&reactor, &server, &WorkerContext { sink, ..context(1) });
    perform(&reactor, &session, op(OpKind::Read, 0, 3, 0, len)).map(|done| done.bytes)
}

// A READ's results without attributes: status, flag, count, eof, length, data.
const COUNT: usize = 8;
const EOF: usize = 12;
const LENGTH: usize = 16;
const DATA: usize = 20;

fn put(results: &mut [u8], at: usize, value: u32) {
    results[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Changes the reply to one of `len` bytes.
fn shorten(results: &mut Vec<u8>, len: u32, eof: u32) {
    put(results, COUNT, len);
    put(results, EOF, eof);
    put(results, LENGTH, len);
    results.truncate(DATA + len as usize);
}

#[test]
fn a_file_that_ends_inside_a_block_is_a_wrong_length() {
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        let error = altered_read(sink, 8192, |results| shorten(results, 4096, 1)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Length, "{sink:?}");
        let expected = "4096 of 8192 bytes came from offset 0, because the file ends";
        assert!(error.detail.contains(expected), "{error}");
        let error = altered_read(sink, 8192, |results| shorten(results, 0, 1)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Length, "nothing is not a success: {error}");
    }
}

#[test]
fn counts_must_agree() {
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        let error = altered_read(sink, 8192, |results| put(results, COUNT, 8191)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Length);
        assert!(error.detail.contains("says 8191 bytes and sends 8192"), "{error}");
        let longer = |results: &mut Vec<u8>| {
            put(results, COUNT, 9000);
            put(results, LENGTH, 9000);
            results.resize(DATA + 9000, 0);
        };
        let error = altered_read(sink, 8192, longer).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Length);
        assert!(error.detail.contains("9000 bytes came, 8192 were asked for"), "{error}");
    }
}

#[test]
fn wrong_data_is_found_by_verification_only() {
    let flip = |results: &mut Vec<u8>| results[DATA + 5000] ^= 1;
    let error = altered_read(Sink::Verify, 8192, flip).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(
        error.detail.contains("1 bit differs at byte 5000") && error.detail.contains("0000000000000003"),
        "{error}"
    );
    assert_eq!(altered_read(Sink::Buffer, 8192, flip).unwrap(), 8192);
}

#[test]
fn statuses_have_kinds() {
    for (status, kind) in [
        (Status::NOSPC, ErrorKind::NoSpace),
        (Status::DQUOT, ErrorKind::NoSpace),
        (Status::ROFS, ErrorKind::ReadOnly),
        (Status::ACCES, ErrorKind::AccessDenied),
        (Status::STALE, ErrorKind::Stale),
        (Status::IO, ErrorKind::ServerFault),
        (Status::SERVERFAULT, ErrorKind::ServerFault),
        (Status::INVAL, ErrorKind::Rejected),
        (Status(4711), ErrorKind::Rejected),
    ] {
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let server = Server::start(move |call| match call.procedure {
            Procedure::Write => Action::Status(status),
            _ => Action::Answer,
        });
        add_file(&server, 0, 10);
        let session = open(&reactor, &server, &context(1));
        let error = perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.detail.contains(&status.to_string()), "{error}");
        assert!(error.detail.starts_with("WRITE of 10 bytes at 0, 127.0.0.1:/export/manometer-"), "{error}");
        assert_eq!((error.rpcs, error.retries), (2, 0));
    }
}

#[test]
fn a_missing_file_is_not_found() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(obedient);
    let session = open(&reactor, &server, &context(1));
    for kind in [OpKind::Read, OpKind::Write, OpKind::Stat, OpKind::Remove, OpKind::Commit] {
        let error = perform(&reactor, &session, op(kind, 0, 9, 0, 1)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{kind}");
    }
    let error = perform(&reactor, &session, op(OpKind::Put, 0, 9, 0, 1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
}

#[test]
fn later_means_later() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(at(Procedure::Getattr, |call| match call.number {
            0 | 1 => Action::Status(Status::JUKEBOX),
            _ => Action::Answer,
        }));
        add_file(&server, 0, 10);
        let session = open(&reactor, &server, &context(1));
        perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0)).unwrap();
        let done = perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0)).unwrap();
        assert_eq!((done.rpcs, done.retries), (3, 2));
        assert_eq!(session.facts().retries, 2);
    });
}

#[test]
fn later_for_ever_is_busy() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(at(Procedure::Write, |_| Action::Status(Status::JUKEBOX)));
    add_file(&server, 0, 10);
    let context = WorkerContext { op_timeout: Duration::from_millis(1500), ..context(1) };
    let session = open(&reactor, &server, &context);
    let error = perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert!(error.retries >= 1 && error.detail.contains("NFS3ERR_JUKEBOX"), "{error}");
}

#[test]
fn a_changed_verifier_is_reported_at_the_commit() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(obedient);
        add_file(&server, 0, 10);
        let session = open(&reactor, &server, &context(1));
        let write = || perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10));
        let commit = || perform(&reactor, &session, op(OpKind::Commit, 0, 0, 0, 0));
        let restart = |byte| *server.state.write_verifier.lock().unwrap() = [byte; 8];
        write().unwrap();
        commit().unwrap();
        write().unwrap();
        restart(1);
        let error = commit().unwrap_err();
        assert_eq!(error.kind, ErrorKind::VerifierChanged);
        assert!(error.detail.contains("may be lost"), "{error}");
        write().unwrap();
        restart(2);
        write().unwrap();
        assert_eq!(commit().unwrap_err().kind, ErrorKind::VerifierChanged, "between two WRITEs");
        write().unwrap();
        commit().unwrap();
    });
}

#[test]
fn a_server_that_promises_less_than_asked_is_caught() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(at(Procedure::Write, |_| {
        // Status, two absent attributes, count, committed.
        Action::Alter(Box::new(|results| put(results, 16, 0)))
    }));
    add_file(&server, 0, 10);
    let config = NfsConfig { stable: true, ..config(&server) };
    let session = open_with(&reactor, &server, &config, &context(1)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Write, 0, 0, 0, 10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.detail.contains("UNSTABLE although FILE_SYNC"), "{error}");
}

#[test]
fn a_lost_answer_to_create_or_remove_does_no_harm() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(|call| match (call.procedure, call.number) {
        (Procedure::Create | Procedure::Remove, 0) => Action::CutAndReset(0),
        _ => Action::Answer,
    });
    let session = open(&reactor, &server, &context(1));
    let done = perform(&reactor, &session, op(OpKind::Create, 0, 5, 0, 0)).unwrap();
    assert_eq!((done.rpcs, done.retries), (3, 1), "twice CREATE, then a LOOKUP");
    perform(&reactor, &session, op(OpKind::Write, 0, 5, 0, 10)).unwrap();
    let done = perform(&reactor, &session, op(OpKind::Remove, 0, 5, 0, 0)).unwrap();
    assert_eq!((done.rpcs, done.retries), (2, 1));
    // Without a retransmission the same statuses mean what they say.
    perform(&reactor, &session, op(OpKind::Create, 0, 6, 0, 0)).unwrap();
    let error = perform(&reactor, &session, op(OpKind::Create, 0, 6, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
    let error = perform(&reactor, &session, op(OpKind::Remove, 0, 5, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn a_stale_handle_is_looked_up_again() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let stale = Arc::new(AtomicBool::new(true));
    let server = Server::start(move |call| match call.procedure {
        Procedure::Read if stale.swap(false, SeqCst) => Action::Status(Status::STALE),
        _ => Action::Answer,
    });
    add_file(&server, 0, 10);
    let session = open(&reactor, &server, &context(1));
    let read = || perform(&reactor, &session, op(OpKind::Read, 0, 0, 0, 10));
    assert_eq!(read().unwrap_err().kind, ErrorKind::Stale);
    assert_eq!(read().unwrap().rpcs, 2);
}
