//! Operations from a recording.

use std::sync::Arc;

use crate::ReplayOp;
use crate::pacer::ScheduleStats;

/// A worker's operations, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Replaying {
    ops: Arc<[ReplayOp]>,
    at: usize,
    /// Start of this pass.
    origin_ns: u64,
    endless: bool,
    /// Whether operations have times.
    timed: bool,
    window_ns: u64,
    seen: ScheduleStats,
}

impl Replaying {
    pub(super) fn new(ops: Arc<[ReplayOp]>, (origin_ns, window_ns): (u64, u64), endless: bool) -> Self {
        let timed = ops.iter().any(|op| op.at_ns > 0);
        let seen = ScheduleStats::default();
        Replaying { ops, at: 0, origin_ns, endless, timed, window_ns, seen }
    }

    /// The next operation and its intended start; `None` after the last.
    pub(super) fn peek(&mut self, now: u64) -> Option<(ReplayOp, u64)> {
        if self.at == self.ops.len() && self.endless {
            self.begin(now);
        }
        let op = *self.ops.get(self.at)?;
        let intended = if op.at_ns == 0 { now } else { self.origin_ns.saturating_add(op.at_ns) };
        Some((op, intended))
    }

    /// Starts that operation, which was intended at `intended`.
    pub(super) fn advance(&mut self, intended: u64, now: u64) {
        if self.timed {
            self.seen.begun(intended, now, self.window_ns);
            if now > intended {
                let age = now.saturating_sub(self.origin_ns);
                self.seen.waiting(self.ops[self.at..].partition_point(|op| op.at_ns < age) as u64);
            }
        }
        self.at += 1;
    }

    /// Outcome of all starts intended before `end_ns`.
    pub(super) fn settle(mut self, end_ns: u64) -> ScheduleStats {
        let age = end_ns.saturating_sub(self.origin_ns);
        for op in self.ops[self.at..].iter().take_while(|op| self.timed && op.at_ns < age) {
            self.seen.missed(self.origin_ns + op.at_ns, self.window_ns);
        }
        self.seen.waiting(self.seen.missed);
        self.seen
    }

    /// Starts over from now on.
    pub(super) fn begin(&mut self, now: u64) {
        (self.at, self.origin_ns) = (0, now);
    }
}
