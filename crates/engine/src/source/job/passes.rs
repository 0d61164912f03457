//! What follows the load of a pass: commits, reading back, the next pass, the end.

use drivers::{CommitKind, Op};
use metrics::OpKind;

use super::Next;
use super::state::{Phase, State, Then, Under};

impl State {
    /// The load of this pass is complete.
    #[cold]
    pub(super) fn pass_ended(&mut self) -> Option<Next> {
        let commits = self.dirty.iter().any(|dirty| *dirty);
        let follower = self.follower.as_ref();
        let written = follower.filter(|follower| follower.read < follower.written);
        self.phase = match (commits, written) {
            (true, _) => Phase::Settle(Then::Commit),
            (false, Some(follower)) => Phase::Settle(Then::Back { until: follower.written, load: false }),
            (false, None) if self.has_next_pass() => Phase::Settle(Then::NextPass),
            (false, None) => Phase::Over,
        };
        None
    }

    pub(super) fn has_next_pass(&self) -> bool {
        // As in fio, passes beyond the loops cover what the loops left of one amount.
        let amount = self.script.limit_bytes / self.script.loops;
        let left = amount.saturating_sub(self.all_bytes.max(self.bytes));
        let begun = self.bytes < self.script.limit_bytes && self.ops < self.script.limit_ops;
        let moved = self.all_bytes > self.pass_bytes;
        moved
            && begun
            && (self.passes + 1 < self.script.loops || self.script.goes_round && left >= self.script.most)
    }

    /// Work outside the load; `None` if the phase has changed.
    #[cold]
    pub(super) fn beside(&mut self, phase: Phase, lane: u32, now: u64) -> Option<Next> {
        match phase {
            Phase::Load => None,
            Phase::Over => {
                self.lanes.wake_all();
                Some(Next::Done)
            }
            Phase::Settle(_) if self.in_flight > 0 => Some(self.park(lane)),
            Phase::Settle(then) => {
                self.phase = match then {
                    Then::Commit => Phase::Commit(0),
                    Then::Back { until, load } => Phase::Back { until, load },
                    Then::NextPass if self.script.unlinks => Phase::Unlink(0),
                    Then::NextPass | Then::Unlinked => self.next_pass(now),
                };
                self.lanes.wake_all();
                None
            }
            Phase::Commit(from) => {
                let Some(op) = self.next_dirty(lane, from) else { return self.pass_ended() };
                Some(self.launch(lane, op, Under::Commit, now, now))
            }
            Phase::Unlink(at) if at < self.dirty.len() => {
                self.phase = Phase::Unlink(at + 1);
                let op = Op::new(OpKind::Remove, lane, self.stream.object(at));
                Some(self.launch(lane, op, Under::Commit, now, now))
            }
            Phase::Unlink(_) => {
                self.phase = Phase::Settle(Then::Unlinked);
                None
            }
            Phase::Back { until, load } => {
                let follower = self.follower.as_mut()?;
                let Some(drawn) = follower.next(until, &mut self.checked.uncertain) else {
                    follower.read = until;
                    if load {
                        self.phase = Phase::Load;
                        self.lanes.wake_all();
                        return None;
                    }
                    return self.pass_ended();
                };
                self.all_bytes += drawn.len;
                let generation = self.generation();
                let op = Op::new(OpKind::Read, lane, drawn.object).range(drawn.offset, drawn.len);
                let op = op.generation(generation);
                Some(self.launch(lane, op, Under::Compare, now, now))
            }
        }
    }

    pub(super) fn next_pass(&mut self, now: u64) -> Phase {
        self.passes += 1;
        self.pass_bytes = self.all_bytes;
        self.stream.next_pass();
        if let Some(replay) = &mut self.replay {
            replay.begin(now);
        }
        if let Some(follower) = &mut self.follower {
            follower.begin(&self.stream);
        }
        Phase::Load
    }

    /// The commit of the next written file, starting from this one.
    pub(super) fn next_dirty(&mut self, lane: u32, from: usize) -> Option<Op> {
        let at = from + self.dirty[from..].iter().position(|dirty| *dirty)?;
        self.dirty[at] = false;
        if matches!(self.phase, Phase::Commit(_)) {
            self.phase = Phase::Commit(at + 1);
        }
        let object = self.stream.object(at);
        Some(Op { commit: CommitKind::Full, ..Op::new(OpKind::Commit, lane, object) })
    }

    /// A commit that is required even after the window has ended.
    pub(super) fn closing(&mut self, lane: u32) -> Option<Op> {
        let failed = !self.facts.failures.is_empty();
        if self.in_flight > 0 || failed { None } else { self.next_dirty(lane, 0) }
    }
}
