//! The system calls of an operation, counted and timed: what creating or renaming a file consists of.
//!
//! Reads and writes of a file that is open already are a single call, whose latency is the operation's: they are neither
//! counted here nor timed.

use std::cell::RefCell;
use std::io;

use metrics::{CallKind, ProcedureStats};

use super::session::FileSession;
use crate::Op;

/// Different system calls that one operation makes, at most.
const MOST: usize = 8;

/// The system calls of a lane's current operation, once each.
pub(super) struct Steps(RefCell<Vec<ProcedureStats>>);

impl Default for Steps {
    fn default() -> Self {
        Self(RefCell::new(Vec::with_capacity(MOST)))
    }
}

impl Steps {
    /// Visits the calls, and forgets them: the lane's next operation may be one that counts none.
    #[inline]
    pub(super) fn visit(&self, visit: impl FnMut(&ProcedureStats)) {
        let mut calls = self.0.borrow_mut();
        if !calls.is_empty() {
            calls.iter().for_each(visit);
            calls.clear();
        }
    }

    /// Counts what a call listed; `first_ns` is the time since the operation began, in nanoseconds, for its first page.
    pub(super) fn page(&self, call: CallKind, entries: u64, first_ns: Option<u64>) {
        ProcedureStats::entry(&mut self.0.borrow_mut(), call).page(entries, first_ns);
    }
}

/// The result of a system call.
pub(super) trait Outcome {
    /// Whether the kernel did what it was asked for.
    fn succeeded(&self) -> bool;
}

impl<T> Outcome for io::Result<T> {
    fn succeeded(&self) -> bool {
        self.is_ok()
    }
}

impl<T, B> Outcome for (io::Result<T>, B) {
    fn succeeded(&self) -> bool {
        self.0.is_ok()
    }
}

/// A call in progress. Dropped before its end, because the operation ran out of time, it counts as failed.
struct Step<'a> {
    session: &'a FileSession,
    lane: u32,
    call: CallKind,
    start_ns: u64,
    ok: bool,
}

impl Drop for Step<'_> {
    #[inline]
    fn drop(&mut self) {
        let latency_ns = self.ok.then(|| self.session.reactor.now().saturating_sub(self.start_ns));
        let mut calls = self.session.lanes[self.lane as usize].steps.0.borrow_mut();
        ProcedureStats::entry(&mut calls, self.call).count(1, latency_ns);
    }
}

/// Makes a system call and counts it as a part of the operation.
#[inline]
pub(super) async fn step<T: Outcome>(
    session: &FileSession,
    op: &Op,
    call: CallKind,
    running: impl Future<Output = T>,
) -> T {
    let start_ns = session.reactor.now();
    let mut step = Step { session, lane: op.lane, call, start_ns, ok: false };
    let outcome = running.await;
    step.ok = outcome.succeeded();
    outcome
}
