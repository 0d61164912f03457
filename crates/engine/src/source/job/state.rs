//! Where a worker's job stands, and what each of its lanes may do.

use std::ops::Range;

use drivers::{CommitKind, Op, OpError};
use metrics::OpKind;
use reactor::{Reactor, Signal};

use super::Next;
use super::batch::Batches;
use super::errors::{Follows, Policy};
use super::lanes::Lanes;
use super::least::Least;
use super::pace::{Pace, Turn};
use super::replay::Replaying;
use super::script::Script;
use super::stream::{Drawn, Stream, direction_of};
use super::target::{Found, Search};
use super::think::{Thinker, Thought};
use super::verify::Follower;
use crate::access::spread;
use crate::{Checked, JobFacts, JobFailure, JobLoad, Reason};

/// The low bits of a generation that a job uses.
const GENERATIONS: u64 = 0x7fff;

/// A worker's job.
#[derive(Debug)]
pub(super) struct State {
    worker: u32,
    window_ns: u64,
    script: Script,
    policy: Policy,
    phase: Phase,
    stream: Stream,
    replay: Option<Replaying>,
    follower: Option<Follower>,
    lanes: Lanes,
    /// What each lane is doing.
    under: Vec<Under>,
    in_flight: u32,
    /// Something may hold lanes back: the four below, or a replay with times.
    guarded: bool,
    pace: Option<Pace>,
    thinker: Option<Thinker>,
    batches: Option<Batches>,
    search: Option<Search>,
    /// Ranges in flight, where none may overlap, and what waits for one of them.
    ranges: Option<Vec<Option<(u64, Range<u64>)>>>,
    held: Option<(Drawn, u64)>,
    pauses_stop_schedule: bool,
    spin_ns: u64,
    least: Option<Least>,
    /// Begun: bytes and operations that count, bytes of everything, writes.
    bytes: u64,
    ops: u64,
    all_bytes: u64,
    writes: u64,
    passes: u64,
    /// What was begun when the pass began.
    pass_bytes: u64,
    /// The commit that follows.
    commit: Option<CommitKind>,
    last_write: Option<Drawn>,
    range_from: u64,
    /// Files that were written since their last commit at an end.
    dirty: Vec<bool>,
    facts: JobFacts,
    checked: Checked,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Load,
    /// Nothing is begun until nothing is in flight; then what?
    Settle(Then),
    /// The files that were written are committed, from this one on.
    Commit(usize),
    /// Reads back up to so many writes.
    Back {
        until: u64,
        load: bool,
    },
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Commit,
    Back { until: u64, load: bool },
    NextPass,
}

/// What a lane is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Under {
    Nothing,
    /// An operation of the load; of a write its number within the pass.
    Load(u64),
    Commit,
    /// A comparing read.
    Compare,
}

impl State {
    pub(super) fn new(
        load: &JobLoad,
        worker: u32,
        lanes: u32,
        reactor: &Reactor,
        (start_ns, window_ns): (u64, u64),
    ) -> State {
        let job = &*load.job;
        let files = &load.files[worker as usize];
        let stream = Stream::new(load, worker, files);
        let replay = (!load.replay.is_empty()).then(|| {
            let ops = load.replay[worker as usize % load.replay.len()].clone();
            Replaying::new(ops, start_ns, job.ending.time_based)
        });
        let script = Script::new(load, files, stream.plan(), replay.is_some());
        let seed = spread(job.seed, u64::from(job.first_number) + u64::from(worker));
        let pace = &job.pace;
        let checked = script.comparing.back;
        let thinker = pace.think.as_ref().and_then(|think| Thinker::new(think, start_ns));
        let pacer = Pace::new(&pace.rates, pace.poisson, start_ns, seed, !checked);
        let batches = Batches::new(&job.queue, lanes);
        let search = job.ending.latency_target.map(|target| Search::new(&target, lanes, start_ns));
        let ranges = (job.pattern.no_overlap && lanes > 1).then(|| vec![None; lanes as usize]);
        let guarded = thinker.is_some()
            || pacer.is_some()
            || batches.is_some()
            || search.is_some()
            || ranges.is_some()
            || replay.is_some();
        let fatal = job.check.as_ref().is_some_and(|check| check.fatal);
        State {
            worker,
            window_ns,
            policy: Policy::new(&job.ending.errors, fatal, job.region.fill_device),
            phase: Phase::Load,
            follower: checked.then(|| Follower::new(&stream)),
            lanes: Lanes::new(reactor, lanes),
            under: vec![Under::Nothing; lanes as usize],
            in_flight: 0,
            guarded,
            pace: pacer,
            thinker,
            batches,
            search,
            ranges,
            held: None,
            pauses_stop_schedule: pace.pauses_stop_schedule,
            spin_ns: 0,
            least: Least::new(&pace.least, pace.cycle_s, start_ns),
            bytes: 0,
            ops: 0,
            all_bytes: 0,
            writes: 0,
            passes: 0,
            pass_bytes: 0,
            commit: None,
            last_write: None,
            range_from: u64::MAX,
            dirty: vec![false; files.len()],
            facts: JobFacts::default(),
            checked: Checked::default(),
            script,
            stream,
            replay,
        }
    }

    pub(super) fn signal_of(&self, lane: u32) -> Signal {
        self.lanes.signal_of(lane)
    }

    /// Time to be spent computing before anything else.
    #[inline]
    pub(super) fn take_spin(&mut self) -> u64 {
        std::mem::take(&mut self.spin_ns)
    }

    /// What a lane that is free is to do.
    #[inline]
    pub(super) fn next(&mut self, lane: u32, now: u64) -> Next {
        self.lanes.looks(lane);
        loop {
            let next = match self.phase {
                Phase::Load => {
                    let held_back = if self.guarded { self.hold_back(lane, now) } else { None };
                    held_back.or_else(|| self.load(lane, now))
                }
                phase => self.beside(phase, lane, now),
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// What keeps a lane from the load, if anything does.
    fn hold_back(&mut self, lane: u32, now: u64) -> Option<Next> {
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
        Some(self.begin(lane, drawn, intended, now))
    }

    /// The next operation of the load; `None` when the phase has changed.
    #[inline]
    fn load(&mut self, lane: u32, now: u64) -> Option<Next> {
        if self.bytes >= self.script.limit_bytes || self.ops >= self.script.limit_ops {
            return self.pass_ended();
        }
        if let Some(kind) = self.commit {
            self.commit = None;
            return Some(self.begin_commit(lane, kind, now));
        }
        if self.script.comparing.backlog > 0
            && let Some(follower) = &self.follower
            && follower.written - follower.read >= self.script.comparing.backlog
        {
            let batch = self.script.comparing.batch;
            let until = if batch == 0 { follower.written } else { follower.read + batch };
            self.phase = Phase::Settle(Then::Back { until: until.min(follower.written), load: true });
            return None;
        }
        if self.replay.is_some() {
            return self.replay(lane, now);
        }
        let (direction, intended) = match &mut self.pace {
            None => (self.stream.draw_direction(), now),
            Some(_) => match self.turn(now) {
                Turn::Go(direction, intended) => (direction, intended),
                Turn::Wait(until) => return Some(self.wait(lane, until)),
            },
        };
        let Some(drawn) = self.stream.next(direction) else { return self.pass_ended() };
        self.count(&drawn);
        if let Some(pace) = &mut self.pace {
            pace.begun(direction_of(drawn.kind).unwrap_or(0), drawn.len);
        }
        if self.ranges.is_some() && self.overlaps(&drawn) {
            self.held = Some((drawn, intended));
            return Some(self.park(lane));
        }
        Some(self.begin(lane, drawn, intended, now))
    }

    /// Whose turn it is by the directions' rates.
    fn turn(&mut self, now: u64) -> Turn {
        let State { pace, stream, .. } = self;
        let Some(pace) = pace else { return Turn::Go(0, now) };
        if let Some(direction) = stream.given_direction() {
            let due = pace.of(direction, now);
            return if due > now { Turn::Wait(due) } else { Turn::Go(direction, due) };
        }
        let directions = stream.plan_rc();
        pace.turn(now, directions.directions(), || stream.draw_direction())
    }

    fn replay(&mut self, lane: u32, now: u64) -> Option<Next> {
        let replay = self.replay.as_mut()?;
        let Some((op, intended)) = replay.peek(now) else { return self.pass_ended() };
        if intended > now {
            return Some(self.wait(lane, intended));
        }
        replay.advance();
        if op.kind == OpKind::Commit {
            let op = self.op(lane, op.kind, (op.object, op.offset, op.len), 0);
            return Some(self.launch(lane, op, Under::Commit, intended, now));
        }
        let drawn = Drawn { kind: op.kind, file: 0, object: op.object, offset: op.offset, len: op.len };
        self.count(&drawn);
        Some(self.begin(lane, drawn, intended, now))
    }

    /// Counts what is drawn.
    #[inline]
    fn count(&mut self, drawn: &Drawn) {
        let direction = direction_of(drawn.kind).unwrap_or(0);
        if self.script.counts[direction] {
            self.bytes += drawn.len;
            self.ops += 1;
        }
        self.all_bytes += drawn.len;
    }

    /// Begins an operation of the load.
    #[inline]
    fn begin(&mut self, lane: u32, drawn: Drawn, intended: u64, now: u64) -> Next {
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
                under = Under::Load(self.wrote(&drawn));
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
        let op = self.op(lane, kind, (drawn.object, drawn.offset, drawn.len), generation);
        self.launch(lane, op, under, intended, now)
    }

    /// The generation of what is written now: of the pass where it is compared, otherwise always another.
    #[inline]
    fn generation(&self) -> u32 {
        let number = if self.script.comparing.back { self.passes + 1 } else { self.writes + 1 };
        (number & GENERATIONS) as u32
    }

    /// A write is begun: its number within the pass.
    #[inline]
    fn wrote(&mut self, drawn: &Drawn) -> u64 {
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
        let Some(follower) = &mut self.follower else { return 0 };
        follower.written += 1;
        follower.written - 1
    }

    fn begin_commit(&mut self, lane: u32, kind: CommitKind, now: u64) -> Next {
        let (object, offset) = match (self.last_write, kind) {
            (Some(write), CommitKind::Range(_)) => (write.object, self.range_from),
            (Some(write), _) => (write.object, 0),
            (None, _) => (0, 0),
        };
        self.range_from = u64::MAX;
        let op = self.op(lane, OpKind::Commit, (object, offset, kind.code()), 0);
        self.launch(lane, op, Under::Commit, now, now)
    }

    #[inline]
    fn op(&self, lane: u32, kind: OpKind, (object, offset, len): (u64, u64, u64), generation: u32) -> Op {
        Op { kind, lane, object, offset, len, generation }
    }

    #[inline]
    fn launch(&mut self, lane: u32, op: Op, under: Under, intended: u64, now: u64) -> Next {
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

    fn park(&mut self, lane: u32) -> Next {
        self.lanes.park(lane);
        Next::Park
    }

    fn wait(&mut self, lane: u32, until: u64) -> Next {
        if self.lanes.guard(lane) { Next::Wait(until) } else { Next::Park }
    }

    fn overlaps(&self, drawn: &Drawn) -> bool {
        let end = drawn.offset + drawn.len;
        let crosses = |(object, range): &(u64, Range<u64>)| {
            *object == drawn.object && range.start < end && drawn.offset < range.end
        };
        self.ranges.as_ref().is_some_and(|ranges| ranges.iter().flatten().any(crosses))
    }

    /// Nothing is left of this pass.
    #[cold]
    fn pass_ended(&mut self) -> Option<Next> {
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

    fn has_next_pass(&self) -> bool {
        let left = self.script.limit_bytes.saturating_sub(self.all_bytes.max(self.bytes));
        let begun = self.bytes < self.script.limit_bytes && self.ops < self.script.limit_ops;
        let moved = self.all_bytes > self.pass_bytes;
        moved
            && begun
            && (self.passes + 1 < self.script.loops || self.script.goes_round && left >= self.script.most)
    }

    /// What there is to do besides the load; `None` when the phase has changed.
    #[cold]
    fn beside(&mut self, phase: Phase, lane: u32, now: u64) -> Option<Next> {
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
                    Then::NextPass => self.next_pass(now),
                };
                self.lanes.wake_all();
                None
            }
            Phase::Commit(from) => {
                let Some(op) = self.next_dirty(lane, from) else { return self.pass_ended() };
                Some(self.launch(lane, op, Under::Commit, now, now))
            }
            Phase::Back { until, load } => {
                let follower = self.follower.as_mut()?;
                let drawn = if self.script.comparing.in_doubt {
                    self.checked.uncertain += until - follower.read;
                    follower.read = until;
                    None
                } else {
                    follower.next(until, &mut self.checked.uncertain)
                };
                let Some(drawn) = drawn else {
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
                let op = self.op(lane, OpKind::Read, (drawn.object, drawn.offset, drawn.len), generation);
                Some(self.launch(lane, op, Under::Compare, now, now))
            }
        }
    }

    fn next_pass(&mut self, now: u64) -> Phase {
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

    /// The commit of the next file that was written, from this one on.
    fn next_dirty(&mut self, lane: u32, from: usize) -> Option<Op> {
        let at = from + self.dirty[from..].iter().position(|dirty| *dirty)?;
        self.dirty[at] = false;
        if matches!(self.phase, Phase::Commit(_)) {
            self.phase = Phase::Commit(at + 1);
        }
        let object = self.stream.object(at);
        Some(self.op(lane, OpKind::Commit, (object, 0, CommitKind::Full.code()), 0))
    }

    /// A commit that is to be made although the window has ended.
    pub(super) fn closing(&mut self, lane: u32) -> Option<Op> {
        let failed = !self.facts.failures.is_empty();
        if self.in_flight > 0 || failed { None } else { self.next_dirty(lane, 0) }
    }

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
            let kind = super::stream::KINDS[direction];
            let detail = format!("{kind}s had {had:.0} a second in the last cycle, less than {wanted}");
            self.fail(Reason::BelowRate, detail);
        }
    }

    fn guarded_end(&mut self, lane: u32, under: Under, span: &Range<u64>, error: Option<&OpError>) {
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

    fn compared(&mut self, error: Option<&OpError>) {
        use metrics::ErrorKind::{Corrupt, Length, NotFound};
        match error.map(|error| error.kind) {
            None => self.checked.right += 1,
            Some(Corrupt | Length | NotFound) => self.checked.wrong += 1,
            Some(_) => self.checked.unread += 1,
        }
    }

    #[cold]
    fn failed(&mut self, op: &Op, under: Under, error: &OpError) {
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

    fn fail(&mut self, reason: Reason, detail: String) {
        if self.facts.failures.is_empty() {
            self.facts.failures.push(JobFailure { worker: self.worker, reason, detail });
        }
        self.end();
    }

    /// Nothing more is begun.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
        self.lanes.wake_all();
    }

    pub(super) fn into_facts(mut self) -> (JobFacts, Checked) {
        self.facts.found_depth = self.search.map(|search| search.depth());
        (self.facts, self.checked)
    }
}
