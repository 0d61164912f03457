//! A signal between tasks of one reactor.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::core::{Inner, NO_TASK};

/// Wakes one waiting task. A set signal stays set until a wait consumes it.
///
/// Clones refer to the same signal. At most one task may wait at a time; debug builds assert that.
#[derive(Clone)]
pub struct Signal {
    shared: Rc<Shared>,
}

struct Shared {
    inner: Rc<Inner>,
    set: Cell<bool>,
    waiter: Cell<u32>,
}

impl Signal {
    pub(crate) fn new(inner: Rc<Inner>) -> Signal {
        Signal { shared: Rc::new(Shared { inner, set: Cell::new(false), waiter: Cell::new(NO_TASK) }) }
    }

    /// Wakes the waiting task, or makes the next wait return at once.
    #[inline]
    pub fn set(&self) {
        self.shared.set.set(true);
        let waiter = self.shared.waiter.replace(NO_TASK);
        if waiter != NO_TASK {
            self.shared.inner.make_ready(waiter);
        }
    }

    /// Clears a signal that nobody waited for.
    #[inline]
    pub fn clear(&self) {
        self.shared.set.set(false);
    }

    /// Waits until the signal is set, and consumes it.
    pub fn wait(&self) -> impl Future<Output = ()> {
        Wait { shared: &self.shared, task: NO_TASK }
    }
}

struct Wait<'a> {
    shared: &'a Shared,
    /// The task that is waiting.
    task: u32,
}

impl Future for Wait<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Shared { inner, set, waiter } = self.shared;
        let task = inner.current();
        let waiting = waiter.get();
        debug_assert!(waiting == NO_TASK || waiting == task, "one task at a time waits for a signal");
        if set.replace(false) {
            waiter.set(NO_TASK);
            self.task = NO_TASK;
            return Poll::Ready(());
        }
        waiter.set(task);
        self.task = task;
        Poll::Pending
    }
}

impl Drop for Wait<'_> {
    #[inline]
    fn drop(&mut self) {
        // A task that stopped waiting is not woken and blocks nobody.
        if self.task != NO_TASK && self.shared.waiter.get() == self.task {
            self.shared.waiter.set(NO_TASK);
        }
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal").field("set", &self.shared.set.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use crate::{Reactor, Signal};

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "one task at a time waits for a signal")]
    fn two_tasks_must_not_wait_for_one_signal() {
        let reactor = Reactor::simulated();
        let signal = reactor.signal();
        let wait = async |_: u32| signal.wait().await;
        reactor.run_lanes((0..2).map(wait).collect(), reactor.sleep(Duration::from_secs(1)));
    }

    #[test]
    fn a_wait_that_was_dropped_is_in_nobodys_way() {
        let reactor = Reactor::simulated();
        let signal: Signal = reactor.signal();
        let wait = async |lane: u32| match lane {
            0 => assert!(reactor.timeout_at(1_000_000, signal.wait()).await.is_err()),
            1 => {
                reactor.sleep(Duration::from_millis(2)).await;
                signal.wait().await;
            }
            _ => {
                reactor.sleep(Duration::from_millis(3)).await;
                signal.set();
            }
        };
        assert_eq!(reactor.run_lanes((0..3).map(wait).collect(), pending::<()>()), 0);
    }
}
