//! What a lane does next.

mod check;
mod churn;
mod fill;
mod job;
mod mix;
mod pass;
mod sweep;
mod think;
mod visit;
mod write;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use drivers::{Op, OpError};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use crate::data_set::{Extent, Index, MAX_ITEMS, first_object};
use crate::share::Shares;
use crate::written::WriteLedger;
use crate::{CheckedBlocks, DataShape, LanePass, StagePlan, StageWorkload, StopRule, VisitOrder};
use check::Checker;
pub(crate) use churn::MAX_LANES as MAX_CHURNING_LANES;
use churn::{Churn, OwnItems};
use fill::Filler;
use job::JobLane;
pub(crate) use job::{JobState, Next};
use mix::{MixDraws, Mixer, PausingMixer};
use pass::PassLane;
use think::Thinker;
use visit::Visitor;
use write::{WriteAt, Writer};

/// The sequence of operations of one lane.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Write(Writer<'a>),
    Visit(Visitor),
    Repeat(Op),
    Fill(Filler),
    Check(Checker<'a>),
    Mix(Box<Mixer<'a>>),
    Pausing(Box<PausingMixer<'a>>),
    Job(JobLane<'a>),
    Pass(Box<PassLane<'a>>),
}

/// What a lane did to the data set. It outlives the lane, which may be dropped in the middle of an operation.
#[derive(Debug, Default)]
pub(crate) struct LaneRecord {
    /// What a writing lane wrote.
    pub extent: Cell<Extent>,
    /// What a mix created and has not removed.
    pub own: RefCell<OwnItems>,
    /// What a verified mix wrote.
    pub book: RefCell<Option<WriteLedger>>,
    /// What it did of a pass.
    pub pass: Cell<LanePass>,
    /// What a check found.
    pub checked: Cell<CheckedBlocks>,
}

impl LaneRecord {
    /// The expected generation of a unit in the ledger; `None` if in doubt.
    fn expected(&self, unit: u64) -> Option<u32> {
        self.book.borrow().as_ref().and_then(|book| book.expected(unit))
    }
}

/// What the lanes of one worker have in common.
#[derive(Clone, Debug)]
pub(crate) struct Sources<'p> {
    plan: &'p StagePlan,
    index: Option<Rc<Index>>,
    mix: Option<Rc<MixDraws>>,
    /// Start time of the lanes, and whether time passes while they compute.
    clock: (u64, bool),
}

impl<'p> Sources<'p> {
    /// Sources for a stage that begins at `start_ns`; on a real clock, computing takes time.
    pub(crate) fn new(plan: &'p StagePlan, start_ns: u64, real_clock: bool) -> Self {
        let mut mix = None;
        let index = match &plan.workload {
            StageWorkload::Read { data_set, block_bytes, .. } => {
                Some(data_set.blocks(block_bytes.unwrap_or(data_set.shape().item_bytes())))
            }
            StageWorkload::Visit { data_set, .. } => Some(data_set.items()),
            StageWorkload::Fill { data_set, block_bytes, .. } => Some(data_set.units(*block_bytes)),
            StageWorkload::Check { data_set, block_bytes, written } => {
                Some(data_set.units(written.block_bytes().unwrap_or(*block_bytes)))
            }
            StageWorkload::Mix(load) => {
                mix = Some(Rc::new(MixDraws::new(load)));
                None
            }
            StageWorkload::Write { .. }
            | StageWorkload::Repeat { .. }
            | StageWorkload::Job(_)
            | StageWorkload::Pass(_) => None,
        };
        Sources { plan, index: index.map(Rc::new), mix, clock: (start_ns, real_clock) }
    }

    /// The empty record of a lane.
    pub(crate) fn notes_of(&self, worker: u32, lane: u32) -> LaneRecord {
        let notes = LaneRecord::default();
        notes.extent.set(Extent { first: first_object(worker, lane), ..Extent::default() });
        let number = self.number(worker, lane);
        *notes.own.borrow_mut() = OwnItems::of_lane(number);
        if let Some(mix) = &self.mix {
            *notes.book.borrow_mut() = mix.book(number, self.plan.lanes());
        }
        notes
    }

    /// The operations of a lane, which records in `notes` what it has done.
    pub(crate) fn of<'a>(
        &self,
        worker: u32,
        lane: u32,
        notes: &'a LaneRecord,
        job: Option<&'a JobState>,
    ) -> Source<'a> {
        let repeat = self.plan.stop != StopRule::Exhausted;
        let number = self.number(worker, lane);
        match &self.plan.workload {
            StageWorkload::Write { shape, limit_bytes } => {
                let items = (limit_bytes / self.plan.lanes() / shape.item_bytes()).clamp(1, MAX_ITEMS);
                let extent = &notes.extent;
                Source::Write(Writer { shape: *shape, lane, items, repeat, extent, at: WriteAt::default() })
            }
            StageWorkload::Read { data_set, order, .. } => {
                let kind = match data_set.shape() {
                    DataShape::Files { .. } | DataShape::Device { .. } => OpKind::Read,
                    DataShape::Objects { .. } => OpKind::Get,
                };
                Source::Visit(self.visitor(number, lane, kind, *order, repeat))
            }
            StageWorkload::Repeat { kind, bytes } => {
                let object = first_object(worker, lane);
                Source::Repeat(Op::new(*kind, lane, object).range(0, *bytes))
            }
            StageWorkload::Visit { kind, .. } => {
                Source::Visit(self.visitor(number, lane, *kind, VisitOrder::Sequential, false))
            }
            StageWorkload::Fill { data_set, generation, .. } => {
                let share = self.shares().of(number);
                Source::Fill(Filler::new(self.index(), data_set.shape(), lane, share, *generation))
            }
            StageWorkload::Check { data_set, written, .. } => {
                let share = self.shares().of(number);
                let written = Rc::new(written.clone());
                Source::Check(Checker::new(self.index(), data_set.shape(), lane, share, written, notes))
            }
            StageWorkload::Mix(load) => {
                let plan = Rc::clone(self.mix.as_ref().expect("made for every mix"));
                if let Some(op) = plan.only() {
                    return Source::Repeat(Op { lane, ..op });
                }
                let mixer = Mixer::new(plan, lane, number, self.plan.lanes(), notes);
                let (start_ns, real_clock) = self.clock;
                match load.think.as_ref().and_then(|think| Thinker::new(think, start_ns)) {
                    Some(thinker) => Source::Pausing(Box::new(PausingMixer::new(mixer, thinker, real_clock))),
                    None => Source::Mix(Box::new(mixer)),
                }
            }
            StageWorkload::Job(_) => Source::Job(JobLane::new(job.expect("made for every job"), lane)),
            StageWorkload::Pass(load) => {
                Source::Pass(Box::new(PassLane::new(load, lane, number, notes, self.clock.0)))
            }
        }
    }

    /// The number of a lane over all workers.
    fn number(&self, worker: u32, lane: u32) -> u64 {
        u64::from(worker) * u64::from(self.plan.lanes_per_worker) + u64::from(lane)
    }

    fn index(&self) -> Rc<Index> {
        Rc::clone(self.index.as_ref().expect("made for every workload that goes through a data set"))
    }

    fn shares(&self) -> Shares {
        Shares { total: self.index().total(), parts: self.plan.lanes() }
    }

    fn visitor(&self, number: u64, lane: u32, kind: OpKind, order: VisitOrder, repeat: bool) -> Visitor {
        let index = self.index();
        let share = self.shares().of(number);
        let (first, count) = (share.start, share.end - share.start);
        let seed = self.plan.payload.seed() ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // With more lanes than units, some lanes have no share; they draw from everything.
        let range = if count == 0 { 0..index.total() } else { share };
        let random = (order == VisitOrder::Random).then(|| (fastrand::Rng::with_seed(seed), range));
        let left = if repeat { u64::MAX } else { count };
        Visitor { next: first, left, kind, lane, random, index }
    }
}

impl Source<'_> {
    /// The lane's next step.
    #[inline]
    pub(crate) fn next(&mut self, now: u64) -> Next {
        let op = match self {
            Source::Repeat(op) => Some(*op),
            Source::Visit(visitor) => visitor.peek(),
            Source::Mix(mixer) => mixer.peek(),
            Source::Write(writer) => writer.peek(),
            Source::Fill(filler) => filler.peek(),
            Source::Check(checker) => checker.peek(),
            Source::Job(lane) => return lane.next(now),
            Source::Pausing(mixer) => return mixer.next(now),
            Source::Pass(lane) => return lane.next(now),
        };
        op.map_or(Next::Done, Next::Op)
    }

    /// Waits until another lane signals that there may be something to do, or until a deadline.
    #[cold]
    pub(crate) async fn park(&mut self, reactor: &Reactor, until_ns: u64) {
        match self {
            Source::Job(lane) => lane.park(reactor, until_ns).await,
            _ => reactor.sleep_until(until_ns).await,
        }
    }

    /// Records the start of the operation.
    #[inline]
    pub(crate) fn begin(&mut self, op: &Op) {
        match self {
            Source::Mix(mixer) => mixer.begin(op),
            Source::Pausing(mixer) => mixer.begin(op),
            Source::Write(writer) => writer.begin(op),
            _ => {}
        }
    }

    /// The window ended before the operation was due.
    #[cold]
    pub(crate) fn not_begun(&mut self, op: &Op) {
        if let Source::Job(lane) = self {
            lane.not_begun(op);
        }
    }

    /// The other side ended the load, which is no error.
    #[cold]
    pub(crate) fn is_over(&mut self) {
        if let Source::Job(lane) = self {
            lane.is_over();
        }
    }

    /// Records how the operation ended, and whether that was inside the measured window.
    #[inline]
    pub(crate) fn finished(&mut self, op: &Op, span: &Range<u64>, measured: bool, error: Option<&OpError>) {
        if let Source::Job(lane) = self {
            lane.finished(op, span, measured, error);
            return;
        }
        let error = error.map(|error| error.kind);
        match self {
            Source::Job(_) => {}
            Source::Repeat(op) if op.kind.writes() => {
                op.generation = op.generation.wrapping_add(1) & 0xFFFF;
            }
            Source::Repeat(_) => {}
            Source::Visit(visitor) => visitor.finished(),
            Source::Mix(mixer) => mixer.finished(op, error),
            Source::Pausing(mixer) => mixer.finished(op, error),
            Source::Write(writer) => writer.finished(op, error),
            Source::Fill(filler) => filler.finished(op, error),
            Source::Check(checker) => checker.finished(error),
            Source::Pass(lane) => lane.finished(op, span, error),
        }
    }

    /// Names what an error means for an operation on something that must exist: the server lost it, or returned less of it.
    #[cold]
    pub(crate) fn judge(&self, op: &Op, error: &mut OpError) {
        match self {
            Source::Mix(mixer) => mixer.judge(op, error),
            Source::Pausing(mixer) => mixer.judge(op, error),
            _ => {}
        }
    }

    /// Whether this error means that the operation's goal is already reached: a stage that creates what is missing may
    /// find what an interrupted one created.
    pub(crate) fn is_there_already(&self, op: &Op, kind: ErrorKind) -> bool {
        let made = op.kind == OpKind::Create && kind == ErrorKind::AlreadyExists;
        made && matches!(self, Source::Visit(_))
    }

    /// The work left when the lane stops in the middle: the commit of the file it was writing.
    pub(crate) fn closing(&mut self) -> Option<Op> {
        match self {
            Source::Write(writer) => writer.closing(),
            Source::Mix(mixer) => mixer.closing(),
            Source::Pausing(mixer) => mixer.closing(),
            Source::Job(lane) => lane.closing(),
            Source::Visit(_) | Source::Repeat(_) | Source::Fill(_) | Source::Check(_) | Source::Pass(_) => {
                None
            }
        }
    }

    /// Whether there may be more such work.
    pub(crate) fn closes_more(&self) -> bool {
        matches!(self, Source::Job(_) | Source::Mix(_) | Source::Pausing(_))
    }

    /// Records how that ended.
    pub(crate) fn closed(&mut self, error: Option<ErrorKind>) {
        match self {
            Source::Write(writer) => writer.closed(error),
            Source::Mix(mixer) => mixer.closed(error),
            Source::Pausing(mixer) => mixer.closed(error),
            Source::Job(_)
            | Source::Visit(_)
            | Source::Repeat(_)
            | Source::Fill(_)
            | Source::Check(_)
            | Source::Pass(_) => {}
        }
    }
}
