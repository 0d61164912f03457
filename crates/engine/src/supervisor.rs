//! The task beside the lanes: closes intervals when no operation ends, notices that the stage is to stop, and
//! ends the waiting for what is in flight.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Control;
use crate::lane::Shared;

/// How often a stop is looked for.
const TICK_NS: u64 = Duration::from_millis(20).as_nanos() as u64;
/// How long operations in flight are waited for after a stop.
const GRACE_NS: u64 = Duration::from_millis(40).as_nanos() as u64;

/// What ends a stage early: the user, or another worker's failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<'a> {
    pub control: &'a Control,
    pub failed: &'a AtomicBool,
}

impl Stop<'_> {
    pub(crate) fn is_set(&self) -> bool {
        self.control.is_stopped() || self.failed.load(Ordering::Relaxed)
    }
}

/// Is done when nothing is to be waited for any more.
pub(crate) async fn supervise(shared: &Shared<'_>, stop: Stop<'_>) {
    loop {
        let now = shared.reactor.now();
        if stop.is_set() && !shared.stopped.replace(true) {
            shared.recorder.borrow_mut().truncate(now);
            shared.end_ns.set(shared.end_ns.get().min(now));
            shared.drain_end_ns.set(shared.drain_end_ns.get().min(now + GRACE_NS));
        }
        let next_cut = {
            let mut recorder = shared.recorder.borrow_mut();
            recorder.advance(now);
            recorder.next_cut()
        };
        if now >= shared.drain_end_ns.get() {
            return;
        }
        shared.reactor.sleep_until((now + TICK_NS).min(next_cut).min(shared.drain_end_ns.get())).await;
    }
}
