//! Completions from other threads: lets a library with its own threads wake a task of a reactor.
//!
//! The other threads append completions to a list and, if it was empty, write to an eventfd (eventfd(2)) that the
//! reactor waits for like any other descriptor. The reader always takes the whole list, so that many completions cost
//! one event.

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
    /// Nobody takes completions any more.
    closed: bool,
}

struct Shared<T> {
    arrivals: Mutex<Arrivals<T>>,
    event: OwnedFd,
}

impl<T> Shared<T> {
    /// A panic elsewhere leaves a plain list intact.
    fn lock(&self) -> MutexGuard<'_, Arrivals<T>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other threads' end of [`Completions`]; can be cloned and sent.
pub struct Completer<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Completer<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Completer<T> {
    /// Passes a completion to the reactor. It never waits for the reactor, so callbacks of other libraries may call it.
    /// If the reactor's end is gone, the completion is dropped.
    pub fn complete(&self, completion: T) {
        let mut arrivals = self.shared.lock();
        if arrivals.closed {
            return;
        }
        arrivals.list.push(completion);
        let first = arrivals.list.len() == 1;
        drop(arrivals);
        if first {
            // It only fails when the counter is full, and then the reactor is about to check anyway.
            let _ = rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes());
        }
    }
}

impl<T> std::fmt::Debug for Completer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Completer")
    }
}

/// The reactor's end without a reactor handle, because parts of the reactor own one too.
pub(crate) struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// Kept so that taking completions allocates nothing.
    taken: Cell<Vec<T>>,
    /// With epoll, the event's watch index.
    watch: Option<u32>,
    /// With io_uring, the buffer that the event's counter is read into.
    counter: Cell<Option<Buffer>>,
}

impl<T> Inbox<T> {
    pub(crate) fn open(inner: &Inner) -> io::Result<Self> {
        let mut flags = EventfdFlags::CLOEXEC;
        // io_uring does not wait on non-blocking descriptors; after epoll a read must not block.
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

    /// Passes everything that has arrived to `each`, in order; returns the number.
    pub(crate) fn take(&self, each: impl FnMut(T)) -> usize {
        let mut taken = self.taken.take();
        std::mem::swap(&mut taken, &mut self.shared.lock().list);
        let count = taken.len();
        taken.drain(..).for_each(each);
        self.taken.set(taken);
        count
    }

    /// Waits until something arrives, and passes it to `each`.
    pub(crate) async fn wait(&self, inner: &Inner, mut each: impl FnMut(T)) -> usize {
        loop {
            // Check before each wait: a dropped wait may have consumed the event of what arrived meanwhile.
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
            // Other threads do not take part in a simulated run.
            Kernel::Simulated(_) => std::future::pending().await,
        }
    }

    /// Stops taking completions.
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

/// The reactor's end of completions from other threads ([`Reactor::completions`](crate::Reactor::completions)).
///
/// It holds everything that arrived since the last take; the code that starts the work must bound the number.
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

    /// The other threads' end.
    pub fn completer(&self) -> Completer<T> {
        self.inbox.completer()
    }

    /// Waits until something has been completed and passes everything to `each`, in order of arrival; returns the
    /// number. Only one task at a time may wait. A dropped wait loses nothing.
    pub async fn wait(&self, each: impl FnMut(T)) -> usize {
        self.inbox.wait(&self.inner, each).await
    }

    /// Passes everything completed so far to `each`; returns the number.
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
