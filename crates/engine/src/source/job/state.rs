//! The state of a worker's job, and what each of its lanes may do.

use std::ops::Range;

use drivers::CommitKind;
use reactor::{Reactor, Signal};

use super::Next;
use super::batch::Batches;
use super::begin::Drawing;
use super::errors::Policy;
use super::lanes::Lanes;
use super::least::Least;
use super::pace::Pace;
use super::replay::Replaying;
use super::script::Script;
use super::seen::{LastWrites, Seen};
use super::stream::{Drawn, Overwriting, Stream, direction_of};
use super::target::Search;
use super::verify::{Follower, Overwritten};
use crate::access::spread;
use crate::pacer::ScheduleStats;
use crate::source::think::Thinker;
use crate::{CheckedBlocks, JobFacts, JobLoad, Schedule};

/// The range of a file affected by an operation in flight.
pub(super) type InFlight = (u64, Range<u64>);

/// A worker's job.
#[derive(Debug)]
pub(super) struct State {
    pub(super) worker: u32,
    pub(super) window_ns: u64,
    pub(super) script: Script,
    pub(super) policy: Policy,
    pub(super) phase: Phase,
    pub(super) stream: Stream,
    pub(super) replay: Option<Replaying>,
    pub(super) follower: Option<Follower>,
    pub(super) lanes: Lanes,
    /// What each lane is doing.
    pub(super) under: Vec<Under>,
    pub(super) in_flight: u32,
    /// Whether something may hold lanes back: the four below, or a replay with times.
    pub(super) guarded: bool,
    pub(super) pace: Option<Pace>,
    pub(super) thinker: Option<Thinker>,
    pub(super) batches: Option<Batches>,
    pub(super) search: Option<Search>,
    /// Ranges in flight, if none may overlap, and what waits for one of them.
    pub(super) ranges: Option<Vec<Option<InFlight>>>,
    pub(super) held: Option<(Drawn, u64)>,
    pub(super) pauses_stop_schedule: bool,
    pub(super) spin_ns: u64,
    pub(super) least: Option<Least>,
    /// Started: bytes and operations that count, bytes of everything, writes.
    pub(super) bytes: u64,
    pub(super) ops: u64,
    pub(super) all_bytes: u64,
    pub(super) writes: u64,
    pub(super) passes: u64,
    /// What had been started when the pass began.
    pub(super) pass_bytes: u64,
    /// The next commit.
    pub(super) commit: Option<CommitKind>,
    pub(super) last_write: Option<Drawn>,
    pub(super) range_from: u64,
    /// Files written since their last final commit.
    pub(super) dirty: Vec<bool>,
    pub(super) facts: JobFacts,
    pub(super) checked: CheckedBlocks,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Load,
    /// Nothing starts until nothing is in flight; then comes this.
    Settle(Then),
    /// Commits the files that were written, from this one on.
    Commit(usize),
    /// Removes the files, from this one on, before the next pass recreates them.
    Unlink(usize),
    /// Reads back up to this many writes.
    Back {
        until: u64,
        load: bool,
    },
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Then {
    Commit,
    Back {
        until: u64,
        load: bool,
    },
    NextPass,
    /// The files have been removed.
    Unlinked,
}

/// What a lane is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Under {
    Nothing,
    /// An operation of the load; for a write, its number within the pass.
    Load(u64),
    Commit,
    /// A comparing read.
    Compare,
}

impl State {
    pub(super) fn new(
        (load, schedule): (&JobLoad, &Schedule),
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
            Replaying::new(ops, (start_ns, window_ns), job.ending.time_based)
        });
        let script = Script::new(load, files, stream.plan(), replay.is_some());
        let seed = spread(job.seed, u64::from(job.first_number) + u64::from(worker));
        let pace = &job.pace;
        let checked = script.comparing.back;
        // What is read back between the writes is read after each of them.
        let seen = match stream.plan().overwriting(&job.pattern) {
            Overwriting::Whole(unit) if checked && script.comparing.backlog == 0 => Seen::new(files, unit),
            _ => None,
        };
        let overwritten = match (script.comparing.overlap_step, seen) {
            (0, None) => Overwritten::Nothing,
            (0, Some(seen)) => Overwritten::Whole(seen),
            (step, _) => Overwritten::InPart(LastWrites::new(files, step)),
        };
        // With partly overlapping blocks, the order of writes must be known.
        let in_order = job.pattern.no_overlap || matches!(overwritten, Overwritten::InPart(_));
        let thinker = pace.think.as_ref().and_then(|think| Thinker::new(think, start_ns));
        let pacer = match schedule {
            Schedule::Directions { rates, poisson } => {
                // One rate usually covers all directions; only those that the job uses can keep it.
                let mut done = *rates;
                let drawn = |direction| stream.plan().directions().any(|one| one == direction);
                let both = job.pattern.trim_then_write;
                done.read = done.read.filter(|_| drawn(0) && !both);
                done.write = done.write.filter(|_| drawn(1) || both);
                done.trim = done.trim.filter(|_| drawn(2) || both);
                Pace::new(&done, *poisson, (start_ns, window_ns), seed, !checked)
            }
            Schedule::Closed | Schedule::Open { .. } => None,
        };
        let batches = Batches::new(&job.queue, lanes);
        let search = job.ending.latency_target.map(|target| Search::new(&target, lanes, start_ns));
        let ranges = (in_order && lanes > 1).then(|| vec![None; lanes as usize]);
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
            follower: checked.then(|| Follower::new(&stream, overwritten)),
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
            checked: CheckedBlocks::default(),
            script,
            stream,
            replay,
        }
    }

    pub(super) fn signal_of(&self, lane: u32) -> Signal {
        self.lanes.signal_of(lane)
    }

    /// Time to spend computing before anything else.
    #[inline]
    pub(super) fn take_spin(&mut self) -> u64 {
        std::mem::take(&mut self.spin_ns)
    }

    /// The next step of a free lane.
    #[inline]
    pub(super) fn next(&mut self, lane: u32, now: u64) -> Next {
        self.lanes.looks(lane);
        loop {
            match self.phase {
                Phase::Load => {
                    if self.guarded
                        && let Some(next) = self.hold_back(lane, now)
                    {
                        return next;
                    }
                    match self.load(lane, now) {
                        Drawing::Operation(drawn, intended) => {
                            return self.begin(lane, &drawn, intended, now);
                        }
                        Drawing::Step(Some(next)) => return next,
                        Drawing::Step(None) => {}
                    }
                }
                phase => {
                    if let Some(next) = self.beside(phase, lane, now) {
                        return next;
                    }
                }
            }
        }
    }

    pub(super) fn park(&mut self, lane: u32) -> Next {
        self.lanes.park(lane);
        Next::Park
    }

    pub(super) fn wait(&mut self, lane: u32, until: u64) -> Next {
        if self.lanes.guard(lane) { Next::Wait(until) } else { Next::Park }
    }

    pub(super) fn overlaps(&self, drawn: &Drawn) -> bool {
        let end = drawn.offset + drawn.len;
        let crosses = |(object, range): &InFlight| {
            *object == drawn.object && range.start < end && drawn.offset < range.end
        };
        self.ranges.as_ref().is_some_and(|ranges| ranges.iter().flatten().any(crosses))
    }

    /// The facts about the job, and the outcome of the starts intended before `end_ns`.
    pub(super) fn settle(mut self, end_ns: u64) -> (JobFacts, CheckedBlocks, ScheduleStats) {
        self.facts.found_depth = self.search.map(|search| search.depth());
        let held = self.held.map(|(drawn, intended)| (direction_of(drawn.kind).unwrap_or(0), intended));
        let kept = match (self.pace, self.replay) {
            (Some(pace), _) => pace.settle(end_ns, held),
            (None, Some(replay)) => replay.settle(end_ns),
            (None, None) => ScheduleStats::default(),
        };
        (self.facts, self.checked, kept)
    }
}
