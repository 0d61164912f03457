//! The task that runs alongside the lanes: it closes intervals when no operation ends, notices stop requests, and ends
//! the wait for operations in flight.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::Control;
use crate::lane::Shared;

/// How often to check for a stop.
const TICK_NS: u64 = Duration::from_millis(20).as_nanos() as u64;
/// How long to wait for operations in flight after a stop.
const GRACE_NS: u64 = Duration::from_millis(40).as_nanos() as u64;

/// Signals between the workers of a stage and its leading thread.
#[derive(Debug)]
pub(crate) struct Signals {
    /// A worker could not continue.
    pub failed: AtomicBool,
    /// The interval that ends the window, if decided during the stage.
    pub last_interval: AtomicU32,
    /// Failed operations, over all workers.
    errors: AtomicU64,
    /// The stage ends once this many operations have failed.
    pub error_limit: u64,
    /// Set once the limit is reached.
    pub too_many_errors: AtomicBool,
}

impl Signals {
    pub(crate) fn new(error_limit: Option<u64>) -> Self {
        Signals {
            failed: AtomicBool::new(false),
            last_interval: AtomicU32::new(u32::MAX),
            errors: AtomicU64::new(0),
            error_limit: error_limit.unwrap_or(u64::MAX),
            too_many_errors: AtomicBool::new(false),
        }
    }
}

/// What ends a stage early: the user, another worker's failure, or too many errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<'a> {
    pub control: &'a Control,
    pub signals: &'a Signals,
}

impl Stop<'_> {
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.control.is_stopped() || self.signals.failed.load(Ordering::Relaxed)
    }

    /// The interval that ends the window; `u32::MAX` if none was decided.
    pub(crate) fn last_interval(&self) -> u32 {
        self.signals.last_interval.load(Ordering::Relaxed)
    }

    /// Counts an error. Returns true if the stage must end because of it.
    pub(crate) fn count_error(&self) -> bool {
        let signals = self.signals;
        let count = signals.errors.fetch_add(1, Ordering::Relaxed) + 1;
        if count >= signals.error_limit {
            signals.too_many_errors.store(true, Ordering::Relaxed);
        }
        count >= signals.error_limit
    }

    fn too_many_errors(&self) -> bool {
        self.signals.too_many_errors.load(Ordering::Relaxed)
    }
}

/// Completes when there is nothing left to wait for.
pub(crate) async fn supervise(shared: &Shared<'_>, stop: Stop<'_>) {
    loop {
        let now = shared.reactor.now();
        if stop.is_set() && !shared.stopped.replace(true) {
            shared.end_window(now);
            shared.drain_end_ns.set(shared.drain_end_ns.get().min(now + GRACE_NS));
        }
        // Workers on virtual clocks differ in their current time: there the leading thread ends the stage for all.
        if !shared.lockstep && stop.too_many_errors() {
            shared.end_window(now);
        }
        shared.advance(now);
        let next_cut = shared.recorder.borrow().next_cut();
        if now >= shared.drain_end_ns.get() {
            return;
        }
        let wake_ns = (now + TICK_NS).min(next_cut).min(shared.drain_end_ns.get());
        shared.reactor.sleep_until(wake_ns).await;
        if shared.recorder.borrow().is_measuring() {
            let late_ns = shared.reactor.now().saturating_sub(wake_ns);
            shared.longest_pause_ns.set(shared.longest_pause_ns.get().max(late_ns));
        }
    }
}
