//! What a lane does next.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use drivers::Op;
use metrics::{ErrorKind, OpKind};

use crate::data_set::{Extent, Index, MOST_ITEMS, Place, first_object};
use crate::{Order, Shape, StagePlan, StopRule, Workload};

/// The operations of one lane, one after the other.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    Write(Writer<'a>),
    Visit(Visitor),
    Repeat(Op),
}

/// What the lanes of one worker have in common.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    plan: StagePlan,
    index: Option<Rc<Index>>,
}

impl Sources {
    pub(crate) fn new(plan: &StagePlan) -> Self {
        let index = match &plan.workload {
            Workload::Read { data_set, block_bytes, .. } => {
                Some(data_set.blocks(block_bytes.unwrap_or(data_set.shape().item_bytes())))
            }
            Workload::Stat { data_set, .. }
            | Workload::Remove { data_set }
            | Workload::Visit { data_set, .. } => Some(data_set.items()),
            Workload::Fill { data_set, block_bytes, .. } | Workload::Check { data_set, block_bytes, .. } => {
                Some(data_set.blocks(*block_bytes))
            }
            Workload::Mix(mix) => Some(mix.data_set.blocks(mix.block_sizes[0].bytes)),
            Workload::Write { .. } | Workload::Repeat { .. } => None,
        };
        Sources { plan: plan.clone(), index: index.map(Rc::new) }
    }

    /// The operations of a lane; `extent` is where a writing lane says what it has written.
    pub(crate) fn of<'a>(&self, worker: u32, lane: u32, extent: &'a Cell<Extent>) -> Source<'a> {
        let repeat = self.plan.stop != StopRule::Exhausted;
        match &self.plan.workload {
            Workload::Write { shape, limit_bytes } => {
                let items = (limit_bytes / self.plan.lanes() / shape.item_bytes()).clamp(1, MOST_ITEMS);
                extent.set(Extent { first: first_object(worker, lane), ..Extent::default() });
                Source::Write(Writer { shape: *shape, lane, items, repeat, extent, at: WriteAt::default() })
            }
            Workload::Read { data_set, order, .. } => {
                let kind = match data_set.shape() {
                    Shape::Files { .. } | Shape::Device { .. } => OpKind::Read,
                    Shape::Objects { .. } => OpKind::Get,
                };
                Source::Visit(self.visitor(worker, lane, kind, *order, repeat))
            }
            Workload::Stat { order, .. } => {
                Source::Visit(self.visitor(worker, lane, OpKind::Stat, *order, repeat))
            }
            Workload::Remove { data_set } => {
                let kind = match data_set.shape() {
                    Shape::Files { .. } | Shape::Device { .. } => OpKind::Remove,
                    Shape::Objects { .. } => OpKind::Delete,
                };
                Source::Visit(self.visitor(worker, lane, kind, Order::Sequential, false))
            }
            Workload::Visit { kind, .. } => {
                Source::Visit(self.visitor(worker, lane, *kind, Order::Sequential, false))
            }
            Workload::Fill { .. } => {
                Source::Visit(self.visitor(worker, lane, OpKind::Write, Order::Sequential, false))
            }
            Workload::Check { .. } => {
                Source::Visit(self.visitor(worker, lane, OpKind::Read, Order::Sequential, false))
            }
            Workload::Mix(mix) => {
                Source::Visit(self.visitor(worker, lane, mix.ops[0].op, Order::Random, true))
            }
            Workload::Repeat { kind, bytes } => {
                let object = first_object(worker, lane);
                Source::Repeat(Op { kind: *kind, lane, object, offset: 0, len: *bytes, generation: 0 })
            }
        }
    }

    fn visitor(&self, worker: u32, lane: u32, kind: OpKind, order: Order, repeat: bool) -> Visitor {
        let index = Rc::clone(self.index.as_ref().expect("made for every workload that visits"));
        let number = u64::from(worker) * u64::from(self.plan.lanes_per_worker) + u64::from(lane);
        let share = |lane: u64| {
            let part = u128::from(index.total()) * u128::from(lane) / u128::from(self.plan.lanes());
            u64::try_from(part).expect("a part of a u64")
        };
        let (first, count) = (share(number), share(number + 1) - share(number));
        let seed = self.plan.payload.seed() ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // With more lanes than units some lanes have no share; they draw from everything.
        let range = if count == 0 { 0..index.total() } else { first..first + count };
        let random = (order == Order::Random).then(|| (fastrand::Rng::with_seed(seed), range));
        let left = if repeat { u64::MAX } else { count };
        Visitor { next: first, left, kind, lane, random, index }
    }
}

impl Source<'_> {
    /// The next operation; the same again until [`Source::finished`]. `None` when the lane's share is done.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<Op> {
        match self {
            Source::Repeat(op) => Some(*op),
            Source::Visit(visitor) => visitor.peek(),
            Source::Write(writer) => writer.peek(),
        }
    }

    /// Says how the operation ended.
    #[inline]
    pub(crate) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        match self {
            Source::Repeat(_) => {}
            Source::Visit(visitor) => visitor.finished(),
            Source::Write(writer) => writer.finished(op, error),
        }
    }

    /// What is to be done when the lane stops in the middle: the commit of the file it was writing.
    pub(crate) fn closing(&self) -> Option<Op> {
        match self {
            Source::Write(writer) => writer.closing(),
            Source::Visit(_) | Source::Repeat(_) => None,
        }
    }
}

/// Goes through the blocks, files or objects of a data set.
#[derive(Debug)]
pub(crate) struct Visitor {
    index: Rc<Index>,
    next: u64,
    left: u64,
    kind: OpKind,
    lane: u32,
    /// Draws from this range instead of going on.
    random: Option<(fastrand::Rng, Range<u64>)>,
}

impl Visitor {
    fn peek(&mut self) -> Option<Op> {
        if self.left == 0 {
            return None;
        }
        if let Some((random, range)) = &mut self.random {
            self.next = random.u64(range.clone());
        }
        let Place { object, offset, len } = self.index.place(self.next);
        Some(Op { kind: self.kind, lane: self.lane, object, offset, len, generation: 0 })
    }

    /// Goes on even after an error: a block that cannot be read must not hold up the others.
    fn finished(&mut self) {
        self.left -= u64::from(self.left != u64::MAX);
        self.next = if self.next + 1 == self.index.total() { 0 } else { self.next + 1 };
    }
}

/// Writes files or objects of its own, in order, and then again from the first.
///
/// What failed is done again, so that what counts as written has no holes.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    shape: Shape,
    lane: u32,
    items: u64,
    repeat: bool,
    extent: &'a Cell<Extent>,
    at: WriteAt,
}

/// Where a writer stands.
#[derive(Clone, Copy, Debug, Default)]
struct WriteAt {
    item: u64,
    offset: u64,
    created: bool,
    done: bool,
}

impl Writer<'_> {
    fn peek(&self) -> Option<Op> {
        if self.at.done {
            return None;
        }
        let object = self.extent.get().first + self.at.item;
        let op = |kind, offset, len| Some(Op { kind, lane: self.lane, object, offset, len, generation: 0 });
        match self.shape {
            Shape::Objects { object_bytes } => op(OpKind::Put, 0, object_bytes),
            Shape::Files { .. } if !self.at.created => op(OpKind::Create, 0, 0),
            Shape::Files { file_bytes, .. } if self.at.offset == file_bytes => {
                op(OpKind::Commit, 0, file_bytes)
            }
            Shape::Device { .. } => None,
            Shape::Files { file_bytes, block_bytes } => {
                op(OpKind::Write, self.at.offset, block_bytes.min(file_bytes - self.at.offset))
            }
        }
    }

    fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        match (op.kind, error) {
            // The name holds our run's id: whatever made the file, an earlier try of ours did.
            (OpKind::Create, None | Some(ErrorKind::AlreadyExists)) => {
                self.at.created = true;
                self.note(|extent, item| extent.existing = extent.existing.max(item + 1));
            }
            (OpKind::Write, None) => {
                self.at.offset += op.len;
                let offset = self.at.offset;
                self.note(|extent, item| {
                    if item == extent.complete {
                        extent.partial_bytes = offset;
                    }
                });
            }
            (OpKind::Put | OpKind::Commit, None) => {
                self.note(|extent, item| {
                    if item == extent.complete {
                        (extent.complete, extent.partial_bytes) = (item + 1, 0);
                        extent.existing = extent.existing.max(item + 1);
                    }
                });
                self.go_on();
            }
            (OpKind::Commit, Some(ErrorKind::VerifierChanged)) => {
                self.lost();
                self.at.offset = 0;
            }
            _ => {}
        }
    }

    /// The server may have lost what it had not yet committed: the file is not to be read before it is written again.
    fn lost(&self) {
        self.note(|extent, item| {
            if item == extent.complete {
                extent.partial_bytes = 0;
            }
        });
    }

    fn note(&self, change: impl FnOnce(&mut Extent, u64)) {
        let mut extent = self.extent.get();
        change(&mut extent, self.at.item);
        self.extent.set(extent);
    }

    fn go_on(&mut self) {
        let item = self.at.item + 1;
        if item < self.items {
            let created = item < self.extent.get().existing;
            self.at = WriteAt { item, offset: 0, created, done: false };
        } else {
            self.at = WriteAt { item: 0, offset: 0, created: true, done: !self.repeat };
        }
    }

    fn closing(&self) -> Option<Op> {
        let object = self.extent.get().first + self.at.item;
        let unfinished = matches!(self.shape, Shape::Files { .. }) && self.at.offset > 0;
        unfinished.then_some(Op {
            kind: OpKind::Commit,
            lane: self.lane,
            object,
            offset: 0,
            len: self.at.offset,
            generation: 0,
        })
    }

    /// Says how the closing commit ended.
    pub(crate) fn closed(&self, error: Option<ErrorKind>) {
        if error == Some(ErrorKind::VerifierChanged) {
            self.lost();
        }
    }
}
