//! Blocking calls of libraries, carried out by the threads that file operations use where io_uring has no call.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::rc::Rc;

use crate::calls::Call;
use crate::core::{Inner, Kernel};
use crate::pool::CalledWith;
use crate::slots::Held;

/// A call that blocks its thread, with its arguments and, once it has run, its results.
pub trait BlockingCall: Send + 'static {
    /// Makes the call, on a thread of the pool.
    fn run(&mut self);
}

/// Runs the call behind this address.
unsafe fn run<C: BlockingCall>(argument: *mut c_void) {
    // SAFETY: the address is that of the call, which its slot holds until it has run.
    unsafe { (*argument.cast::<C>()).run() };
}

/// Has a thread make the call, and returns it with its results.
pub(crate) async fn call<C: BlockingCall>(inner: &Rc<Inner>, call: Box<C>) -> io::Result<Box<C>> {
    if let Kernel::Simulated(_) = inner.kernel {
        let text = "other threads cannot take part in a simulated run";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    let held = Held { other: Some(call), rare: true, ..Held::default() };
    let called = inner.pool()?.start_call(inner, held, |held| {
        let call = held.other.as_mut().and_then(|other| other.downcast_mut::<C>());
        Call::Library { run: run::<C>, argument: call.map_or(ptr::null_mut(), ptr::from_mut).cast() }
    });
    let ended = CalledWith(called).await;
    let call = ended.and_then(|other| other.downcast::<C>().ok());
    call.ok_or_else(|| io::Error::other("a call was lost"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;
    use crate::{BackendChoice, Reactor};

    struct Sum {
        numbers: [u64; 2],
        sum: u64,
        by: Option<ThreadId>,
    }

    impl BlockingCall for Sum {
        fn run(&mut self) {
            self.sum = self.numbers.iter().sum();
            self.by = Some(thread::current().id());
        }
    }

    #[test]
    fn a_call_comes_back_with_its_results_from_another_thread() {
        for backend in [BackendChoice::Auto, BackendChoice::Epoll] {
            let reactor = Reactor::open(backend).unwrap();
            let mut call = Box::new(Sum { numbers: [1, 2], sum: 0, by: None });
            for _ in 0..100 {
                call = reactor.block_on(reactor.call_blocking(call)).unwrap();
                assert_eq!(call.sum, 3);
                assert_ne!(call.by.take(), Some(thread::current().id()));
            }
        }
        let reactor = Reactor::simulated();
        assert!(
            reactor
                .block_on(reactor.call_blocking(Box::new(Sum { numbers: [0; 2], sum: 0, by: None })))
                .is_err()
        );
    }

    /// Waits until it may continue, and says when it is dropped.
    struct Slow(Receiver<()>, Sender<()>);

    impl BlockingCall for Slow {
        fn run(&mut self) {
            let _ = self.0.recv();
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.1.send(());
        }
    }

    #[test]
    fn a_call_that_nobody_waits_for_keeps_its_memory_until_it_has_run() {
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        let ((go, wait), (gone, dropped)) = (channel(), channel());
        reactor.block_on(async {
            let slow = reactor.call_blocking(Box::new(Slow(wait, gone)));
            assert!(reactor.timeout_at(reactor.now() + 1_000_000, slow).await.is_err());
            assert!(dropped.try_recv().is_err());
            go.send(()).unwrap();
            while dropped.try_recv().is_err() {
                reactor.sleep(Duration::from_millis(1)).await;
            }
        });
    }
}
