//! Operations that are given.

use std::sync::Arc;

use crate::ReplayOp;

/// A worker's operations, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Replaying {
    ops: Arc<[ReplayOp]>,
    at: usize,
    /// When this pass began.
    origin_ns: u64,
    endless: bool,
}

impl Replaying {
    pub(super) fn new(ops: Arc<[ReplayOp]>, origin_ns: u64, endless: bool) -> Self {
        Replaying { ops, at: 0, origin_ns, endless }
    }

    /// The next one, and when it is meant to start; `None` behind the last.
    pub(super) fn peek(&mut self, now: u64) -> Option<(ReplayOp, u64)> {
        if self.at == self.ops.len() && self.endless {
            self.begin(now);
        }
        let op = *self.ops.get(self.at)?;
        let intended = if op.at_ns == 0 { now } else { self.origin_ns.saturating_add(op.at_ns) };
        Some((op, intended))
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// All again, from now on.
    pub(super) fn begin(&mut self, now: u64) {
        (self.at, self.origin_ns) = (0, now);
    }
}
