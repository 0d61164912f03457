//! The iSCSI driver against a scripted target, correct and faulty, on both backends.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod faults;
mod logins;
mod script;
mod target;

use std::time::Duration;

use drivers::iscsi::{IscsiConfig, IscsiDriver, IscsiSession};
use drivers::{Driver, Op, Payload, Session, SessionFacts, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use script::Script;
use target::{NAME, Target, UNIT_BYTES};
use wire::iscsi::{DigestUse, ScsiRequest};

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

/// One block of zeroes is sent for the whole range, in commands that the unit takes, by 10 bytes if it has no others.
#[test]
fn zeroes_are_written_by_the_command_that_the_unit_has() {
    const LEN: u64 = 100 * 512;
    let same = |block, blocks, ten| ScsiRequest::WriteSame { block, blocks, unmap: false, ten };
    let both = vec![0x93, 0x41];
    for (lacks, write_same_blocks, immediate_data, expected) in [
        (vec![], 0, true, vec![same(1, 100, false)]),
        (vec![], 64, false, vec![same(1, 64, false), same(65, 36, false)]),
        (vec![0x93], 64, true, vec![same(1, 64, false), same(1, 64, true), same(65, 36, true)]),
        (both, 0, true, vec![same(1, 100, false), same(1, 100, true)]),
    ] {
        let script = Script { lacks, write_same_blocks, immediate_data, ..Script::default() };
        let can = script.lacks.len() < 2;
        let target = Target::start(script);
        target.data.lock().unwrap().fill(7);
        on(BackendChoice::Auto, config(&target), &context(Sink::Verify), async |_, session| {
            target.seen.lock().unwrap().requests.clear();
            let zeroing = session.perform(&op(OpKind::WriteZeroes, 512, LEN)).await;
            assert_eq!(target.seen.lock().unwrap().requests, expected);
            if !can {
                let error = zeroing.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
                let words =
                    ["WRITE SAME(10) of 51200 bytes at 512", "the unit does not support this command"];
                assert!(words.iter().all(|words| error.detail.contains(words)), "{error}");
                return;
            }
            let done = zeroing.unwrap();
            assert_eq!((done.bytes, done.rpcs), (0, expected.len() as u32));
            // What the unit does not have is asked for once.
            let again = session.perform(&op(OpKind::WriteZeroes, 512, 512)).await.unwrap();
            assert_eq!((again.rpcs, again.retries), (1, 0));
            let zeroes = |offset, len| op(OpKind::Read, offset, len).generation(Op::ZEROES);
            session.perform(&zeroes(512, LEN)).await.unwrap();
            let error = session.perform(&zeroes(512, LEN + 512)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
            assert!(error.detail.contains(" from byte 51712 on are not the zeroes"), "{error}");
        });
        let unit = target.data.lock().unwrap();
        let zeroed = if can { 0 } else { 7 };
        assert_eq!((unit[511], unit[512], unit[511 + 512 * 100], unit[512 * 101]), (7, zeroed, zeroed, 7));
        target.check();
    }
}

/// Hosts that share a unit have a slice each: a block of one is nowhere but in it.
#[test]
fn slices_lie_one_behind_the_other() {
    let target = Target::start(Script::default());
    let sliced = IscsiConfig { slice_bytes: 1 << 20, ..config(&target) };
    on(BackendChoice::Auto, sliced, &context(Sink::Buffer), async |_, session| {
        let of = |kind, object, offset| Op { object, ..op(kind, offset, 4096) };
        for object in 0..4 {
            session.perform(&of(OpKind::Write, object, 8192)).await.unwrap();
        }
        session.perform(&of(OpKind::Read, 3, 8192)).await.unwrap();
        session.perform(&of(OpKind::Trim, 2, 8192)).await.unwrap();
        for object in [4, u64::MAX] {
            let error = session.perform(&of(OpKind::Write, object, 0)).await.unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Length | ErrorKind::Rejected), "{error}");
        }
    });
    let unit = target.data.lock().unwrap();
    let written: Vec<usize> = (0..UNIT_BYTES / 4096)
        .filter(|block| unit[block * 4096..(block + 1) * 4096].iter().any(|byte| *byte > 0))
        .collect();
    assert_eq!(written, [2, 256 + 2, 3 * 256 + 2]);
}

/// The hot path does not allocate: once its buffers are warm, an operation takes no memory from the allocator.
#[test]
fn warm_operations_allocate_nothing() {
    let target = Target::start(Script::default());
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        on(BackendChoice::Auto, config(&target), &context(sink), async |_, session| {
            let round = async || {
                let before = alloc::calls();
                for kind in [OpKind::Write, OpKind::Read, OpKind::Trim, OpKind::WriteZeroes, OpKind::Commit] {
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
