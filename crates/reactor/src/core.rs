//! The core: tasks by index, the ready queue, and the loop that polls them.
//!
//! A task is a number. Lanes have small numbers, background tasks carry [`BACKGROUND`]. Whatever a task waits for (an
//! operation's slot, a timer, a signal) remembers that number and puts it on the ready queue; the loop polls exactly
//! those tasks. That path has no wakers and no reference counts. A task may be polled spuriously: every future here
//! checks its own condition.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::clock::Scale;
use crate::epoll::Epoll;
use crate::live::Scope;
use crate::pool::Pool;
use crate::timers::Timers;
use crate::uring::Uring;

/// No task waits.
pub(crate) const NO_TASK: u32 = u32::MAX;
/// Marks the numbers of background tasks.
const BACKGROUND: u32 = 1 << 31;
/// Polls, and operations that completed without waiting, between two checks of kernel and clock: enough to make their
/// cost negligible, few enough that busy lanes delay a completion by only microseconds.
const WORK_A_TURN: u32 = 128;
/// Operations that a task may complete without waiting before others get a turn.
const OPS_WITHOUT_WAITING: u32 = 16;

#[expect(clippy::large_enum_variant, reason = "one a thread, and a box would cost an indirection each turn")]
pub(crate) enum Kernel {
    Uring(Uring),
    Epoll(Epoll),
    /// No kernel: timers on a virtual clock.
    Simulated(Cell<u64>),
}

type BackgroundTask = Pin<Box<dyn Future<Output = ()>>>;

/// A background task's identity: its index, and how often that index was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskId {
    index: u32,
    generation: u32,
}

enum TaskSlot {
    Free,
    Idle(BackgroundTask),
    /// Taken out while being polled.
    Running,
    /// Aborted from within its own poll.
    Aborted,
}

/// State shared by all tasks of a reactor.
pub(crate) struct Inner {
    pub(crate) kernel: Kernel,
    pub(crate) refusal: Option<String>,
    pub(crate) timers: RefCell<Timers>,
    /// The run that the sockets belong to.
    pub(crate) scope: Cell<Option<Scope>>,
    clock: Scale,
    /// The time when first requested in this turn; 0 before that.
    turn_ns: Cell<u64>,
    current: Cell<u32>,
    ready: RefCell<VecDeque<u32>>,
    tasks: RefCell<Vec<(u32, TaskSlot)>>,
    free_tasks: RefCell<Vec<u32>>,
    ops_without_waiting: Cell<u32>,
    /// Work done since the last check of the kernel.
    work: Cell<u32>,
    /// Threads for blocking calls, created at the first such call.
    pool: OnceCell<Rc<Pool>>,
}

impl Inner {
    pub(crate) fn new(kernel: Kernel, refusal: Option<String>) -> Rc<Inner> {
        Rc::new(Inner {
            kernel,
            refusal,
            timers: RefCell::default(),
            scope: Cell::new(None),
            clock: Scale::get(),
            turn_ns: Cell::new(0),
            current: Cell::new(NO_TASK),
            ready: RefCell::new(VecDeque::with_capacity(1024)),
            tasks: RefCell::default(),
            free_tasks: RefCell::default(),
            ops_without_waiting: Cell::new(0),
            work: Cell::new(0),
            pool: OnceCell::new(),
        })
    }

    /// The threads for blocking calls; started on first use.
    pub(crate) fn pool(self: &Rc<Inner>) -> io::Result<&Pool> {
        if self.pool.get().is_none() {
            let pool = Pool::start(self)?;
            let _ = self.pool.set(pool);
        }
        Ok(self.pool.get().expect("it was set above"))
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match &self.kernel {
            Kernel::Simulated(now) => now.get(),
            _ => self.clock.now_ns(),
        }
    }

    /// The time, read at most once per turn of the loop.
    #[inline]
    pub(crate) fn turn_ns(&self) -> u64 {
        match self.turn_ns.get() {
            0 => {
                let now = self.now();
                self.turn_ns.set(now);
                now
            }
            now => now,
        }
    }

    /// The task being polled.
    #[inline]
    pub(crate) fn current(&self) -> u32 {
        self.current.get()
    }

    #[inline]
    pub(crate) fn make_ready(&self, task: u32) {
        self.ready.borrow_mut().push_back(task);
    }

    /// How many tasks are ready besides the running one.
    #[inline]
    pub(crate) fn others_ready(&self) -> usize {
        self.ready.borrow().len()
    }

    /// Lets others run if the running task has done enough without waiting: a task whose operations always end at once would
    /// starve them. The operation about to begin takes as long as `weight` small ones.
    #[inline]
    pub(crate) async fn give_way(&self, weight: u32) {
        self.work.set(self.work.get().saturating_add(weight));
        let done = self.ops_without_waiting.get().saturating_add(weight);
        let enough = done >= OPS_WITHOUT_WAITING;
        self.ops_without_waiting.set(if enough { 0 } else { done });
        if enough {
            Yield { inner: self, yielded: false }.await;
        }
    }

    pub(crate) fn spawn(&self, task: BackgroundTask) -> TaskId {
        let index = self.free_tasks.borrow_mut().pop();
        let mut tasks = self.tasks.borrow_mut();
        let index = index.unwrap_or_else(|| {
            tasks.push((0, TaskSlot::Free));
            (tasks.len() - 1) as u32
        });
        let (generation, slot) = &mut tasks[index as usize];
        *slot = TaskSlot::Idle(task);
        self.make_ready(index | BACKGROUND);
        TaskId { index, generation: *generation }
    }

    pub(crate) fn abort(&self, id: TaskId) {
        let mut tasks = self.tasks.borrow_mut();
        let Some((generation, slot)) = tasks.get_mut(id.index as usize) else { return };
        if *generation != id.generation {
            return;
        }
        let dropped = match slot {
            TaskSlot::Free | TaskSlot::Aborted => return,
            TaskSlot::Running => std::mem::replace(slot, TaskSlot::Aborted),
            TaskSlot::Idle(_) => {
                *generation += 1;
                self.free_tasks.borrow_mut().push(id.index);
                std::mem::replace(slot, TaskSlot::Free)
            }
        };
        // Dropping may run destructors that re-enter this code.
        drop(tasks);
        drop(dropped);
    }

    fn poll_background(&self, index: u32, context: &mut Context<'_>) {
        let mut task = {
            let mut tasks = self.tasks.borrow_mut();
            let Some((_, slot @ TaskSlot::Idle(_))) = tasks.get_mut(index as usize) else { return };
            let TaskSlot::Idle(task) = std::mem::replace(slot, TaskSlot::Running) else { return };
            task
        };
        let finished = task.as_mut().poll(context).is_ready();
        let mut tasks = self.tasks.borrow_mut();
        let Some((generation, slot)) = tasks.get_mut(index as usize) else { return };
        if finished || matches!(slot, TaskSlot::Aborted) {
            *slot = TaskSlot::Free;
            *generation += 1;
            self.free_tasks.borrow_mut().push(index);
            drop(tasks);
            drop(task);
        } else {
            *slot = TaskSlot::Idle(task);
        }
    }

    /// Drops all background tasks and briefly waits for the kernel to release their buffers.
    pub(crate) fn close(&self) {
        loop {
            let tasks = std::mem::take(&mut *self.tasks.borrow_mut());
            self.free_tasks.borrow_mut().clear();
            if tasks.is_empty() {
                break;
            }
            drop(tasks);
        }
        if let Kernel::Uring(uring) = &self.kernel {
            uring.drain();
        }
    }

    /// Polls ready tasks until `poll_foreground`, which receives the numbers of foreground tasks, returns true.
    pub(crate) fn run(&self, mut poll_foreground: impl FnMut(u32, &mut Context<'_>) -> bool) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            self.work.set(0);
            self.turn_ns.set(0);
            while self.work.get() < WORK_A_TURN {
                let Some(task) = self.ready.borrow_mut().pop_front() else { break };
                self.work.set(self.work.get() + 1);
                self.current.set(task);
                self.ops_without_waiting.set(0);
                if task & BACKGROUND != 0 {
                    self.poll_background(task & !BACKGROUND, &mut context);
                } else if poll_foreground(task, &mut context) {
                    self.current.set(NO_TASK);
                    self.turn_ns.set(0);
                    return;
                }
            }
            self.current.set(NO_TASK);
            self.fire_timers();
            let idle = self.ready.borrow().is_empty();
            self.look_at_kernel(idle);
        }
    }

    fn fire_timers(&self) {
        let mut timers = self.timers.borrow_mut();
        if timers.next_due().is_some() {
            let now = self.now();
            while let Some(task) = timers.pop_due(now) {
                self.make_ready(task);
            }
        }
    }

    /// Submits what is queued, collects what is complete, and if `idle`, waits for the next completion or timer.
    fn look_at_kernel(&self, idle: bool) {
        let due = self.timers.borrow().next_due();
        match &self.kernel {
            Kernel::Uring(uring) => {
                let wait = idle.then(|| due.map(|at| at.saturating_sub(self.now())));
                uring.turn(wait, |task| self.make_ready(task));
            }
            Kernel::Epoll(epoll) => {
                let wait = if idle { due.map(|at| at.saturating_sub(self.now())) } else { Some(0) };
                epoll.turn(wait, |task| self.make_ready(task));
            }
            Kernel::Simulated(now) => {
                if idle {
                    let at = due.expect(
                        "a simulated run in which every task waits for ever: nothing can happen any more",
                    );
                    now.set(now.get().max(at));
                }
            }
        }
    }
}

/// Waits until the task comes up again on the ready queue, after all tasks now in it.
pub(crate) struct Yield<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) yielded: bool,
}

impl Future for Yield<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        self.inner.make_ready(self.inner.current());
        Poll::Pending
    }
}
