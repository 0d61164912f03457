//! Behaviour common to all backends.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use reactor::{Backend, BackendChoice, Elapsed, Reactor, SocketOptions, Stream, clock};

fn on_both(test: impl Fn(&Reactor)) {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let reactor = Reactor::open(choice).expect("both backends work where the tests run");
        assert_eq!(reactor.backend() == Backend::Uring, choice == BackendChoice::Uring);
        test(&reactor);
    }
}

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Two ends of one connection.
async fn pair(reactor: &Reactor) -> (Stream, Stream) {
    let listener = reactor.listen(any_port(), 8).unwrap();
    let near = reactor.connect(listener.local_addr(), &SocketOptions::default()).await.unwrap();
    let (far, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, near.local_addr());
    (near, far)
}

#[test]
fn bytes_arrive_in_order_through_an_echo() {
    on_both(|reactor| {
        reactor.block_on(async {
            let (near, far) = pair(reactor).await;
            let echo = reactor.clone();
            reactor.spawn(async move {
                let mut buffer = echo.buffer(70_000);
                loop {
                    let (count, back) = far.recv(buffer, 0..70_000).await;
                    buffer = back;
                    let count = count.unwrap();
                    if count == 0 {
                        break;
                    }
                    let (sent, back) = far.send_all(buffer, 0..count).await;
                    buffer = back;
                    sent.unwrap();
                }
            });
            let len = 3_000_000;
            let mut out = reactor.buffer(len);
            for (i, byte) in out.iter_mut().enumerate() {
                *byte = (i * 31 % 251) as u8;
            }
            let expected = out.to_vec();
            let writer = near.clone();
            reactor.spawn(async move {
                let (sent, _) = writer.send_all(out, 0..len).await;
                sent.unwrap();
            });
            let (got, back) = near.recv_exact(reactor.buffer(len), 0..len).await;
            assert_eq!(got.unwrap(), len);
            assert!(back[..] == expected[..]);
        });
    });
}

#[test]
fn discarded_bytes_are_counted_and_what_follows_is_intact() {
    on_both(|reactor| {
        reactor.block_on(async {
            let (near, far) = pair(reactor).await;
            let len = 5_000_000;
            let sender = reactor.clone();
            reactor.spawn(async move {
                let mut buffer = sender.buffer(len + 4);
                buffer[len..].copy_from_slice(b"tail");
                far.send_all(buffer, 0..len + 4).await.0.unwrap();
            });
            assert_eq!(near.recv_discard(len).await.unwrap(), len);
            let (got, tail) = near.recv_exact(reactor.buffer(4), 0..4).await;
            assert_eq!(got.unwrap(), 4);
            assert_eq!(&tail[..], b"tail");
            // The other end is already closed: the stream ends early, and the count shows it.
            assert_eq!(near.recv_discard(1000).await.unwrap(), 0);
        });
    });
}

#[test]
fn a_receive_that_waits_for_much_gets_the_last_bytes_and_the_end() {
    on_both(|reactor| {
        reactor.block_on(async {
            let (near, far) = pair(reactor).await;
            let sender = reactor.clone();
            let sending = reactor.spawn(async move {
                // In pieces far smaller than what the other side waits for; then the end.
                let mut buffer = sender.buffer(10_000);
                for _ in 0..50 {
                    let (sent, back) = far.send_all(buffer, 0..10_000).await;
                    buffer = back;
                    sent.unwrap();
                    sender.sleep(Duration::from_micros(200)).await;
                }
            });
            let mut buffer = reactor.buffer(300_000);
            let mut total = 0;
            let mut receives = 0;
            while total < 400_000 {
                let (count, back) = near.recv_due(buffer, 0..300_000, 500_000 - total).await;
                buffer = back;
                total += count.unwrap();
                receives += 1;
            }
            assert!(receives < 40, "{receives} receives for 40 handfuls");
            // A plain receive after being woken by anything.
            while total < 500_000 {
                let (count, back) = near.recv(buffer, 0..300_000).await;
                buffer = back;
                total += count.unwrap();
            }
            // It waits for more than ever arrives: the end of the stream wakes it.
            let (count, _) = near.recv_due(buffer, 0..300_000, 300_000).await;
            assert_eq!(count.unwrap(), 0);
            drop(sending);
        });
    });
}

#[test]
fn a_deadline_cancels_what_waits_and_the_connection_lives_on() {
    on_both(|reactor| {
        reactor.block_on(async {
            let (near, far) = pair(reactor).await;
            let start = reactor.now();
            let waited = reactor.timeout_at(start + 30_000_000, near.recv(reactor.buffer(16), 0..16)).await;
            assert_eq!(waited.err(), Some(Elapsed));
            assert!(reactor.now() >= start + 30_000_000);
            let mut hello = reactor.buffer(5);
            hello.copy_from_slice(b"hello");
            far.send_all(hello, 0..5).await.0.unwrap();
            let (got, buffer) = near.recv_exact(reactor.buffer(5), 0..5).await;
            assert_eq!((got.unwrap(), &buffer[..]), (5, &b"hello"[..]));
        });
    });
}

#[test]
fn refused_reset_and_shut_connections_are_told_apart() {
    on_both(|reactor| {
        reactor.block_on(async {
            let closed = {
                let listener = reactor.listen(any_port(), 1).unwrap();
                listener.local_addr()
            };
            let refused = reactor.connect(closed, &SocketOptions::default()).await.unwrap_err();
            assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);

            let (near, far) = pair(reactor).await;
            far.reset_on_close();
            drop(far);
            let (reset, _) = near.recv(reactor.buffer(1), 0..1).await;
            assert_eq!(reset.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);

            let (near, _far) = pair(reactor).await;
            let shut = near.clone();
            let clone = reactor.clone();
            reactor.spawn(async move {
                clone.sleep(Duration::from_millis(5)).await;
                shut.shutdown();
            });
            let (ended, _) = near.recv(reactor.buffer(1), 0..1).await;
            assert_eq!(ended.unwrap(), 0);
        });
    });
}

#[test]
fn lanes_run_interleaved_and_the_unfinished_are_counted() {
    on_both(|reactor| {
        let order = RefCell::new(Vec::new());
        let lane = |name: u32, rounds: u32| {
            let order = &order;
            async move {
                for _ in 0..rounds {
                    order.borrow_mut().push(name);
                    reactor.yield_now().await;
                }
            }
        };
        let left = reactor.run_lanes(vec![lane(0, 3), lane(1, 2)], std::future::pending());
        assert_eq!(left, 0);
        assert_eq!(*order.borrow(), [0, 1, 0, 1, 0]);

        let stuck = |_: u32| async { reactor.signal().wait().await };
        let until = reactor.sleep(Duration::from_millis(5));
        assert_eq!(reactor.run_lanes(vec![stuck(0), stuck(1)], until), 2);
    });
}

#[test]
fn signals_are_remembered_and_aborted_tasks_are_dropped() {
    struct Falls(Rc<Cell<bool>>);
    impl Drop for Falls {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    on_both(|reactor| {
        reactor.block_on(async {
            let signal = reactor.signal();
            signal.set();
            signal.wait().await;
            let other = signal.clone();
            reactor.spawn(async move { other.set() });
            signal.wait().await;

            let dropped = Rc::new(Cell::new(false));
            let falls = Falls(Rc::clone(&dropped));
            let never = reactor.signal();
            let task = reactor.spawn(async move {
                let _falls = falls;
                never.wait().await;
            });
            reactor.yield_now().await;
            assert!(!dropped.get());
            task.abort();
            assert!(dropped.get());
        });
    });
}

#[test]
fn dropping_the_reactor_drops_its_tasks_and_closes_their_sockets() {
    on_both(|_| {});
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let reactor = Reactor::open(choice).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let clone = reactor.clone();
        let connected = reactor.signal();
        let tell = connected.clone();
        reactor.spawn(async move {
            let stream = clone.connect(to, &SocketOptions::default()).await.unwrap();
            tell.set();
            let (_, _) = stream.recv(clone.buffer(10), 0..10).await;
        });
        reactor.block_on(connected.wait());
        let (mut far, _) = listener.accept().unwrap();
        drop((reactor, connected));
        far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut byte = [0];
        assert_eq!(std::io::Read::read(&mut far, &mut byte).unwrap(), 0, "the other end sees the close");
    }
}

#[test]
fn timers_are_not_early_and_keep_their_order() {
    on_both(|reactor| {
        let order = Rc::new(RefCell::new(Vec::new()));
        let start = reactor.now();
        let lane = |wait_us: u64| {
            let order = Rc::clone(&order);
            async move {
                reactor.sleep_until(start + wait_us * 1000).await;
                assert!(reactor.now() >= start + wait_us * 1000);
                order.borrow_mut().push(wait_us);
            }
        };
        reactor.run_lanes(vec![lane(3000), lane(1000), lane(2000), lane(150)], std::future::pending());
        assert_eq!(*order.borrow(), [150, 1000, 2000, 3000]);
    });
}

#[test]
fn many_connections_at_once_and_one_after_another() {
    on_both(|reactor| {
        reactor.block_on(async {
            let listener = reactor.listen(any_port(), 128).unwrap();
            let to = listener.local_addr();
            let server = reactor.clone();
            reactor.spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let clone = server.clone();
                    server.spawn(async move {
                        let (got, buffer) = stream.recv_exact(clone.buffer(8), 0..8).await;
                        if got.unwrap() == 8 {
                            stream.send_all(buffer, 0..8).await.0.unwrap();
                        }
                    });
                }
            });
            for round in 0..20_u64 {
                let done = Rc::new(Cell::new(0));
                let all = reactor.signal();
                for i in 0..50_u64 {
                    let (clone, done, all) = (reactor.clone(), Rc::clone(&done), all.clone());
                    reactor.spawn(async move {
                        let stream = clone.connect(to, &SocketOptions::default()).await.unwrap();
                        let mut buffer = clone.buffer(8);
                        let number = (round * 1000 + i).to_be_bytes();
                        buffer.copy_from_slice(&number);
                        let (sent, buffer) = stream.send_all(buffer, 0..8).await;
                        sent.unwrap();
                        let (got, buffer) = stream.recv_exact(buffer, 0..8).await;
                        assert_eq!((got.unwrap(), &buffer[..]), (8, &number[..]));
                        done.set(done.get() + 1);
                        all.set();
                    });
                }
                while done.get() < 50 {
                    all.wait().await;
                }
            }
        });
    });
}

#[test]
fn connection_facts_and_ipv6() {
    on_both(|reactor| {
        reactor.block_on(async {
            let listener = reactor.listen("[::1]:0".parse().unwrap(), 8).unwrap();
            let options = SocketOptions { reserved_port: true, ..SocketOptions::default() };
            let near = reactor.connect(listener.local_addr(), &options).await.unwrap();
            let info = near.tcp_info().unwrap();
            assert!(info.mss_bytes >= 536, "{info:?}");
            assert_eq!(info.retransmits, 0);
            assert_eq!(near.peer_addr(), listener.local_addr());
        });
    });
}

#[test]
fn simulated_time_is_exact() {
    let reactor = Reactor::simulated();
    assert_eq!(reactor.now(), 0);
    let trace = RefCell::new(Vec::new());
    let lane = |step: u64| {
        let (reactor, trace) = (&reactor, &trace);
        async move {
            for _ in 0..3 {
                reactor.sleep(Duration::from_nanos(step)).await;
                trace.borrow_mut().push((reactor.now(), step));
            }
        }
    };
    let wall = clock::now_ns();
    reactor.run_lanes(vec![lane(3_600_000_000_000), lane(5_400_000_000_000)], std::future::pending());
    assert!(clock::now_ns() - wall < 3_600_000_000_000, "hours pass in no time");
    let minutes: Vec<_> =
        trace.borrow().iter().map(|(at, step)| (at / 60_000_000_000, step / 60_000_000_000)).collect();
    assert_eq!(minutes, [(60, 60), (90, 90), (120, 60), (180, 90), (180, 60), (270, 90)]);
}

#[test]
fn zero_copy_sends_give_the_buffer_back_only_when_it_is_free() {
    on_both(|reactor| {
        reactor.block_on(async {
            let listener = reactor.listen(any_port(), 8).unwrap();
            let options = SocketOptions { zero_copy_send: true, ..SocketOptions::default() };
            let near = reactor.connect(listener.local_addr(), &options).await.unwrap();
            let (far, _) = listener.accept().await.unwrap();
            assert_eq!(near.sends_zero_copy(), reactor.backend() == Backend::Uring);
            let len = 300_000;
            let rounds = 20_u8;
            let receiver = reactor.clone();
            let finished = reactor.signal();
            let tell = finished.clone();
            reactor.spawn(async move {
                let mut buffer = receiver.buffer(len);
                for round in 0..rounds {
                    let (got, back) = far.recv_exact(buffer, 0..len).await;
                    assert_eq!(got.unwrap(), len);
                    assert!(
                        back.iter().all(|&byte| byte == round),
                        "round {round} was overwritten in flight"
                    );
                    buffer = back;
                }
                tell.set();
            });
            let mut buffer = reactor.registered_buffer(len);
            assert!(!buffer.is_registered() || reactor.backend() == Backend::Uring);
            for round in 0..rounds {
                // The kernel has read the pages of the previous round; they may change now.
                buffer.fill(round);
                let (sent, back) = near.send_all(buffer, 0..len).await;
                sent.unwrap();
                buffer = back;
            }
            finished.wait().await;
        });
    });
}

#[test]
fn registered_buffers_come_and_go_without_using_up_the_table() {
    let reactor = Reactor::open(BackendChoice::Uring).unwrap();
    let first = reactor.registered_buffer(4096);
    if first.is_registered() {
        drop(first);
        for _ in 0..5000 {
            assert!(reactor.registered_buffer(4096).is_registered());
        }
    }
}
