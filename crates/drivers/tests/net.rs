//! Blocks over TCP between two sessions of this program on loopback, and with sockets of the standard library.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use drivers::net::{NetConfig, NetDriver, NetSession};
use drivers::{Driver, DriverError, Op, Payload, Session, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};

const BLOCK: u64 = 300_000;

fn context(lanes: u32, sink: Sink) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes,
        payload: Payload::new(42),
        sink,
        op_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
    }
}

fn op(kind: OpKind, lane: u32, number: u64, len: u64) -> Op {
    Op::new(kind, lane, 0).range(number * len, len)
}

/// A port that was free a moment ago.
fn free_port(on: &str) -> SocketAddr {
    TcpListener::bind(on).unwrap().local_addr().unwrap()
}

fn open(reactor: &Reactor, config: NetConfig, context: &WorkerContext) -> Result<NetSession, DriverError> {
    let driver = NetDriver::new(config).unwrap();
    reactor.block_on(driver.connect(reactor, context))
}

/// Sends blocks from a thread of its own, one after another, then closes the connection.
fn send(config: NetConfig, choice: BackendChoice, blocks: u64) -> thread::JoinHandle<u64> {
    thread::spawn(move || {
        let reactor = Reactor::open(choice).unwrap();
        let session = open(&reactor, config, &context(1, Sink::Buffer)).unwrap();
        reactor.block_on(async {
            let mut bytes = 0;
            for number in 0..blocks {
                bytes += session.perform(&op(OpKind::Write, 0, number, BLOCK)).await.unwrap().bytes;
            }
            bytes
        })
    })
}

fn on_both(test: impl Fn(BackendChoice)) {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        test(choice);
    }
}

#[test]
fn what_is_sent_is_received_and_the_senders_end_is_the_receivers() {
    on_both(|choice| {
        for (on, sink) in
            [("127.0.0.1:0", Sink::Verify), ("[::1]:0", Sink::Discard), ("127.0.0.1:0", Sink::Buffer)]
        {
            let address = free_port(on);
            let sender = send(NetConfig::new(address), choice, 20);
            let reactor = Reactor::open(choice).unwrap();
            let listening = NetConfig { listen: true, ..NetConfig::new(address) };
            let session = open(&reactor, listening, &context(1, sink)).unwrap();
            reactor.block_on(async {
                for number in 0..20 {
                    let done = session.perform(&op(OpKind::Read, 0, number, BLOCK)).await.unwrap();
                    assert_eq!(done.bytes, BLOCK);
                }
                assert!(!session.is_over());
                let end = session.perform(&op(OpKind::Read, 0, 20, BLOCK)).await.unwrap_err();
                assert_eq!(end.kind, ErrorKind::ConnectionLost);
                assert!(session.is_over(), "{end}");
            });
            assert_eq!(sender.join().unwrap(), 20 * BLOCK);
            assert_eq!(session.facts().connections.len(), 1);
        }
    });
}

#[test]
fn nothing_but_the_blocks_is_on_the_wire() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let sender = send(NetConfig::new(listener.local_addr().unwrap()), BackendChoice::Auto, 3);
    let mut seen = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut seen).unwrap();
    sender.join().unwrap();
    let mut expected = vec![0; 3 * BLOCK as usize];
    for (number, block) in (0..).zip(expected.chunks_mut(BLOCK as usize)) {
        Payload::new(42).fill_op(&op(OpKind::Write, 0, number, BLOCK), 0, block);
    }
    assert!(seen == expected, "{} bytes came", seen.len());
}

/// A plain connection to a listener, which may not be there yet.
fn connected(address: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(_) => thread::yield_now(),
        }
    }
}

#[test]
fn a_block_that_ends_early_counts_what_came() {
    let address = free_port("127.0.0.1:0");
    let peer = thread::spawn(move || {
        let mut stream = connected(address);
        stream.write_all(&[7; 1500]).unwrap();
    });
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let listening = NetConfig { listen: true, ..NetConfig::new(address) };
    let session = open(&reactor, listening, &context(1, Sink::Buffer)).unwrap();
    reactor.block_on(async {
        assert_eq!(session.perform(&op(OpKind::Read, 0, 0, 1000)).await.unwrap().bytes, 1000);
        assert_eq!(session.perform(&op(OpKind::Read, 0, 1, 1000)).await.unwrap().bytes, 500);
        assert!(session.is_over());
    });
    peer.join().unwrap();
}

/// fio's sender closes with eight bytes of its own.
#[test]
fn a_farewell_of_fio_is_no_data() {
    let address = free_port("127.0.0.1:0");
    let peer = thread::spawn(move || {
        let mut stream = connected(address);
        stream.write_all(&[7; 1000]).unwrap();
        stream.write_all(b"knil\x89\0\0\0").unwrap();
    });
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let listening = NetConfig { listen: true, ..NetConfig::new(address) };
    let session = open(&reactor, listening, &context(1, Sink::Buffer)).unwrap();
    reactor.block_on(async {
        assert_eq!(session.perform(&op(OpKind::Read, 0, 0, 1000)).await.unwrap().bytes, 1000);
        assert!(session.perform(&op(OpKind::Read, 0, 1, 1000)).await.is_err());
        assert!(session.is_over());
    });
    peer.join().unwrap();
}

#[test]
fn ping_pong_sends_each_block_back() {
    on_both(|choice| {
        let address = free_port("127.0.0.1:0");
        let config = NetConfig { ping_pong: true, ..NetConfig::new(address) };
        let sender = send(config.clone(), choice, 10);
        let reactor = Reactor::open(choice).unwrap();
        let session =
            open(&reactor, NetConfig { listen: true, ..config }, &context(1, Sink::Buffer)).unwrap();
        reactor.block_on(async {
            for number in 0..10 {
                session.perform(&op(OpKind::Read, 0, number, BLOCK)).await.unwrap();
            }
        });
        assert_eq!(sender.join().unwrap(), 10 * BLOCK);
    });
}

#[test]
fn lanes_take_turns_on_a_connection_and_blocks_stay_whole() {
    let address = free_port("127.0.0.1:0");
    let lanes = 8;
    let config = NetConfig { connections_per_worker: 2, ..NetConfig::new(address) };
    let listening = NetConfig { listen: true, ..config.clone() };
    let receiver = thread::spawn(move || {
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let session = open(&reactor, listening, &context(lanes, Sink::Buffer)).unwrap();
        let lane = |lane: u32| {
            let session = &session;
            async move {
                while session.perform(&op(OpKind::Read, lane, 0, BLOCK)).await.is_ok() {}
                assert!(session.is_over());
            }
        };
        let left = reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
        assert_eq!(left, 0);
        assert_eq!(session.facts().connections.len(), 2);
    });
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let session = open(&reactor, config, &context(lanes, Sink::Buffer)).unwrap();
    let lane = |lane: u32| {
        let session = &session;
        async move {
            for number in 0..20 {
                session.perform(&op(OpKind::Write, lane, number, BLOCK)).await.unwrap();
            }
        }
    };
    reactor.run_lanes((0..lanes).map(lane).collect(), std::future::pending::<()>());
    drop(session);
    receiver.join().unwrap();
}

#[test]
fn each_worker_may_have_a_port_of_its_own() {
    let listeners: Vec<TcpListener> = loop {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let next = first.local_addr().unwrap().port().checked_add(1);
        if let Some(Ok(next)) = next.map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port))) {
            break vec![first, next];
        }
    };
    let address = listeners[0].local_addr().unwrap();
    let config = NetConfig { port_per_worker: true, ..NetConfig::new(address) };
    let driver = NetDriver::new(config).unwrap();
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    for (worker, listener) in (0..).zip(&listeners) {
        let context = WorkerContext { worker, ..context(1, Sink::Buffer) };
        let session = reactor.block_on(driver.connect(&reactor, &context)).unwrap();
        assert_eq!(session.facts().connections[0].remote, listener.local_addr().unwrap());
    }
}

#[test]
fn segments_and_windows_are_as_asked_on_both_sides() {
    on_both(|choice| {
        let address = free_port("127.0.0.1:0");
        let sized = NetConfig {
            segment_bytes: Some(1000),
            window_bytes: Some(64 << 10),
            nodelay: false,
            repeat: true,
            ..NetConfig::new(address)
        };
        let sender = send(sized.clone(), choice, 5);
        let reactor = Reactor::open(choice).unwrap();
        let listening = NetConfig { listen: true, ..sized };
        let session = open(&reactor, listening, &context(1, Sink::Buffer)).unwrap();
        reactor.block_on(async {
            for number in 0..5 {
                session.perform(&op(OpKind::Read, 0, number, BLOCK)).await.unwrap();
            }
        });
        let largest = session.facts().connections[0].mss_bytes;
        assert!((1..=1000).contains(&largest), "{largest}");
        assert_eq!(sender.join().unwrap(), 5 * BLOCK);
    });
}

#[test]
fn a_peer_that_is_not_there_is_named_in_one_line() {
    let address = free_port("127.0.0.1:0");
    let reactor = Reactor::open(BackendChoice::Auto).unwrap();
    let short = WorkerContext { connect_timeout: Duration::from_millis(120), ..context(1, Sink::Buffer) };
    let error = open(&reactor, NetConfig::new(address), &short).err().unwrap();
    assert!(error.detail.contains("nobody listened within 0.12 s"), "{error}");
    let listening = NetConfig { listen: true, ..NetConfig::new(address) };
    let error = open(&reactor, listening, &short).err().unwrap();
    assert!(error.detail.contains("0 of 1 connections came within 0.12 s"), "{error}");
    let elsewhere = NetConfig { listen: true, ..NetConfig::new("192.0.2.1:9".parse().unwrap()) };
    let error = open(&reactor, elsewhere, &short).err().unwrap();
    assert!(error.detail.starts_with("cannot listen on 192.0.2.1:9: "), "{error}");
    let far = NetConfig { port_per_worker: true, first_number: 70_000, ..NetConfig::new(address) };
    let error = open(&reactor, far, &short).err().unwrap();
    assert!(error.detail.contains("beyond 65535"), "{error}");
}
