//! Threads for blocking system calls: for files without io_uring, and for the few calls that it lacks.
//!
//! A job consists of plain numbers and addresses; the memory they refer to is held by a slot on the reactor's side
//! until the job has ended, whether or not anybody still waits for it. Threads are started on demand, up to a limit,
//! and report in the same way as other libraries' threads ([`crate::Completions`]).

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::Buffer;
use crate::calls::Call;
use crate::completions::{Completer, Inbox};
use crate::core::{Inner, Kernel};
use crate::slots::{Held, Slots};

/// Maximum number of threads per reactor: beyond this the kernel's queues are full anyway.
const THREADS_MAX: usize = 64;
/// How long closing waits for calls in progress, in steps of 10 ms.
const DRAIN_STEPS_MAX: u32 = 50;

/// A call and the slot that waits for it.
struct Job {
    slot: u32,
    call: Call,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads without a call: they wait for one, or are about to.
    idle: usize,
    threads: usize,
    closed: bool,
}

/// State shared by the threads and the reactor.
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    done: Completer<(u32, i32)>,
}

/// A panic elsewhere leaves plain queues intact.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of one reactor.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    slots: RefCell<Slots>,
    /// Slots and results.
    inbox: Inbox<(u32, i32)>,
}

impl Pool {
    /// A pool without threads, and the background task that passes its completions to the waiting tasks.
    pub(crate) fn start(inner: &Rc<Inner>) -> io::Result<Rc<Pool>> {
        let inbox = Inbox::open(inner)?;
        let shared = Shared { queue: Mutex::default(), work: Condvar::new(), done: inbox.completer() };
        let pool = Rc::new(Pool { shared: Arc::new(shared), slots: RefCell::default(), inbox });
        inner.spawn(Box::pin(collect(Rc::clone(inner), Rc::clone(&pool))));
        Ok(pool)
    }

    /// Passes a call to a thread. `make` receives the held values, to take addresses from.
    pub(crate) fn start_call<'a>(
        &'a self,
        inner: &'a Inner,
        held: Held,
        make: impl FnOnce(&mut Held) -> Call,
    ) -> Called<'a> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.insert(inner.current(), held);
        let call = make(slots.held(slot));
        drop(slots);
        let mut queue = locked(&self.shared.queue);
        queue.jobs.push_back(Job { slot, call });
        if queue.jobs.len() > queue.idle && queue.threads < THREADS_MAX {
            let shared = Arc::clone(&self.shared);
            let name = format!("files-{}", queue.threads);
            // If no thread can be started, the jobs wait for the existing ones.
            if std::thread::Builder::new().name(name).spawn(move || work(&shared)).is_ok() {
                queue.threads += 1;
                queue.idle += 1;
            }
        }
        let stranded = queue.threads == 0;
        drop(queue);
        self.shared.work.notify_one();
        if stranded {
            // No thread could be started at all: execute the call right here.
            locked(&self.shared.queue).jobs.pop_back();
            self.shared.done.complete((slot, call.run()));
        }
        Called { pool: self, inner, slot: Some(slot) }
    }

    /// The task that waits for a completed call.
    fn ended(&self, (slot, result): (u32, i32)) -> Option<u32> {
        self.slots.borrow_mut().complete(slot, result)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        locked(&self.shared.queue).closed = true;
        self.shared.work.notify_all();
        for _ in 0..DRAIN_STEPS_MAX {
            self.inbox.take(|done| _ = self.ended(done));
            if self.slots.borrow().in_flight() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // A call that does not return may still write to its memory; a leak is better than stray writes.
        std::mem::forget(std::mem::take(&mut *self.slots.borrow_mut()));
    }
}

/// The main function of a thread. It counts as idle from its start.
fn work(shared: &Shared) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| wait(shared)) {
        let result = job.call.run();
        // The thread counts as idle before the result is handed over, so that the reactor's next call does not start
        // another thread.
        next = next_or_idle(shared);
        shared.done.complete((job.slot, result));
    }
}

/// The next job, if there is one; otherwise the thread becomes idle.
fn next_or_idle(shared: &Shared) -> Option<Job> {
    let mut queue = locked(&shared.queue);
    let job = queue.jobs.pop_front();
    queue.idle += usize::from(job.is_none());
    job
}

/// The next job for an idle thread; `None` once the pool is closed.
fn wait(shared: &Shared) -> Option<Job> {
    let mut queue = locked(&shared.queue);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            queue.idle -= 1;
            return Some(job);
        }
        if queue.closed {
            return None;
        }
        queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Passes on results for as long as the reactor lives.
async fn collect(inner: Rc<Inner>, pool: Rc<Pool>) {
    if let Kernel::Simulated(_) = inner.kernel {
        // Work that takes real time does not take part in a simulated run.
        return;
    }
    loop {
        let wake = |done| {
            if let Some(task) = pool.ended(done) {
                inner.make_ready(task);
            }
        };
        pool.inbox.wait(&inner, wake).await;
    }
}

/// A call in progress; resolves to its result, which may be a negative error number, and the buffer.
pub(crate) struct Called<'a> {
    pool: &'a Pool,
    inner: &'a Inner,
    slot: Option<u32>,
}

impl Future for Called<'_> {
    type Output = (i32, Option<Buffer>);

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.slot.expect("a future is not polled after its end");
        match self.pool.slots.borrow_mut().take_if_done(slot, self.inner.current()) {
            Some(done) => {
                self.slot = None;
                Poll::Ready(done)
            }
            None => Poll::Pending,
        }
    }
}

/// A call in progress that holds something besides a buffer; resolves to that.
pub(crate) struct CalledWith<'a>(pub(crate) Called<'a>);

impl Future for CalledWith<'_> {
    type Output = Option<Box<dyn Any>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.0.slot.expect("a future is not polled after its end");
        let other = self.0.pool.slots.borrow_mut().take_other_if_done(slot);
        Pin::new(&mut self.0).poll(context).map(|_| other)
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // A thread's call cannot be cancelled; the memory it uses stays alive in the slot.
            self.pool.slots.borrow_mut().abandon(slot);
        }
    }
}
