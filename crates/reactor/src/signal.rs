//! A signal between tasks of one reactor.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::core::{Inner, NO_TASK};

/// Wakes one waiting task. Setting is remembered until a wait consumes it.
///
/// Clones are handles to the same signal. At most one task may wait at a time.
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

    /// Wakes the waiting task, or lets the next wait return at once.
    #[inline]
    pub fn set(&self) {
        self.shared.set.set(true);
        let waiter = self.shared.waiter.replace(NO_TASK);
        if waiter != NO_TASK {
            self.shared.inner.make_ready(waiter);
        }
    }

    /// Forgets a set that nobody waited for.
    #[inline]
    pub fn clear(&self) {
        self.shared.set.set(false);
    }

    /// Waits until the signal is set, and consumes that.
    pub async fn wait(&self) {
        poll_fn(|_| {
            if self.shared.set.replace(false) {
                self.shared.waiter.set(NO_TASK);
                return Poll::Ready(());
            }
            self.shared.waiter.set(self.shared.inner.current());
            Poll::Pending
        })
        .await;
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal").field("set", &self.shared.set.get()).finish()
    }
}
