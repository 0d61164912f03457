//! The iSCSI driver against a scripted target, correct and faulty, on both backends.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod target;

use std::time::Duration;

use drivers::iscsi::{IscsiConfig, IscsiDriver, IscsiSession};
use drivers::{Driver, Op, Payload, Session, SessionFacts, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use target::{Fault, NAME, OWN, Script, Target, UNIT_BYTES};
use wire::iscsi::{ChapSecret, DigestUse, Lun, ScsiRequest, ScsiStatus, Sense, SenseKey};

const LIMIT: Duration = Duration::from_secs(20);
/// For what is to be too late.
const SHORT: Duration = Duration::from_millis(300);

fn config(target: &Target) -> IscsiConfig {
    IscsiConfig::new(target.address, NAME, 1)
}

fn driver(config: IscsiConfig) -> IscsiDriver {
    let driver = IscsiDriver::new(config).unwrap();
    driver.allow_writing(true, LIMIT).unwrap();
    driver
}

fn context(sink: Sink) -> WorkerContext {
    let payload = Payload::new(42);
    WorkerContext { worker: 0, lanes: 4, payload, sink, op_timeout: LIMIT, connect_timeout: LIMIT }
}

fn op(kind: OpKind, offset: u64, len: u64) -> Op {
    Op::new(kind, 0, 0).range(offset, len)
}

fn backends() -> Vec<BackendChoice> {
    let uring = Reactor::open(BackendChoice::Uring).is_ok().then_some(BackendChoice::Uring);
    [BackendChoice::Epoll].into_iter().chain(uring).collect()
}

/// Runs a test with a session on a backend.
fn on(
    choice: BackendChoice,
    config: IscsiConfig,
    context: &WorkerContext,
    test: impl AsyncFn(&Reactor, &IscsiSession),
) {
    let reactor = Reactor::open(choice).unwrap();
    reactor.block_on(async {
        let session = driver(config).connect(&reactor, context).await.unwrap();
        test(&reactor, &session).await;
    });
}

/// Runs four lanes on one session to their ends; returns it.
fn on_lanes(
    choice: BackendChoice,
    config: IscsiConfig,
    lane: impl AsyncFn(&IscsiSession, u32),
) -> SessionFacts {
    let reactor = Reactor::open(choice).unwrap();
    let context = context(Sink::Verify);
    let session = reactor.block_on(driver(config).connect(&reactor, &context)).unwrap();
    reactor.run_lanes((0..4).map(|number| lane(&session, number)).collect(), std::future::pending::<()>());
    session.facts()
}

/// Fills the unit with what a read of all of it expects.
fn lay_out(target: &Target) {
    let all = op(OpKind::Write, 0, UNIT_BYTES as u64);
    Payload::new(42).fill_op(&all, 0, &mut target.data.lock().unwrap());
}

#[test]
fn what_is_written_is_on_the_unit_and_read_back() {
    for (immediate_data, initial_r2t) in [(true, false), (true, true), (false, true), (false, false)] {
        for digests in [DigestUse::None, DigestUse::Preferred] {
            for choice in backends() {
                let separate_status = digests == DigestUse::None;
                let script = Script { immediate_data, initial_r2t, separate_status, ..Script::default() };
                let target = Target::start(script);
                let mut config = config(&target);
                (config.offer.header_digest, config.offer.data_digest) = (digests, digests);
                config.sessions = 2;
                for sink in [Sink::Verify, Sink::Buffer, Sink::Discard] {
                    on(choice, config.clone(), &context(sink), async |_, session| {
                        for len in [512, 8192, 50_176, 300_032] {
                            let write = op(OpKind::Write, 1024, len);
                            target.data.lock().unwrap().fill(0);
                            assert_eq!(session.perform(&write).await.unwrap().bytes, len);
                            let mut expected = vec![0; len as usize];
                            Payload::new(42).fill_op(&write, 0, &mut expected);
                            assert!(target.data.lock().unwrap()[1024..1024 + len as usize] == expected);
                            let done = session.perform(&op(OpKind::Read, 1024, len)).await.unwrap();
                            // The unit takes 256 blocks at a time.
                            let commands = len.div_ceil(131_072) as u32;
                            assert_eq!((done.bytes, done.rpcs, done.retries), (len, commands, 0));
                            assert!(done.first_byte_ns.is_some());
                        }
                        let facts = session.facts();
                        assert_eq!((facts.connections.len(), facts.reconnects, facts.retries), (2, 0, 0));
                    });
                }
                target.check();
            }
        }
    }
}

#[test]
fn lanes_share_a_session_within_the_command_window() {
    for window in [1, 3] {
        let target = Target::start(Script { window, pings: true, ..Script::default() });
        lay_out(&target);
        for choice in backends() {
            let facts = on_lanes(choice, config(&target), async |session, lane| {
                for number in 0..50_u64 {
                    let kind = if number % 2 == 0 { OpKind::Read } else { OpKind::Write };
                    let place = (number * 4 + u64::from(lane)) * 16_384;
                    session.perform(&Op { lane, ..op(kind, place, 16_384) }).await.unwrap();
                }
            });
            assert_eq!((facts.reconnects, facts.retries), (0, 0));
        }
        target.check();
        assert!(target.seen.lock().unwrap().pongs >= 100, "the target's pings are answered");
    }
}

#[test]
fn damaged_data_are_found() {
    let target = Target::start(Script::default());
    lay_out(&target);
    target.data.lock().unwrap()[70_000] ^= 1;
    on(BackendChoice::Auto, config(&target), &context(Sink::Verify), async |_, session| {
        let error = session.perform(&op(OpKind::Read, 0, 131_072)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
        session.perform(&op(OpKind::Read, 131_072, 131_072)).await.unwrap();
    });
    target.check();
}

#[test]
fn other_operations_are_their_commands() {
    let target = Target::start(Script::default());
    target.data.lock().unwrap().fill(7);
    let stable = IscsiConfig { stable: true, ..config(&target) };
    on(BackendChoice::Auto, stable, &context(Sink::Buffer), async |_, session| {
        assert_eq!(session.unit().capacity.bytes(), UNIT_BYTES as u64);
        target.seen.lock().unwrap().requests.clear();
        session.perform(&op(OpKind::Trim, 512, 100 * 512)).await.unwrap();
        session.perform(&op(OpKind::Commit, 0, 0)).await.unwrap();
        session.perform(&op(OpKind::Stat, 0, 0)).await.unwrap();
        session.perform(&op(OpKind::Write, 0, 512)).await.unwrap();
        for (odd, kind) in [
            (op(OpKind::Read, 100, 512), ErrorKind::Rejected),
            (op(OpKind::Write, 0, 100), ErrorKind::Rejected),
            (op(OpKind::Read, UNIT_BYTES as u64, 512), ErrorKind::Length),
            (op(OpKind::Read, u64::MAX - 511, 512), ErrorKind::Length),
            (op(OpKind::Mkdir, 0, 0), ErrorKind::Rejected),
            (Op { lane: 4, ..op(OpKind::Read, 0, 512) }, ErrorKind::Local),
        ] {
            let error = session.perform(&odd).await.unwrap_err();
            assert_eq!(error.kind, kind, "{error}");
        }
    });
    let unmap = ScsiRequest::Unmap { bytes: 24 };
    let expected = [
        unmap,
        unmap,
        ScsiRequest::SynchronizeCache { block: 0, blocks: 0 },
        ScsiRequest::TestUnitReady,
        ScsiRequest::Write { block: 0, blocks: 1, durable: true },
    ];
    assert_eq!(target.seen.lock().unwrap().requests, expected, "at most 64 blocks are unmapped at once");
    let unit = target.data.lock().unwrap();
    assert_eq!((unit[511 + 512 * 100], unit[512 * 101], unit[512]), (0, 7, 0));
    target.check();
}

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

fn secret(name: &str, secret: &str) -> Option<ChapSecret> {
    Some(ChapSecret { name: name.into(), secret: secret.into() })
}

#[test]
fn logins_by_chap() {
    let script = Script { secret: secret("u1", "passw0rd1234"), ..Script::default() };
    let target = Target::start(script);
    let with = |own, mutual| {
        let config = IscsiConfig { secret: own, target_secret: mutual, ..config(&target) };
        IscsiDriver::new(config).unwrap().unit(LIMIT)
    };
    let own = || secret("u1", "passw0rd1234");
    assert_eq!(with(own(), None).unwrap().inquiry.product, "SCRIPTED UNIT");
    with(own(), secret(OWN.0, OWN.1)).unwrap();
    for (own, mutual, words) in [
        (None, None, "set LIBISCSI_CHAP_USERNAME"),
        (secret("u1", "guessed-wrong"), None, "check the name and the secret for CHAP"),
        (secret("u2", "passw0rd1234"), None, "check the name and the secret for CHAP"),
        (own(), secret(OWN.0, "another-secret"), "does not know the secret"),
        (own(), secret("another", OWN.1), "has another name"),
    ] {
        let error = with(own, mutual).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AccessDenied, "{error}");
        assert!(error.detail.contains(words), "{error}");
        for hidden in ["passw0rd1234", "guessed-wrong", "another-secret"] {
            assert!(!error.detail.contains(hidden), "{error}");
        }
    }
    target.check();
}

#[test]
fn refused_logins_are_explained() {
    for (login_status, kind, words) in [
        (0x0202, ErrorKind::AccessDenied, "allow this initiator"),
        (0x0203, ErrorKind::NotFound, "check the target's name"),
        (0x0301, ErrorKind::Busy, "service unavailable"),
        (0x0101, ErrorKind::Protocol, "redirection without an address"),
        (0x0207, ErrorKind::Rejected, "missing parameter"),
    ] {
        let target = Target::start(Script { login_status, ..Script::default() });
        let error = IscsiDriver::new(config(&target)).unwrap().unit(LIMIT).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.detail.contains(words), "{error}");
    }
    // A listener that never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = IscsiConfig::new(listener.local_addr().unwrap(), NAME, 1);
    let error = IscsiDriver::new(silent).unwrap().unit(SHORT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectFailed, "{error}");
    drop(listener);
}

#[test]
fn configurations_are_checked() {
    let target = Target::start(Script::default());
    let refused = |change: &dyn Fn(&mut IscsiConfig), words: &str| {
        let mut config = config(&target);
        change(&mut config);
        let error = IscsiDriver::new(config).unwrap_err();
        assert!(error.detail.contains(words), "{error}");
    };
    refused(&|config| config.target = "disk".into(), "write an iSCSI name");
    refused(&|config| config.initiator = "iqn.2026-01.lab:a b".into(), "initiator name");
    refused(&|config| config.lun = Lun::MAX + 1, "LUN 16384");
    refused(&|config| config.offer.receive_bytes = 511, "receive_size 511");
    refused(&|config| config.offer.first_burst_bytes = 8 << 20, "first_burst");
    refused(&|config| config.sessions = 0, "sessions");
    refused(&|config| config.target_secret = secret("a", "b"), "mutual CHAP needs both");
}

#[test]
fn targets_and_units_are_found() {
    let target = Target::start(Script::default());
    let driver = IscsiDriver::new(config(&target)).unwrap();
    let found = driver.targets(LIMIT).unwrap();
    let portal = format!("{},1", target.address);
    assert_eq!(found.iter().map(|target| &*target.name).collect::<Vec<_>>(), [NAME, "iqn.2026-01.lab:t2"]);
    assert_eq!(found[1].portals, [portal]);
    let units: Vec<_> = driver.units(LIMIT).unwrap().iter().map(Lun::to_string).collect();
    assert_eq!(units, ["1", "300"]);
    let unit = driver.unit(LIMIT).unwrap();
    assert_eq!((unit.limits.transfer_blocks, unit.serial, unit.capacity.unmaps), (256, None, true));
    let other = IscsiDriver::new(IscsiConfig { lun: 2, ..config(&target) }).unwrap();
    let error = other.unit(LIMIT).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
    assert!(error.detail.contains("the target has LUN 1, 300"), "{error}");
    target.check();
}

#[test]
fn what_a_unit_holds_is_not_overwritten_unasked() {
    let target = Target::start(Script::default());
    let driver = IscsiDriver::new(config(&target)).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let write = |driver: &IscsiDriver| {
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context(Sink::Buffer)).await.unwrap();
            session.perform(&op(OpKind::Read, 0, 512)).await.unwrap();
            let trimmed = session.perform(&op(OpKind::Trim, 0, 512)).await;
            assert_eq!(trimmed.is_ok(), session.perform(&op(OpKind::Write, 0, 512)).await.is_ok());
            trimmed
        })
    };
    assert_eq!(write(&driver).unwrap_err().kind, ErrorKind::Local, "before it was checked");
    // The last place where a backup of a partition table may be, and the first of a file system.
    for (at, bytes, name) in
        [(UNIT_BYTES - 512, &b"EFI PART"[..], "(GPT)"), (0, &b"XFSB"[..], "an XFS file system")]
    {
        target.data.lock().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        let error = driver.allow_writing(false, LIMIT).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
        assert!(error.detail.contains(name) && error.detail.contains("--destroy"), "{error}");
        write(&driver).unwrap_err();
        assert_eq!(driver.beginning(4, LIMIT).unwrap() == b"XFSB", at == 0);
        target.data.lock().unwrap().fill(0);
    }
    driver.allow_writing(false, LIMIT).unwrap();
    write(&driver).unwrap();
    let again = IscsiDriver::new(config(&target)).unwrap();
    target.data.lock().unwrap()[..4].copy_from_slice(b"XFSB");
    again.allow_writing(true, LIMIT).unwrap();
    write(&again).unwrap();
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

/// The hot path does not allocate: once its buffers are warm, an operation takes no memory from the allocator.
#[test]
fn warm_operations_allocate_nothing() {
    let target = Target::start(Script::default());
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        on(BackendChoice::Auto, config(&target), &context(sink), async |_, session| {
            let round = async || {
                let before = alloc::calls();
                for kind in [OpKind::Write, OpKind::Read, OpKind::Trim, OpKind::Commit] {
                    session.perform(&op(kind, 0, 65_536)).await.unwrap();
                }
                alloc::calls() - before
            };
            for _ in 0..50 {
                round().await;
            }
            let mut allocations = Vec::new();
            for _ in 0..50 {
                allocations.push(round().await);
            }
            allocations.sort_unstable();
            assert_eq!(allocations[48], 0, "{sink:?}: {allocations:?}");
        });
    }
}
