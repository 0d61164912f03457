//! Completions from other threads: how a library with threads of its own wakes a task of a reactor.
//!
//! The other threads put what is complete on a list and, when it was empty, write to an eventfd (eventfd(2)) that the reactor waits
//! for like any other descriptor. Whoever takes the list over takes all of it, so that many completions cost one event.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io_uring::{opcode, types};
use rustix::event::{EventfdFlags, eventfd};

use crate::Buffer;
use crate::core::{Inner, Kernel};
use crate::epoll::Direction;
use crate::slots::Held;

struct Arrivals<T> {
    list: Vec<T>,
    /// Nobody takes anything any more.
    closed: bool,
}

struct Shared<T> {
    arrivals: Mutex<Arrivals<T>>,
    event: OwnedFd,
}

impl<T> Shared<T> {
    /// A panic elsewhere leaves a plain list as it was.
    fn lock(&self) -> MutexGuard<'_, Arrivals<T>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other threads' side of [`Completions`]: cloned and sent freely.
pub struct Completer<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Completer<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Completer<T> {
    /// Hands a completion to the reactor. It never waits for the reactor, so that callbacks of other libraries may call it.
    /// When the reactor's side is gone the completion is dropped.
    pub fn complete(&self, completion: T) {
        let mut arrivals = self.shared.lock();
        if arrivals.closed {
            return;
        }
        arrivals.list.push(completion);
        let first = arrivals.list.len() == 1;
        drop(arrivals);
        if first {
            // It only fails when the counter is full, and then the reactor is about to look anyway.
            let _ = rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes());
        }
    }
}

impl<T> std::fmt::Debug for Completer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Completer")
    }
}

/// The reactor's side, without a handle of the reactor: its parts own one, too.
pub(crate) struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// Kept so that taking completions over allocates nothing.
    taken: Cell<Vec<T>>,
    /// With epoll, the name of the event there.
    watch: Option<u32>,
    /// With io_uring, what the event's counter is read into.
    counter: Cell<Option<Buffer>>,
}

impl<T> Inbox<T> {
    pub(crate) fn open(inner: &Inner) -> io::Result<Self> {
        let mut flags = EventfdFlags::CLOEXEC;
        // io_uring waits for nothing that says it does not block; after epoll a read must not wait.
        flags.set(EventfdFlags::NONBLOCK, matches!(inner.kernel, Kernel::Epoll(_)));
        let event = eventfd(0, flags)?;
        let watch = match &inner.kernel {
            Kernel::Epoll(epoll) => Some(epoll.watch(event.as_fd())?),
            _ => None,
        };
        let arrivals = Mutex::new(Arrivals { list: Vec::new(), closed: false });
        let shared = Arc::new(Shared { arrivals, event });
        Ok(Self { shared, taken: Cell::default(), watch, counter: Cell::new(None) })
    }

    pub(crate) fn completer(&self) -> Completer<T> {
        Completer { shared: Arc::clone(&self.shared) }
    }

    /// Hands what has arrived to `each`, in order; says how many.
    pub(crate) fn take(&self, each: impl FnMut(T)) -> usize {
        let mut taken = self.taken.take();
        std::mem::swap(&mut taken, &mut self.shared.lock().list);
        let count = taken.len();
        taken.drain(..).for_each(each);
        self.taken.set(taken);
        count
    }

    /// Waits until there is something, and hands it to `each`.
    pub(crate) async fn wait(&self, inner: &Inner, mut each: impl FnMut(T)) -> usize {
        loop {
            // Looked at before each wait: the event of what came meanwhile may have been consumed by a wait that was dropped.
            let count = self.take(&mut each);
            if count > 0 {
                return count;
            }
            self.arrival(inner).await;
        }
    }

    /// Waits for the event.
    async fn arrival(&self, inner: &Inner) {
        let event = &self.shared.event;
        match &inner.kernel {
            Kernel::Uring(uring) => {
                let counter = self.counter.take().unwrap_or_else(|| Buffer::new(8));
                let held = Held { buffer: Some(counter), ..Held::default() };
                let operation = uring.start(inner, held, |held| {
                    let pointer = held.buffer.as_mut().expect("it was put there above").address(0);
                    opcode::Read::new(types::Fd(event.as_raw_fd()), pointer, 8).build()
                });
                let (_, counter) = operation.await;
                self.counter.set(counter);
            }
            Kernel::Epoll(epoll) => {
                let watch = self.watch.expect("it is watched from its opening on");
                epoll.wait(inner, watch, Direction::Read).await;
                let _ = rustix::io::read(event, &mut [0; 8]);
            }
            // No other thread has a part in a simulated run.
            Kernel::Simulated(_) => std::future::pending().await,
        }
    }

    /// Takes nothing any more.
    fn close(&mut self, inner: &Inner) {
        let mut arrivals = self.shared.lock();
        arrivals.closed = true;
        let left = std::mem::take(&mut arrivals.list);
        drop(arrivals);
        drop(left);
        if let (Kernel::Epoll(epoll), Some(watch)) = (&inner.kernel, self.watch.take()) {
            epoll.forget(watch, &self.shared.event);
        }
    }
}

/// What other threads have completed, on the reactor's side ([`Reactor::completions`](crate::Reactor::completions)).
///
/// As many completions are kept as were handed over since the last look: whoever starts the work bounds them.
pub struct Completions<T> {
    inner: Rc<Inner>,
    inbox: Inbox<T>,
}

impl<T: Send> Completions<T> {
    pub(crate) fn open(inner: &Rc<Inner>) -> io::Result<Self> {
        if let Kernel::Simulated(_) = inner.kernel {
            let text = "other threads cannot take part in a simulated run";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Self { inner: Rc::clone(inner), inbox: Inbox::open(inner)? })
    }

    /// The side of other threads.
    pub fn completer(&self) -> Completer<T> {
        self.inbox.completer()
    }

    /// Waits until something has been completed and hands all of it to `each`, in the order in which it came; says how many.
    /// One task at a time may wait. A wait that is dropped loses nothing.
    pub async fn wait(&self, each: impl FnMut(T)) -> usize {
        self.inbox.wait(&self.inner, each).await
    }

    /// Hands what has been completed by now to `each`; says how many.
    pub fn take(&self, each: impl FnMut(T)) -> usize {
        self.inbox.take(each)
    }
}

impl<T> Drop for Completions<T> {
    fn drop(&mut self) {
        self.inbox.close(&self.inner);
    }
}

impl<T> std::fmt::Debug for Completions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Completions")
    }
}
