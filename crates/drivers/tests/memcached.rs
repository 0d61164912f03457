//! The memcached driver against scripted servers, correct and faulty, on both backends.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use drivers::memcached::{MemcachedConfig, MemcachedDriver, MemcachedSession};
use drivers::{Driver, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};

const LEN: u64 = 300_000;
const LIMIT: Duration = Duration::from_secs(20);
type Values = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Serves each connection by `script` in a thread of its own, passing the connection's number.
fn serve(script: impl Fn(BufReader<TcpStream>, usize) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let script = Arc::clone(&script);
            thread::spawn(move || script(BufReader::new(stream), number));
        }
    });
    address
}

fn line(peer: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    (peer.read_line(&mut line).unwrap_or(0) > 0).then(|| line.trim_end().to_owned())
}

fn send(peer: &mut BufReader<TcpStream>, bytes: &[u8]) {
    // The client may have disconnected.
    let _ = peer.get_mut().write_all(bytes);
}

/// A server that follows the protocol.
fn store() -> (SocketAddr, Values) {
    let values = Values::default();
    let kept = Arc::clone(&values);
    let address = serve(move |mut peer, _| {
        while let Some(command) = line(&mut peer) {
            let words: Vec<&str> = command.split(' ').collect();
            match words[..] {
                ["set", key, "0", "0", len] => {
                    let mut value = vec![0; len.parse::<usize>().unwrap() + 2];
                    peer.read_exact(&mut value).unwrap();
                    assert_eq!(value.split_off(value.len() - 2), b"\r\n");
                    kept.lock().unwrap().insert(key.to_owned(), value);
                    send(&mut peer, b"STORED\r\n");
                }
                ["get", key] => {
                    if let Some(value) = kept.lock().unwrap().get(key) {
                        send(&mut peer, format!("VALUE {key} 0 {}\r\n", value.len()).as_bytes());
                        send(&mut peer, value);
                        send(&mut peer, b"\r\n");
                    }
                    send(&mut peer, b"END\r\n");
                }
                ["delete", key] => {
                    let there = kept.lock().unwrap().remove(key).is_some();
                    send(&mut peer, if there { b"DELETED\r\n" } else { b"NOT_FOUND\r\n" });
                }
                ["lru_crawler", "metadump", "all"] => {
                    let lines: String = (kept.lock().unwrap().keys())
                        .map(|key| {
                            format!(
                                "key={} exp=-1 la=1 cas=1 fetch=no cls=1 size=9\r\n",
                                key.replace(':', "%3A")
                            )
                        })
                        .collect();
                    send(&mut peer, format!("{lines}END\r\n").as_bytes());
                }
                ["version"] => send(&mut peer, b"VERSION 1.6.18\r\n"),
                _ => send(&mut peer, b"ERROR\r\n"),
            }
        }
    });
    (address, values)
}

fn driver(address: SocketAddr) -> MemcachedDriver {
    MemcachedDriver::new(MemcachedConfig::new(address, "manometer-abcdefgh")).unwrap()
}

fn context(sink: Sink) -> WorkerContext {
    let payload = Payload::new(42);
    WorkerContext { worker: 0, lanes: 2, payload, sink, op_timeout: LIMIT, connect_timeout: LIMIT }
}

fn op(kind: OpKind, object: u64) -> Op {
    Op::new(kind, 0, object).range(0, LEN)
}

fn backends() -> Vec<BackendChoice> {
    let uring = Reactor::open(BackendChoice::Uring).is_ok().then_some(BackendChoice::Uring);
    [BackendChoice::Epoll].into_iter().chain(uring).collect()
}

/// Runs a test with a session on each backend.
fn on_each(address: SocketAddr, context: &WorkerContext, test: impl AsyncFn(&MemcachedSession)) {
    for choice in backends() {
        let reactor = Reactor::open(choice).unwrap();
        reactor.block_on(async {
            let session = driver(address).connect(&reactor, context).await.unwrap();
            test(&session).await;
        });
    }
}

#[test]
fn what_is_set_is_fetched_verified_and_removed() {
    let (address, values) = store();
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        on_each(address, &context(sink), async |session| {
            for len in [0, 1, 4096, LEN] {
                let of = |kind| Op { len, ..op(kind, 0xab) };
                assert_eq!(session.perform(&of(OpKind::Put)).await.unwrap().bytes, len);
                let mut expected = vec![0; len as usize];
                Payload::new(42).fill_op(&of(OpKind::Put), 0, &mut expected);
                assert_eq!(values.lock().unwrap()["manometer-abcdefgh:00000000000000ab"], expected);
                let done = session.perform(&of(OpKind::Get)).await.unwrap();
                assert_eq!(
                    (done.bytes, done.rpcs, done.first_byte_ns.is_some()),
                    (len, 1, len > 0),
                    "{sink:?} {len}"
                );
            }
            session.perform(&op(OpKind::Delete, 0xab)).await.unwrap();
            for kind in [OpKind::Get, OpKind::Delete] {
                let error = session.perform(&op(kind, 0xab)).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
            }
            assert_eq!((session.facts().reconnects, session.facts().connections.len()), (0, 2));
        });
    }
}

#[test]
fn a_damaged_value_is_found_and_the_connection_stays() {
    let (address, values) = store();
    on_each(address, &context(Sink::Verify), async |session| {
        session.perform(&op(OpKind::Put, 1)).await.unwrap();
        values.lock().unwrap().values_mut().for_each(|value| value[200_000] ^= 1);
        let error = session.perform(&op(OpKind::Get, 1)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
        session.perform(&op(OpKind::Put, 1)).await.unwrap();
        session.perform(&op(OpKind::Get, 1)).await.unwrap();
        assert_eq!(session.facts().reconnects, 0);
    });
}

#[test]
fn only_our_keys_are_removed() {
    let (address, values) = store();
    let theirs =
        ["other", "manometer-abcdefgh", "manometer-abcdefgh:x", "manometer-abcdefghi:0000000000000001"];
    for key in theirs {
        values.lock().unwrap().insert(key.to_owned(), Vec::new());
    }
    let driver = driver(address);
    assert_eq!(driver.adopt(LIMIT).unwrap_err().kind, ErrorKind::NotFound);
    for number in 0..2000 {
        values.lock().unwrap().insert(format!("manometer-abcdefgh:{number:016x}"), vec![7; 10]);
    }
    driver.adopt(LIMIT).unwrap();
    assert_eq!(driver.beginning(5, 4, LIMIT).unwrap(), [7; 4]);
    assert_eq!(driver.version(LIMIT).unwrap(), "1.6.18");
    assert_eq!(driver.remove_all(LIMIT).unwrap(), 2000);
    assert_eq!(driver.remove_all(LIMIT).unwrap(), 0, "it may be done twice");
    let mut left: Vec<String> = values.lock().unwrap().keys().cloned().collect();
    left.sort();
    let mut expected = theirs.map(str::to_owned);
    expected.sort();
    assert_eq!(left, expected);
}

/// The outcome of a get when the server answers this and closes the connection; also tries the next get,
/// on a new one.
fn get_answered(answer: &'static [u8]) -> OpError {
    let address = serve(move |mut peer, number| {
        if line(&mut peer).is_some() {
            send(&mut peer, if number == 0 { answer } else { b"END\r\n" });
        }
    });
    let context = WorkerContext { lanes: 1, ..context(Sink::Buffer) };
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    reactor.block_on(async {
        let session = driver(address).connect(&reactor, &context).await.unwrap();
        let small = Op { len: 5, ..op(OpKind::Get, 1) };
        let error = session.perform(&small).await.unwrap_err();
        let next = session.perform(&small).await.unwrap_err();
        assert!(matches!(next.kind, ErrorKind::NotFound | ErrorKind::ConnectionLost), "{next}");
        error
    })
}

#[test]
fn servers_that_misbehave_are_named() {
    let key = "manometer-abcdefgh:0000000000000001";
    let value = |text: &str| -> &'static [u8] { format!("VALUE {key} 0 {text}").leak().as_bytes() };
    for (answer, kind, words) in [
        (b"".as_slice(), ErrorKind::ConnectionLost, "without an answer"),
        (b"VALUE manom", ErrorKind::ConnectionLost, "inside an answer"),
        (value("5\r\nabc"), ErrorKind::ConnectionLost, ""),
        (value("6\r\nabcdef\r\nEND\r\n"), ErrorKind::Length, "6 bytes long where 5"),
        (value("5\r\nabcdefg\r\nEND\r\n"), ErrorKind::Length, "longer than the server announced"),
        (value("5\r\nabcde\r\nSTORED\r\n"), ErrorKind::Protocol, "END is missing"),
        (b"VALUE other 0 5\r\nabcde\r\nEND\r\n", ErrorKind::Protocol, "another key"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ErrorKind::Protocol, "does not speak memcached"),
        (b"SERVER_ERROR out of memory storing object\r\n", ErrorKind::NoSpace, "out of memory"),
        (b"SERVER_ERROR object too large for cache\r\n", ErrorKind::Rejected, "memcached -I"),
        (b"CLIENT_ERROR unauthenticated\r\n", ErrorKind::AccessDenied, "unauthenticated"),
        (b"ERROR\r\n", ErrorKind::Protocol, "does not know the command"),
    ] {
        let error = get_answered(answer);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.detail.contains(words) && error.detail.contains(key), "{error}");
        assert!(!error.detail.contains('\n'), "{error}");
    }
}

#[test]
fn a_lost_connection_is_made_anew_and_counted() {
    let address = serve(|mut peer, number| {
        while line(&mut peer).is_some() && number > 0 {
            send(&mut peer, b"DELETED\r\n");
        }
    });
    let context = WorkerContext { lanes: 1, ..context(Sink::Buffer) };
    on_each(address, &context, async |session| {
        let outcome = session.perform(&op(OpKind::Delete, 1)).await;
        session.perform(&op(OpKind::Delete, 1)).await.unwrap();
        let facts = session.facts();
        assert_eq!(facts.reconnects, u64::from(outcome.is_err()));
        assert_eq!(facts.reconnect_reasons.len(), usize::from(outcome.is_err()));
    });
}

#[test]
fn a_server_that_never_answers_is_waited_for_no_longer_than_the_deadline() {
    let address = serve(|mut peer, _| while line(&mut peer).is_some() {});
    let context = WorkerContext { op_timeout: Duration::from_millis(50), ..context(Sink::Buffer) };
    on_each(address, &context, async |session| {
        let error = session.perform(&Op { len: 9, ..op(OpKind::Get, 1) }).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
    });
    let error = driver(address).remove_all(Duration::from_millis(5)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
}

#[test]
fn a_server_that_cannot_list_its_keys_is_told_of() {
    let address = serve(|mut peer, _| {
        while line(&mut peer).is_some() {
            send(&mut peer, b"ERROR\r\n");
        }
    });
    let error = driver(address).adopt(LIMIT).unwrap_err();
    assert!(error.kind == ErrorKind::Rejected && error.detail.contains("lru_crawler metadump"), "{error}");
}

#[test]
fn prefixes_that_no_key_can_have_are_refused() {
    for prefix in ["", "a b", "a:b", "a\r\nflush_all", &"x".repeat(234)] {
        let error =
            MemcachedDriver::new(MemcachedConfig::new(([127, 0, 0, 1], 1).into(), prefix)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected, "{error}");
    }
}

/// The hot path does not allocate: once its buffers are warm, an operation takes no memory from the allocator.
#[test]
fn warm_operations_allocate_nothing() {
    let (address, _) = store();
    for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
        on_each(address, &context(sink), async |session| {
            let round = async || {
                let before = alloc::calls();
                for kind in [OpKind::Put, OpKind::Get, OpKind::Delete] {
                    session.perform(&op(kind, 1)).await.unwrap();
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
