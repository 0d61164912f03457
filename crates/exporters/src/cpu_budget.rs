//! CPU time that answers to requests may take while a load is measured on the same host.
//!
//! A load shares caches, memory and often the core itself with whatever else runs on its host, so requests beside it cost
//! it something even on a processor of their own. What they may cost is bounded here, whoever sends them.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The time for which unused budget is kept: a page of the dashboard is answered at once.
const KEPT: Duration = Duration::from_secs(1);
/// The longest time that requests wait because of a single expensive one.
const LONGEST_DEBT: Duration = Duration::from_secs(5);

/// A share of the processors' time. While a load is under way, connections read their next bytes only as long as the
/// threads that answer have used no more than that; they wait in the order in which they came.
#[derive(Debug)]
pub struct CpuBudget {
    /// CPU seconds a second.
    share: f64,
    loads: Mutex<Loads>,
    /// Number of the present load; 0 if there is none.
    load: AtomicU64,
    /// Whoever holds it reads next.
    line: tokio::sync::Mutex<()>,
    balance: Mutex<Balance>,
    /// The last load has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct Loads {
    under_way: usize,
    begun: u64,
}

/// A load is under way until this is dropped.
#[derive(Debug)]
pub struct BesideLoad(Arc<CpuBudget>);

impl Drop for BesideLoad {
    fn drop(&mut self) {
        let mut loads = self.0.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads.under_way -= 1;
        if loads.under_way == 0 {
            self.0.load.store(0, Ordering::Relaxed);
            self.0.ended.notify_waiters();
        }
    }
}

thread_local! {
    /// The load during which this thread's CPU time was read last, and that time.
    static COUNTED: Cell<(u64, Duration)> = const { Cell::new((0, Duration::ZERO)) };
    /// The budget of which this thread's CPU time is spent.
    static BUDGET: RefCell<Option<Arc<CpuBudget>>> = const { RefCell::new(None) };
}

impl CpuBudget {
    /// The usual share of all processors, in percent.
    pub const DEFAULT_PERCENT: u32 = 5;

    /// A budget of this many CPU seconds a second, which applies to loads to come.
    pub fn new(share: f64) -> Arc<Self> {
        Arc::new(Self {
            share,
            loads: Mutex::default(),
            load: AtomicU64::new(0),
            line: tokio::sync::Mutex::default(),
            balance: Mutex::new(Balance { since: Instant::now(), left_s: 0.0 }),
            ended: Notify::new(),
        })
    }

    /// A budget of this share of all processors of this host, in percent.
    pub fn of_host(percent: u32) -> Arc<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(f64::from(percent) / 100.0 * processors as f64)
    }

    /// The calling thread answers requests, and [`CpuBudget::count_thread`] counts its CPU time here.
    pub fn pays_for_thread(self: &Arc<Self>) {
        BUDGET.set(Some(Arc::clone(self)));
    }

    /// Counts the CPU time of the calling thread, if a budget pays for it.
    pub fn count_thread() {
        BUDGET.with_borrow(|budget| budget.iter().for_each(|budget| budget.count()));
    }

    /// A load begins.
    pub fn beside_load(self: &Arc<Self>) -> BesideLoad {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        loads.under_way += 1;
        if loads.under_way == 1 {
            loads.begun += 1;
            *self.balance() = Balance { since: Instant::now(), left_s: 0.0 };
            self.load.store(loads.begun, Ordering::Relaxed);
        }
        BesideLoad(Arc::clone(self))
    }

    fn balance(&self) -> MutexGuard<'_, Balance> {
        self.balance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the CPU time of the calling thread since it was last counted during this load.
    fn count(&self) {
        let load = self.load.load(Ordering::Relaxed);
        if load == 0 {
            return;
        }
        let now = clock_gettime(ClockId::ThreadCPUTime);
        let now = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.try_into().unwrap_or(0));
        let (counted, before) = COUNTED.replace((load, now));
        if counted == load {
            self.balance().spend(Instant::now(), self.share, now.saturating_sub(before));
        }
    }

    /// The time until the budget allows the next read; `None` if it allows one now.
    fn wait(&self) -> Option<Duration> {
        self.count();
        match self.load.load(Ordering::Relaxed) {
            0 => None,
            _ => self.balance().wait(Instant::now(), self.share),
        }
    }

    /// Whether a connection may read now, without waiting for its turn.
    pub(crate) fn allows(&self) -> bool {
        self.load.load(Ordering::Relaxed) == 0 || (self.line.try_lock().is_ok() && self.wait().is_none())
    }

    /// Waits until it is this connection's turn to read and the budget allows it.
    pub(crate) async fn turn(&self) {
        let _first = self.line.lock().await;
        self.solvent().await;
    }

    /// Waits until the budget allows something, before those that wait for their turn.
    pub(crate) async fn solvent(&self) {
        loop {
            let ended = self.ended.notified();
            let Some(time) = self.wait() else { return };
            tokio::select! {
                () = ended => {}
                () = tokio::time::sleep(time) => {}
            }
        }
    }
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug)]
struct Balance {
    since: Instant,
    /// CPU seconds; negative if more was used than allowed.
    left_s: f64,
}

impl Balance {
    fn settle(&mut self, now: Instant, share: f64) {
        let earned_s = now.saturating_duration_since(self.since).as_secs_f64() * share;
        self.since = now;
        self.left_s = (self.left_s + earned_s).min(KEPT.as_secs_f64() * share);
    }

    fn spend(&mut self, now: Instant, share: f64, used: Duration) {
        self.settle(now, share);
        self.left_s = (self.left_s - used.as_secs_f64()).max(-LONGEST_DEBT.as_secs_f64() * share);
    }

    fn wait(&mut self, now: Instant, share: f64) -> Option<Duration> {
        self.settle(now, share);
        (self.left_s < 0.0).then(|| Duration::from_secs_f64(-self.left_s / share))
    }
}

#[cfg(test)]
#[path = "cpu_budget_tests.rs"]
mod tests;
