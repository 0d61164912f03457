//! Completions from other threads, on both backends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use reactor::{BackendChoice, Completer, Reactor};

fn on_both(test: impl Fn(&Reactor)) {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        test(&Reactor::open(choice).unwrap());
    }
}

fn is_sent_freely<T: Send + Sync + Clone>(_: &T) {}

#[test]
fn every_completion_arrives_once_and_in_its_threads_order() {
    const THREADS: u64 = 4;
    const EACH: u64 = 5000;
    on_both(|reactor| {
        let (completions, completer) = reactor.completions::<(u64, u64)>().unwrap();
        is_sent_freely(&completer);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let completer = completer.clone();
                std::thread::spawn(move || {
                    for number in 0..EACH {
                        completer.complete((thread, number));
                        if number % 100 == thread {
                            std::thread::sleep(Duration::from_micros(200));
                        }
                    }
                })
            })
            .collect();
        let mut next = [0; THREADS as usize];
        reactor.block_on(async {
            let mut count = 0;
            while count < THREADS * EACH {
                let came = completions.wait(|(thread, number)| {
                    assert_eq!(next[thread as usize], number);
                    next[thread as usize] += 1;
                });
                count += came.await as u64;
            }
            assert_eq!(completions.take(|_| {}), 0);
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A task waits for several things, one of which is completions; if another comes first, nothing is lost.
#[test]
fn a_wait_that_is_dropped_loses_nothing() {
    on_both(|reactor| {
        let (completions, completer) = reactor.completions::<u32>().unwrap();
        let seen = Cell::new(0);
        let note = |number: u32| {
            assert_eq!(number, seen.get());
            seen.set(number + 1);
        };
        reactor.block_on(async {
            for number in 0..50 {
                let soon = reactor.now() + 100_000;
                let nothing =
                    reactor.timeout_at(soon, completions.wait(|_| panic!("nothing was completed"))).await;
                assert!(nothing.is_err());
                let completer = completer.clone();
                let thread = std::thread::spawn(move || completer.complete(number));
                let waited = reactor.timeout_at(reactor.now() + 10_000_000_000, completions.wait(note)).await;
                assert_eq!(waited, Ok(1));
                thread.join().unwrap();
            }
        });
        assert_eq!(seen.get(), 50);
    });
}

#[test]
fn a_task_is_woken_while_others_work() {
    on_both(|reactor| {
        let (completions, completer) = reactor.completions::<u8>().unwrap();
        let woken = Cell::new(false);
        let lane = async |lane: u32| {
            if lane == 0 {
                completions.wait(|_| {}).await;
                woken.set(true);
                return;
            }
            let completer: Completer<u8> = completer.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                completer.complete(1);
            });
            while !woken.get() {
                reactor.yield_now().await;
            }
        };
        reactor.run_lanes((0..2).map(lane).collect(), std::future::pending::<()>());
    });
}

/// Completions that arrive after the reactor's end is gone are dropped, not kept.
#[test]
fn completions_after_the_end_are_dropped() {
    on_both(|reactor| {
        let (completions, completer) = reactor.completions::<Arc<()>>().unwrap();
        let value = Arc::new(());
        completer.complete(Arc::clone(&value));
        assert_eq!(Arc::strong_count(&value), 2);
        drop(completions);
        assert_eq!(Arc::strong_count(&value), 1);
        completer.complete(Arc::clone(&value));
        assert_eq!(Arc::strong_count(&value), 1);
        // The reactor continues to work.
        reactor.block_on(reactor.sleep(Duration::from_millis(1)));
    });
}

#[test]
fn a_simulated_run_has_no_other_threads() {
    let refused = Reactor::simulated().completions::<u8>().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
}
