//! The task beside the lanes: closes intervals when no operation ends, notices that the stage is to stop, and
//! ends the waiting for what is in flight.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::Control;
use crate::lane::Shared;

/// How often a stop is looked for.
const TICK_NS: u64 = Duration::from_millis(20).as_nanos() as u64;
/// How long operations in flight are waited for after a stop.
const GRACE_NS: u64 = Duration::from_millis(40).as_nanos() as u64;

/// What the workers of a stage and the thread that leads them tell each other.
#[derive(Debug)]
pub(crate) struct Signals {
    /// A worker could not go on.
    pub failed: AtomicBool,
    /// The interval with which the window ends, when that was decided on the way.
    pub last_interval: AtomicU32,
    /// Operations that failed, over all workers.
    errors: AtomicU64,
    /// The stage ends once this many have failed.
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

    /// The interval with which the window ends; `u32::MAX` when nothing was decided.
    pub(crate) fn last_interval(&self) -> u32 {
        self.signals.last_interval.load(Ordering::Relaxed)
    }

    /// Counts an error. True when the stage is to end because of it.
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

/// Is done when nothing is to be waited for any more.
pub(crate) async fn supervise(shared: &Shared<'_>, stop: Stop<'_>) {
    loop {
        let now = shared.reactor.now();
        if stop.is_set() && !shared.stopped.replace(true) {
            shared.end_window(now);
            shared.drain_end_ns.set(shared.drain_end_ns.get().min(now + GRACE_NS));
        }
        // Workers on virtual clocks are not at the same moment: there the leading thread ends the stage for all.
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
