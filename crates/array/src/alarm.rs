//! Precise sleeping for tasks of any runtime.
//!
//! Tokio's timers have millisecond resolution and fire one millisecond late on average: too coarse for an array with
//! programmed latency. This is one thread that sleeps until the next alarm, using the kernel's high-resolution timers,
//! and wakes the tasks that wait for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use reactor::clock;

/// A clock that wakes tasks. Clones are handles to the same thread, which ends with the last of them.
#[derive(Clone, Debug)]
pub struct Alarm(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    alarms: BinaryHeap<Reverse<Entry>>,
    next_number: u64,
    ended: bool,
}

#[derive(Debug)]
struct Entry {
    at_ns: u64,
    /// Alarms for the same time ring in the order in which they were set.
    number: u64,
    waker: Waker,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at_ns, self.number) == (other.at_ns, other.number)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // By default the kernel may coalesce a thread's timers within 50 us.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut due = Vec::new();
        let mut state = self.lock();
        while !state.ended {
            let now = clock::now_ns();
            while state.alarms.peek().is_some_and(|Reverse(entry)| entry.at_ns <= now) {
                due.extend(state.alarms.pop().map(|Reverse(entry)| entry.waker));
            }
            if !due.is_empty() {
                drop(state);
                due.drain(..).for_each(Waker::wake);
                state = self.lock();
                continue;
            }
            let wait = state.alarms.peek().map(|Reverse(entry)| Duration::from_nanos(entry.at_ns - now));
            state = match wait {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    let waited = self.changed.wait_timeout(state, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Alarm {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread could not be created.
    pub fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("alarm".into()).spawn(move || its.run())?;
        Ok(Self(Arc::new(Owner { shared, thread: Some(thread) })))
    }

    /// Waits until a time on [`reactor::clock::now_ns`]'s clock; returns at once if it has passed.
    pub fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()> + Send + use<> {
        Sleep { shared: Arc::clone(&self.0.shared), at_ns, set: false }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Sleep {
    shared: Arc<Shared>,
    at_ns: u64,
    set: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if clock::now_ns() >= self.at_ns {
            return Poll::Ready(());
        }
        if !self.set {
            self.set = true;
            let mut state = self.shared.lock();
            let first = state.alarms.peek().is_none_or(|Reverse(entry)| self.at_ns < entry.at_ns);
            let number = state.next_number;
            state.next_number += 1;
            state.alarms.push(Reverse(Entry { at_ns: self.at_ns, number, waker: context.waker().clone() }));
            drop(state);
            if first {
                self.shared.changed.notify_one();
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleepers_wake_in_order_and_never_early() {
        let alarm = Alarm::start().unwrap();
        let start = clock::now_ns();
        let order = Arc::new(Mutex::new(Vec::new()));
        let sleepers: Vec<_> = [30u64, 10, 20, 0]
            .into_iter()
            .map(|ms| {
                let (alarm, order) = (alarm.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let at = start + ms * 1_000_000;
                    alarm.sleep_until(at).await;
                    assert!(clock::now_ns() >= at);
                    order.lock().unwrap().push(ms);
                })
            })
            .collect();
        for sleeper in sleepers {
            sleeper.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [0, 10, 20, 30]);
    }

    #[test]
    fn the_thread_ends_with_the_last_handle() {
        let alarm = Alarm::start().unwrap();
        let shared = Arc::downgrade(&alarm.0.shared);
        drop(alarm.clone());
        assert!(shared.upgrade().is_some());
        drop(alarm);
        assert!(shared.upgrade().is_none());
    }
}
