//! Connections that stall, break, or carry what no NFS server would send.

use std::time::Duration;

use drivers::{Done, OpError, Session, SessionFacts, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs3::Procedure;

use crate::alloc::allocated;
use crate::server::{Action, Call, Server};
use crate::support::*;

/// No reply may make the driver allocate more than this at once: its buffers are allocated in advance.
const LARGEST_BLOCK: usize = 1 << 20;

/// A READ of 100 000 bytes with scripted replies; nothing may take long or use much memory.
fn scripted_read(
    choice: BackendChoice,
    sink: Sink,
    op_timeout: Duration,
    script: impl Fn(&Call) -> Action + Send + Sync + 'static,
) -> (Result<Done, OpError>, SessionFacts) {
    let reactor = Reactor::open(choice).unwrap();
    let server = Server::start(move |call| match call.procedure {
        Procedure::Read => script(call),
        _ => Action::Answer,
    });
    add_file(&server, 1, 100_000);
    let session = open(&reactor, &server, &WorkerContext { sink, op_timeout, ..context(2) });
    let started = reactor.now();
    let (result, seen) = allocated(|| perform(&reactor, &session, op(OpKind::Read, 0, 1, 0, 100_000)));
    assert!(reactor.now() - started < 15_000_000_000, "it ends in bounded time");
    assert!(seen.largest < LARGEST_BLOCK, "it took {} bytes at once", seen.largest);
    (result, session.facts())
}

const PATIENT: Duration = Duration::from_secs(20);
const SINKS: [Sink; 3] = [Sink::Buffer, Sink::Verify, Sink::Discard];

/// The first READ gets `broken`, later ones a normal reply.
fn first_only(broken: impl Fn() -> Action + Send + Sync) -> impl Fn(&Call) -> Action + Send + Sync {
    move |call| if call.number == 0 { broken() } else { Action::Answer }
}

#[test]
fn a_reset_in_mid_reply_is_survived() {
    on_both(|choice| {
        for sink in SINKS {
            for cut in [0, 3, 20, 50, 60_000] {
                let script = first_only(move || Action::CutAndReset(cut));
                println!("{choice} {sink:?} cut at {cut}");
                let (result, facts) = scripted_read(choice, sink, PATIENT, script);
                let done = result.unwrap();
                assert_eq!((done.bytes, done.rpcs, done.retries), (100_000, 3, 1), "cut at {cut}");
                assert_eq!((facts.reconnects, facts.retries), (1, 1));
                let reason = &facts.reconnect_reasons[0];
                assert!(
                    reason.count == 1 && reason.text.starts_with("the connection was lost: "),
                    "{reason:?}"
                );
            }
        }
    });
}

#[test]
fn a_server_that_always_resets_is_a_lost_connection() {
    on_both(|choice| {
        let (result, facts) =
            scripted_read(choice, Sink::Buffer, Duration::from_secs(1), |_| Action::CutAndReset(60_000));
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::ConnectionLost, "{error}");
        assert!(error.retries >= 1 && facts.reconnects >= 1, "{error}");
    });
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    on_both(|choice| {
        let (result, _) = scripted_read(choice, Sink::Buffer, Duration::from_secs(1), |_| Action::Silence);
        let error = result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut);
        assert!(error.detail.contains("no answer within 1 s"), "{error}");
        assert_eq!((error.rpcs, error.retries), (2, 0), "a LOOKUP and a READ");
    });
}

#[test]
fn a_late_answer_is_counted_and_harmless() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        // The reply to the first GETATTR comes after the second one's.
        let server = Server::start(|call| match (call.procedure, call.number) {
            (Procedure::Getattr, 0) => Action::AfterNext,
            _ => Action::Answer,
        });
        add_file(&server, 0, 10);
        add_file(&server, 1, 10);
        let context = WorkerContext { op_timeout: Duration::from_secs(10), ..context(2) };
        let session = open(&reactor, &server, &context);
        for lane in 0..2 {
            perform(&reactor, &session, op(OpKind::Stat, lane, u64::from(lane), 0, 0)).unwrap();
        }
        // The other lane's calls keep the connection from looking dead.
        let busy = async {
            for _ in 0..4 {
                reactor.sleep(Duration::from_millis(150)).await;
                session.perform(&op(OpKind::Read, 1, 1, 0, 10)).await.ok();
            }
        };
        let lanes = std::cell::RefCell::new(None);
        let first = async {
            *lanes.borrow_mut() = Some(session.perform(&op(OpKind::Stat, 0, 0, 0, 0)).await);
        };
        let tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + '_>>> =
            vec![Box::pin(first), Box::pin(busy)];
        reactor.run_lanes(tasks, std::future::pending::<()>());
        // It arrived in time, after the READ's reply: out of order, but correct.
        lanes.into_inner().unwrap().unwrap();
        assert_eq!(session.facts().late_replies, 0);
    });
}

#[test]
fn an_answer_after_the_deadline_is_late() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(|call| match (call.procedure, call.number) {
            (Procedure::Commit, 0) => Action::AfterNext,
            _ => Action::Answer,
        });
        add_file(&server, 0, 10);
        add_file(&server, 1, 10);
        let context = WorkerContext { op_timeout: Duration::from_secs(10), ..context(2) };
        let session = open(&reactor, &server, &context);
        for lane in 0..2 {
            perform(&reactor, &session, op(OpKind::Read, lane, u64::from(lane), 0, 10)).unwrap();
        }
        // A call is started and abandoned, as at the end of a stage.
        let commit = op(OpKind::Commit, 0, 0, 0, 0);
        let until = reactor.now() + 100_000_000;
        reactor.block_on(reactor.timeout_at(until, session.perform(&commit))).unwrap_err();
        perform(&reactor, &session, op(OpKind::Stat, 1, 1, 0, 0)).unwrap();
        while session.facts().late_replies == 0 {
            reactor.block_on(reactor.sleep(Duration::from_millis(1)));
        }
        assert_eq!((session.facts().late_replies, session.facts().reconnects), (1, 0));
        perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0)).unwrap();
    });
}

#[test]
fn replies_in_any_order_find_their_calls() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(|call| match call.procedure {
            Procedure::Read if call.number % 2 == 0 => Action::AfterNext,
            _ => Action::Answer,
        });
        for object in 0..8 {
            add_file(&server, object, 50_000);
        }
        let session = open(&reactor, &server, &context(8));
        for len in [50_000, 100, 40_000, 1] {
            for result in on_all_lanes(&reactor, &session, 8, OpKind::Read, 0, len) {
                assert_eq!(result.unwrap().bytes, len);
            }
        }
    });
}

#[test]
fn replies_in_fragments_are_put_together() {
    on_both(|choice| {
        for sink in SINKS {
            for len in [1, 7, 100, 4096, 50_000] {
                let (result, facts) = scripted_read(choice, sink, PATIENT, move |_| Action::Fragments(len));
                assert_eq!(result.unwrap().bytes, 100_000, "fragments of {len}");
                assert_eq!(facts.reconnects, 0);
            }
        }
    });
}

#[test]
fn small_replies_in_fragments_are_put_together() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let server = Server::start(|call| match call.procedure {
        Procedure::Fsinfo => Action::Answer,
        _ => Action::Fragments(5),
    });
    let session = open(&reactor, &server, &context(4));
    for kind in [OpKind::Create, OpKind::Write, OpKind::Commit, OpKind::Stat, OpKind::List, OpKind::Remove] {
        for result in on_all_lanes(&reactor, &session, 4, kind, 0, 10) {
            result.unwrap();
        }
    }
}

#[test]
fn an_oversized_record_is_a_protocol_error() {
    on_both(|choice| {
        for sink in SINKS {
            let (result, facts) =
                scripted_read(choice, sink, PATIENT, |_| Action::Raw(vec![0x7f, 0xff, 0xff, 0xff, 1, 2, 3]));
            let error = result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Protocol);
            assert!(error.detail.contains("oversize record: at least 2147483651 bytes"), "{error}");
            assert_eq!(facts.reconnects, 3, "it is tried again three times");
            let why = drivers::ReconnectReason::summary(&facts.reconnect_reasons).unwrap();
            assert!(why.contains("oversize record"), "{why}");
        }
    });
}

#[test]
fn garbage_is_a_protocol_error() {
    on_both(|choice| {
        for sink in SINKS {
            let garbage: Vec<u8> = [&0x8000_0028u32.to_be_bytes()[..], &[0xa5; 40]].concat();
            let (result, _) = scripted_read(choice, sink, PATIENT, move |_| Action::Raw(garbage.clone()));
            let error = result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Protocol);
            assert!(error.detail.contains("cannot be understood"), "{error}");
        }
    });
}

/// A reply to this very call whose body is `words`.
fn reply(call: &Call, words: &[u32]) -> Vec<u8> {
    let len = 4 + 4 * words.len() as u32;
    let mut out = (len | 0x8000_0000).to_be_bytes().to_vec();
    out.extend(call.xid.to_be_bytes());
    out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    out
}

#[test]
fn a_malformed_reply_fails_its_call_at_once() {
    let cases: [(&[u32], &str); 7] = [
        (&[1], "truncated"),
        (&[0, 0, 0, 0, 0, 0], "reply direction has no value 0"),
        (&[1, 0, 0, 401], "oversize authentication body: 401"),
        (&[1, 0, 0, 0, 0, 0, 2], "a boolean is 2"),
        (&[1, 0, 0, 0, 0, 0, 0, 100_000, 1, 0x7fff_ffff], "oversize READ payload"),
        (&[1, 0, 0, 0, 0, 0, 0, 100_000, 1, 100_000], "truncated: the record ends 100000 bytes early"),
        (&[1, 0, 0, 0, 0, 0, 0, 4, 1, 4, 0, 0, 0], "8 bytes are left"),
    ];
    on_both(|choice| {
        for sink in SINKS {
            for (words, expected) in cases {
                let (result, _) =
                    scripted_read(choice, sink, PATIENT, move |call| Action::Raw(reply(call, words)));
                let error = result.unwrap_err();
                assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
                assert!(error.detail.contains(expected), "{expected}: {error}");
                assert_eq!(error.retries, 0);
            }
        }
    });
}

#[test]
fn refusals_by_rpc_have_names() {
    let cases: [(&[u32], ErrorKind, &str); 4] = [
        (&[1, 1, 1, 5], ErrorKind::AccessDenied, "AUTH_TOOWEAK"),
        (&[1, 0, 0, 0, 5], ErrorKind::ServerFault, "SYSTEM_ERR"),
        (&[1, 0, 0, 0, 4], ErrorKind::Rejected, "GARBAGE_ARGS"),
        (&[1, 0, 0, 0, 2, 4, 4], ErrorKind::Rejected, "versions 4 to 4"),
    ];
    for (words, kind, expected) in cases {
        let (result, facts) = scripted_read(BackendChoice::Auto, Sink::Buffer, PATIENT, move |call| {
            Action::Raw(reply(call, words))
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.detail.contains(expected), "{error}");
        assert_eq!(facts.reconnects, 0, "the connection is fine");
    }
}

#[test]
fn other_calls_survive_one_calls_malformed_reply() {
    on_both(|choice| {
        let reactor = Reactor::open(choice).unwrap();
        let server = Server::start(|call| match (call.procedure, call.number) {
            (Procedure::Read, 3) => Action::Raw(reply(call, &[1])),
            _ => Action::Answer,
        });
        for object in 0..8 {
            add_file(&server, object, 10_000);
        }
        let session = open(&reactor, &server, &context(8));
        let results = on_all_lanes(&reactor, &session, 8, OpKind::Read, 0, 10_000);
        let failed: Vec<&OpError> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].kind, ErrorKind::Protocol);
        assert_eq!(session.facts().reconnects, 1);
    });
}

#[test]
fn a_server_that_goes_away_is_a_lost_connection_in_time() {
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    let server = Server::start(|call| match call.procedure {
        Procedure::Getattr => Action::CutAndReset(0),
        _ => Action::Answer,
    });
    add_file(&server, 0, 10);
    let context = WorkerContext { op_timeout: Duration::from_secs(2), ..context(1) };
    let session = open(&reactor, &server, &context);
    perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0)).unwrap();
    drop(server);
    let error = perform(&reactor, &session, op(OpKind::Stat, 0, 0, 0, 0)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ConnectionLost, "{error}");
    assert!(gone.port() > 0);
}
