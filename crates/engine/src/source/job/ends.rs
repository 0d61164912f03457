//! Consequences of an operation's end.

use std::ops::Range;

use drivers::{CommitKind, Op, OpError};
use metrics::{ErrorKind, OpKind};

use super::errors::Follows;
use super::state::{Phase, State, Under};
use super::stream::{KINDS, direction_of};
use super::target::Found;
use crate::{Reason, WorkerFailure};

impl State {
    /// An operation of a lane has ended.
    #[inline]
    pub(super) fn finished(
        &mut self,
        lane: u32,
        op: &Op,
        span: &Range<u64>,
        measured: bool,
        error: Option<&OpError>,
    ) {
        self.in_flight -= 1;
        let under = std::mem::replace(&mut self.under[lane as usize], Under::Nothing);
        let direction = direction_of(op.kind);
        if measured && let Some(direction) = direction {
            self.facts.ended(direction, span, self.window_ns);
        }
        let between = under == Under::Commit && !matches!(self.phase, Phase::Commit(_));
        if measured && between && op.commit == CommitKind::Full {
            self.facts.fsyncs += 1;
        }
        if self.guarded {
            self.guarded_end(lane, under, span, error);
        }
        if under == Under::Compare {
            self.compared(error);
        }
        if let Some(error) = error {
            self.failed(op, under, error);
            return;
        }
        let latency_ns = span.end - span.start;
        if self.script.max_latency_ns > 0 && latency_ns > self.script.max_latency_ns {
            let limit = self.script.max_latency_ns as f64 / 1e6;
            let Op { kind, offset, len, .. } = op;
            let took = latency_ns as f64 / 1e6;
            let detail = format!("{kind} of {len} bytes at {offset} took {took} ms, more than {limit} ms");
            self.fail(Reason::TooSlow, detail);
        }
        if let (Some(least), Some(direction), Under::Load(_)) = (&mut self.least, direction, under)
            && let Some((direction, had, wanted)) = least.ended(span.end, direction, op.len)
        {
            let kind = KINDS[direction];
            let detail = format!("{kind}s had {had:.0} a second in the last cycle, less than {wanted}");
            self.fail(Reason::BelowRate, detail);
        }
    }

    /// A lane could not start the operation it was given.
    pub(super) fn not_begun(&mut self, lane: u32, op: &Op) {
        self.in_flight -= 1;
        let under = std::mem::replace(&mut self.under[lane as usize], Under::Nothing);
        if let (Under::Load(number), OpKind::Write, Some(follower)) = (under, op.kind, &mut self.follower) {
            follower.doubt(number);
        }
    }

    pub(super) fn guarded_end(
        &mut self,
        lane: u32,
        under: Under,
        span: &Range<u64>,
        error: Option<&OpError>,
    ) {
        if let Some(batches) = &mut self.batches {
            batches.ended();
        }
        if let Some(ranges) = &mut self.ranges {
            ranges[lane as usize] = None;
        }
        if !matches!(under, Under::Load(_) | Under::Compare) {
            return;
        }
        if let Some(thinker) = &mut self.thinker {
            thinker.ended();
        }
        if error.is_none()
            && let Some(search) = &mut self.search
        {
            match search.ended(span.end, span.end - span.start) {
                Found::Nothing => {}
                Found::Changed => self.lanes.wake_all(),
                Found::Depth => self.end(),
                Found::None => {
                    self.fail(Reason::NoDepth, "not even one operation at a time is fast enough".to_owned());
                }
            }
        }
    }

    pub(super) fn compared(&mut self, error: Option<&OpError>) {
        use ErrorKind::{Corrupt, Length, NotFound};
        match error.map(|error| error.kind) {
            None => self.checked.right += 1,
            Some(Corrupt | Length | NotFound) => self.checked.wrong += 1,
            Some(_) => self.checked.unread += 1,
        }
    }

    #[cold]
    pub(super) fn failed(&mut self, op: &Op, under: Under, error: &OpError) {
        if op.kind == OpKind::Remove {
            // Another worker has removed the shared file.
            return;
        }
        if let (Under::Load(number), OpKind::Write, Some(follower)) = (under, op.kind, &mut self.follower) {
            follower.doubt(number);
        }
        match self.policy.follows(op.kind, error.kind) {
            Follows::Nothing => self.facts.overlooked += 1,
            Follows::GoOn => {}
            Follows::Full => self.end(),
            Follows::End => {
                let Op { kind, offset, len, .. } = op;
                let detail = format!("{kind} at {offset}, {len}: {error}");
                self.fail(Reason::Failed(op.kind, error.kind), detail);
            }
        }
    }

    pub(super) fn fail(&mut self, reason: Reason, detail: String) {
        if self.facts.failures.is_empty() {
            self.facts.failures.push(WorkerFailure { worker: self.worker, reason, detail });
        }
        self.end();
    }

    /// Nothing more is started.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
        self.lanes.wake_all();
    }
}
