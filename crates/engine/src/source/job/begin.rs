//! What a lane starts: what may hold it back, and which operation comes next.

use drivers::{CommitKind, Op};
use metrics::OpKind;

use super::Next;
use super::pace::Turn;
use super::script::Comparing;
use super::state::{Phase, State, Then, Under};
use super::stream::{Drawn, direction_of};
use crate::access::spread;
use crate::source::think::Thought;

/// The low bits of the generation, used by a job.
const GENERATIONS: u64 = 0x7fff;

/// What the load has next for a lane. An operation is begun by the caller, which returns it without copying it once more.
pub(super) enum Drawing {
    /// This operation, with its intended start.
    Operation(Drawn, u64),
    /// Another step; `None` if the phase has changed.
    Step(Option<Next>),
}

impl State {
    /// Returns what holds a lane back from the load, if anything does.
    pub(super) fn hold_back(&mut self, lane: u32, now: u64) -> Option<Next> {
        if let Some(thinker) = &mut self.thinker {
            match thinker.look(now, self.in_flight) {
                Thought::Go => {}
                Thought::Settle => return Some(self.park(lane)),
                Thought::Wait(until) => return Some(self.wait(lane, until)),
                Thought::Begin { spin_ns, until_ns } => {
                    self.spin_ns = spin_ns;
                    let pause_ns = thinker.pause_ns();
                    if let Some(pace) = self.pace.as_mut().filter(|_| self.pauses_stop_schedule) {
                        pace.shift(pause_ns);
                    }
                    return Some(self.wait(lane, until_ns));
                }
            }
        }
        let full = self.batches.as_mut().is_some_and(|batches| !batches.may_begin())
            || self.search.as_mut().is_some_and(|search| !search.may_begin(now, self.in_flight));
        if full {
            return Some(self.park(lane));
        }
        let (drawn, intended) = self.held?;
        if self.overlaps(&drawn) {
            return Some(self.park(lane));
        }
        self.held = None;
        Some(self.begin(lane, &drawn, intended, now))
    }

    /// The next operation of the load, or another step.
    #[inline]
    pub(super) fn load(&mut self, lane: u32, now: u64) -> Drawing {
        if self.bytes >= self.script.limit_bytes || self.ops >= self.script.limit_ops {
            return Drawing::Step(self.pass_ended());
        }
        if let Some(kind) = self.commit {
            self.commit = None;
            return Drawing::Step(Some(self.begin_commit(lane, kind, now)));
        }
        if self.script.comparing.backlog > 0
            && let Some(follower) = &self.follower
            && follower.written - follower.read >= self.script.comparing.backlog
        {
            let batch = self.script.comparing.batch;
            let until = if batch == 0 { follower.written } else { follower.read + batch };
            self.phase = Phase::Settle(Then::Back { until: until.min(follower.written), load: true });
            return Drawing::Step(None);
        }
        if self.replay.is_some() {
            return Drawing::Step(self.replay(lane, now));
        }
        let (direction, intended) = match &mut self.pace {
            None => (self.stream.draw_direction(), now),
            Some(_) => match self.turn(now) {
                Turn::Go(direction, intended) => (direction, intended),
                Turn::Wait(until) => return Drawing::Step(Some(self.wait(lane, until))),
            },
        };
        let Some(drawn) = self.stream.next(direction) else { return Drawing::Step(self.pass_ended()) };
        self.count(&drawn);
        if let Some(pace) = &mut self.pace {
            pace.begun(direction_of(drawn.kind).unwrap_or(0), drawn.len);
        }
        if self.ranges.is_some() && self.overlaps(&drawn) {
            self.held = Some((drawn, intended));
            return Drawing::Step(Some(self.park(lane)));
        }
        Drawing::Operation(drawn, intended)
    }

    /// The direction whose turn it is by the directions' rates.
    pub(super) fn turn(&mut self, now: u64) -> Turn {
        let State { pace, stream, .. } = self;
        let Some(pace) = pace else { return Turn::Go(0, now) };
        if let Some(direction) = stream.given_direction() {
            let due = pace.of(direction, now);
            return if due > now { Turn::Wait(due) } else { Turn::Go(direction, due) };
        }
        let directions = stream.plan_rc();
        pace.turn(now, directions.directions(), || stream.draw_direction())
    }

    pub(super) fn replay(&mut self, lane: u32, now: u64) -> Option<Next> {
        let replay = self.replay.as_mut()?;
        let Some((op, intended)) = replay.peek(now) else { return self.pass_ended() };
        if intended > now {
            return Some(self.wait(lane, intended));
        }
        replay.advance(intended, now);
        if op.kind == OpKind::Commit {
            let op = Op { commit: op.commit, ..Op::new(op.kind, lane, op.object).range(op.offset, 0) };
            return Some(self.launch(lane, op, Under::Commit, intended, now));
        }
        let drawn = Drawn { kind: op.kind, file: 0, object: op.object, offset: op.offset, len: op.len };
        self.count(&drawn);
        Some(self.begin(lane, &drawn, intended, now))
    }

    /// Counts a drawn operation.
    #[inline]
    pub(super) fn count(&mut self, drawn: &Drawn) {
        let direction = direction_of(drawn.kind).unwrap_or(0);
        if self.script.counts[direction] {
            self.bytes += drawn.len;
            self.ops += 1;
        }
        self.all_bytes += drawn.len;
    }

    /// Starts an operation of the load.
    #[inline]
    pub(super) fn begin(&mut self, lane: u32, drawn: &Drawn, intended: u64, now: u64) -> Next {
        let comparing = &self.script.comparing;
        let mut kind = drawn.kind;
        let mut under = Under::Load(0);
        let mut generation = 0;
        match kind {
            OpKind::Write if comparing.only => {
                (kind, under, generation) = (OpKind::Read, Under::Compare, Op::ANY_GENERATION);
            }
            OpKind::Write => {
                generation = self.generation();
                under = Under::Load(self.wrote(drawn));
            }
            OpKind::Read if comparing.reads => (under, generation) = (Under::Compare, Op::ANY_GENERATION),
            OpKind::Read if comparing.any => generation = Op::UNCHECKED,
            _ => {}
        }
        if let Some(ranges) = &mut self.ranges {
            ranges[lane as usize] = Some((drawn.object, drawn.offset..drawn.offset + drawn.len));
        }
        if let Some(thinker) = &mut self.thinker {
            thinker.begun();
        }
        if let Some(pace) = &mut self.pace {
            pace.started(direction_of(drawn.kind).unwrap_or(0), intended, now);
        }
        let op = Op::new(kind, lane, drawn.object).range(drawn.offset, drawn.len).generation(generation);
        self.launch(lane, op, under, intended, now)
    }

    /// The generation of the data being written. If the pass is compared, it is that of the pass; with a check, which
    /// may store it in the blocks, it is the number of the write; otherwise it is random, since a counter would repeat
    /// after a pass with as many blocks as there are generations.
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        let number = match self.script.comparing {
            Comparing { back: true, .. } => self.passes + 1,
            Comparing { any: true, .. } => self.writes + 1,
            _ => spread(0, self.writes),
        };
        (number & GENERATIONS) as u32
    }

    /// Counts the start of a write and returns its number within the pass.
    #[inline]
    pub(super) fn wrote(&mut self, drawn: &Drawn) -> u64 {
        self.writes += 1;
        let commits = &self.script.commits;
        let due = |every: u32| every > 0 && self.writes.is_multiple_of(every.into());
        if due(commits.fsync_every) {
            self.commit = Some(CommitKind::Full);
        } else if due(commits.fdatasync_every) {
            self.commit = Some(CommitKind::Data);
        } else if due(commits.range_every) {
            self.commit = Some(CommitKind::Range((commits.range_flags & 7) as u8));
        }
        self.range_from = self.range_from.min(drawn.offset);
        self.last_write = Some(*drawn);
        if commits.at_end || commits.on_close {
            self.dirty[drawn.file as usize] = true;
        }
        self.follower.as_mut().map_or(0, |follower| follower.wrote(drawn))
    }

    pub(super) fn begin_commit(&mut self, lane: u32, kind: CommitKind, now: u64) -> Next {
        let (object, offset) = match (self.last_write, kind) {
            (Some(write), CommitKind::Range(_)) => (write.object, self.range_from),
            (Some(write), _) => (write.object, 0),
            (None, _) => (0, 0),
        };
        self.range_from = u64::MAX;
        let op = Op { commit: kind, ..Op::new(OpKind::Commit, lane, object).range(offset, 0) };
        self.launch(lane, op, Under::Commit, now, now)
    }

    #[inline]
    pub(super) fn launch(&mut self, lane: u32, op: Op, under: Under, intended: u64, now: u64) -> Next {
        self.under[lane as usize] = under;
        self.in_flight += 1;
        if now >= self.window_ns {
            self.facts.begun(self.in_flight);
        }
        if self.guarded {
            if let Some(batches) = &mut self.batches {
                batches.begun();
            }
            self.lanes.wake_one();
        }
        Next::Late(op, intended)
    }
}
