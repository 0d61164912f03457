//! Targets that do something wrong, or too late, and units that refuse.

use std::time::Duration;

use drivers::{Op, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::BackendChoice;
use wire::iscsi::{DigestUse, ScsiStatus, Sense, SenseKey};

use super::script::{Fault, Script};
use super::target::Target;
use super::{SHORT, backends, config, context, lay_out, on, on_lanes, op};

/// Each of these costs one connection, and the command is sent again on the next.
#[test]
fn a_fault_costs_one_connection() {
    let (read, write) = (OpKind::Read, OpKind::Write);
    for (fault, kind, reason) in [
        (Fault::HeaderDigest, read, "a header digest is wrong"),
        (Fault::DataDigest, read, "a data digest is wrong"),
        (Fault::R2tNumber, write, "R2T out of order: number 1"),
        (Fault::R2tOffset, write, "R2T out of order: number 0"),
        (Fault::R2tTooMany, write, "more than 2 R2Ts at once"),
        (Fault::UnknownTag, read, "data for a command that was never sent"),
        (Fault::DataGap, read, "data out of order"),
        (Fault::DataGap, write, "data for a command that reads none"),
        (Fault::Opcode, read, "opcode 0x3e"),
        (Fault::Drop, read, "the target closed the connection"),
        (Fault::Drop, write, "connection"),
        (Fault::AsyncLogout, read, "asked for a logout"),
        (Fault::Reject, read, "rejected a PDU: out of resources"),
        (Fault::Silent, read, "did not answer a ping within 0.2 s"),
    ] {
        for choice in backends() {
            let target = Target::start(Script { fault, ..Script::default() });
            lay_out(&target);
            let mut config = config(&target);
            (config.offer.header_digest, config.offer.data_digest) =
                (DigestUse::Required, DigestUse::Required);
            config.keepalive = Some(Duration::from_millis(200));
            on(choice, config, &context(Sink::Verify), async |_, session| {
                let done = session.perform(&op(kind, 0, 65_536)).await;
                let done = done.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
                assert_eq!((done.bytes, done.rpcs, done.retries), (65_536, 2, 1), "{fault:?}");
                let facts = session.facts();
                assert_eq!((facts.reconnects, facts.retries), (1, 1), "{fault:?}");
                let found = &facts.reconnect_reasons[0].text;
                assert!(found.contains(reason), "{fault:?}: {found}");
            });
            target.check();
        }
    }
}

#[test]
fn a_target_that_never_makes_sense_is_given_up() {
    let target = Target::start(Script { fault: Fault::Opcode, always: true, ..Script::default() });
    on(BackendChoice::Auto, config(&target), &context(Sink::Buffer), async |_, session| {
        let error = session.perform(&op(OpKind::Read, 0, 512)).await.unwrap_err();
        assert_eq!((error.kind, error.retries), (ErrorKind::Protocol, 3), "{error}");
        assert!(error.detail.contains("given up after 4 attempts"), "{error}");
    });
}

#[test]
fn less_data_than_asked_for_is_an_error() {
    for (kind, words) in [(OpKind::Read, "4096 of 8192 bytes came"), (OpKind::Write, "took 4096 of 8192")] {
        let target = Target::start(Script { fault: Fault::Short, ..Script::default() });
        on(BackendChoice::Auto, config(&target), &context(Sink::Buffer), async |_, session| {
            let error = session.perform(&op(kind, 0, 8192)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Length, "{error}");
            assert!(error.detail.contains(words), "{error}");
            session.perform(&op(kind, 0, 8192)).await.unwrap();
            assert_eq!(session.facts().reconnects, 0);
        });
        target.check();
    }
}

fn sense(key: SenseKey, code: u8, qualifier: u8) -> (ScsiStatus, Option<Sense>) {
    (ScsiStatus::CHECK_CONDITION, Some(Sense { key, code, qualifier, information: None }))
}

#[test]
fn what_the_unit_says_is_named() {
    for (answer, kind, words) in [
        (sense(SenseKey::MEDIUM_ERROR, 0x11, 0), ErrorKind::ServerFault, "unrecovered read error (11h/00h)"),
        (sense(SenseKey::DATA_PROTECT, 0x27, 0x07), ErrorKind::NoSpace, "(27h/07h)"),
        (sense(SenseKey::DATA_PROTECT, 0x27, 0), ErrorKind::ReadOnly, "make the unit writable"),
        (sense(SenseKey::ILLEGAL_REQUEST, 0x20, 0), ErrorKind::Rejected, "does not support this command"),
        (sense(SenseKey::ILLEGAL_REQUEST, 0x25, 0), ErrorKind::NotFound, "check the number of the unit"),
        ((ScsiStatus::RESERVATION_CONFLICT, None), ErrorKind::AccessDenied, "RESERVATION CONFLICT"),
        ((ScsiStatus::CHECK_CONDITION, None), ErrorKind::ServerFault, "CHECK CONDITION"),
    ] {
        let target = Target::start(Script { statuses: vec![answer], ..Script::default() });
        on(BackendChoice::Auto, config(&target), &context(Sink::Buffer), async |_, session| {
            let error = session.perform(&op(OpKind::Write, 4096, 512)).await.unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.detail.contains(words), "{error}");
            assert!(
                error.detail.contains("WRITE(10) of 512 bytes at 4096, iqn.2026-01.lab:t1 LUN 1"),
                "{error}"
            );
        });
        target.check();
    }
}

#[test]
fn a_unit_that_asks_for_it_is_asked_again() {
    let statuses = vec![
        sense(SenseKey::UNIT_ATTENTION, 0x29, 0),
        (ScsiStatus::BUSY, None),
        (ScsiStatus::TASK_SET_FULL, None),
    ];
    let target = Target::start(Script { statuses, ..Script::default() });
    on(BackendChoice::Auto, config(&target), &context(Sink::Buffer), async |_, session| {
        let done = session.perform(&op(OpKind::Write, 0, 512)).await.unwrap();
        assert_eq!((done.bytes, done.rpcs, done.retries), (512, 4, 3));
        assert_eq!(session.facts().retries, 3);
    });
    let statuses = vec![(ScsiStatus::BUSY, None); 100];
    let target = Target::start(Script { statuses, ..Script::default() });
    let context = WorkerContext { op_timeout: SHORT, ..context(Sink::Buffer) };
    on(BackendChoice::Auto, config(&target), &context, async |_, session| {
        let error = session.perform(&op(OpKind::Write, 0, 512)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    });
}

#[test]
fn what_is_too_late_is_aborted_at_the_target() {
    for choice in backends() {
        let target = Target::start(Script { fault: Fault::Late, ..Script::default() });
        let context = WorkerContext { op_timeout: SHORT, ..context(Sink::Buffer) };
        on(choice, config(&target), &context, async |_, session| {
            let error = session.perform(&op(OpKind::Read, 0, 8192)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
            assert!(error.detail.contains("told to abort"), "{error}");
            session.perform(&op(OpKind::Read, 0, 8192)).await.unwrap();
            let facts = session.facts();
            assert_eq!((facts.late_replies, facts.reconnects), (1, 0));
        });
        let seen = target.seen.lock().unwrap();
        assert_eq!((seen.aborts.len(), &seen.aborts), (1, &seen.left));
    }
}

#[test]
fn a_target_that_aborts_nothing_loses_its_connection() {
    let target = Target::start(Script { fault: Fault::Stuck, ..Script::default() });
    let mut config = config(&target);
    config.keepalive = Some(Duration::from_millis(100));
    let context = WorkerContext { op_timeout: SHORT, ..context(Sink::Buffer) };
    on(BackendChoice::Auto, config, &context, async |reactor, session| {
        let error = session.perform(&op(OpKind::Read, 0, 8192)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        while session.facts().reconnects == 0 {
            reactor.sleep(Duration::from_millis(10)).await;
        }
        let reason = &session.facts().reconnect_reasons[0].text;
        assert!(reason.contains("did not answer ABORT TASK"), "{reason}");
        session.perform(&op(OpKind::Read, 0, 8192)).await.unwrap();
    });
}

#[test]
fn a_window_that_stays_closed_is_named() {
    let target = Target::start(Script { fault: Fault::CloseWindow, window: 1, ..Script::default() });
    let context = WorkerContext { op_timeout: SHORT, ..context(Sink::Buffer) };
    on(BackendChoice::Auto, config(&target), &context, async |_, session| {
        session.perform(&op(OpKind::Read, 0, 512)).await.unwrap();
        let error = session.perform(&op(OpKind::Read, 0, 512)).await.unwrap_err();
        assert_eq!((error.kind, error.rpcs), (ErrorKind::TimedOut, 0), "{error}");
        assert!(error.detail.contains("command window was closed"), "{error}");
    });
    target.check();
}

/// Any mixture of reads and writes on many lanes, with a fault in between: all end well, and what was written is there.
#[test]
fn nothing_is_lost_with_a_connection() {
    for fault in [Fault::Drop, Fault::UnknownTag, Fault::Reject] {
        let target = Target::start(Script { fault, ..Script::default() });
        let facts = on_lanes(BackendChoice::Auto, config(&target), async |session, lane| {
            for number in 0..20_u64 {
                let place = (number * 4 + u64::from(lane)) * 40_960;
                for kind in [OpKind::Write, OpKind::Read] {
                    session.perform(&Op { lane, ..op(kind, place, 40_960) }).await.unwrap();
                }
            }
        });
        assert_eq!(facts.reconnects, 1, "{fault:?}");
        target.check();
    }
}
