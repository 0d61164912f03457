//! The load of an experiment: draws an operation by weight, then its place by the access pattern.

mod known;
mod log;
mod own;
mod pause;
mod plan;
mod stream;

use std::rc::Rc;

use drivers::Op;
use experiment::Access;
use metrics::{ErrorKind, OpKind};

use super::{Churn, LaneRecord};
use crate::access::{Picker, spread};
use crate::data_set::Place;
use log::Log;
pub(super) use pause::PausingMixer;
pub(super) use plan::MixDraws;
use plan::{Role, field_of, field_of_entries};
use stream::Stream;

/// Number of draws that may hit uncertain content before a verified read gives way to a write.
const TRIES: u32 = 8;

/// One lane of a mix.
#[derive(Debug)]
pub(crate) struct Mixer<'a> {
    plan: Rc<MixDraws>,
    notes: &'a LaneRecord,
    lane: u32,
    random: fastrand::Rng,
    /// How each of the plan's operations chooses its place.
    aims: Vec<Aim>,
    /// Number of writes, which determines the generation of untracked content.
    writes: u32,
    content_seed: u64,
    uncommitted: u32,
    /// The last file written.
    written: Option<u64>,
    /// The file that it appends to.
    log: Log,
    /// Hard links created in a row.
    links: u32,
    /// Files written as a whole.
    files_written: u32,
    /// The file that it has opened.
    opened: Option<u64>,
}

/// How an operation chooses its place.
#[derive(Debug)]
enum Aim {
    /// Blocks, one picker for each size.
    Blocks(Vec<Picker>),
    /// Blocks of several sizes, one after the other.
    Stream(Stream),
    /// Whole files or objects.
    Items(Picker),
    /// The next block to write according to the lane's ledger.
    Book,
    /// Something that the lane creates or has created.
    Own,
    /// The last file written, otherwise a picked one.
    Commit(Picker),
    /// What the lane has open, otherwise a picked file of a tree that exists.
    Open(Picker),
    /// Other entries of such a tree, numbered from this one on.
    Entries(u64, Picker),
}

impl<'a> Mixer<'a> {
    pub(super) fn new(plan: Rc<MixDraws>, lane: u32, number: u64, lanes: u64, notes: &'a LaneRecord) -> Self {
        let aim = |role: &Role, salt: u64| {
            let picker = |index, place_bytes| {
                Picker::new(&plan.mix.access, &field_of(&plan, index, place_bytes, number, lanes, salt))
            };
            match role {
                Role::Blocks if plan.sizes.len() > 1 && plan.mix.access == Access::Sequential => {
                    let first = field_of(&plan, &plan.items, 1, number, lanes, salt).share.start;
                    Aim::Stream(Stream::new(first))
                }
                Role::Blocks => {
                    let sizes = plan.sizes.iter();
                    Aim::Blocks(sizes.map(|size| picker(&size.blocks, size.bytes)).collect())
                }
                Role::Items => Aim::Items(picker(&plan.items, plan.item_bytes())),
                Role::Book => Aim::Book,
                Role::Own => Aim::Own,
                Role::Commit => Aim::Commit(picker(&plan.items, plan.item_bytes())),
                Role::Open => Aim::Open(picker(&plan.items, plan.item_bytes())),
                Role::Links | Role::Directories => {
                    let entries = match (role, plan.mix.data_set.tree()) {
                        (Role::Links, Some(beside)) => beside.links.clone(),
                        (_, Some(beside)) => beside.directories.clone(),
                        (_, None) => 0..0,
                    };
                    let field = field_of_entries(&plan, entries.end - entries.start, number, lanes, salt);
                    Aim::Entries(entries.start, Picker::new(&plan.mix.access, &field))
                }
            }
        };
        let aims = plan.ops.iter().zip(0..).map(|(op, salt)| aim(&op.role, salt)).collect();
        let random = fastrand::Rng::with_seed(spread(plan.mix.seed, !number));
        let content_seed = spread(plan.mix.seed ^ u64::from(plan.mix.generation), number);
        let (writes, uncommitted, written, links, opened) = (0, 0, None, 0, None);
        let log = Log::new(plan.ops.iter().any(|op| op.kind == OpKind::Append));
        Mixer {
            plan,
            notes,
            lane,
            random,
            aims,
            writes,
            content_seed,
            uncommitted,
            written,
            log,
            links,
            files_written: 0,
            opened,
        }
    }

    #[inline]
    pub(super) fn peek(&mut self) -> Option<Op> {
        let fsync_every = self.plan.mix.fsync_every;
        if fsync_every > 0 {
            if self.uncommitted >= fsync_every {
                return self.commit(None);
            }
            if let Some(object) = self.log.due(fsync_every) {
                return Some(self.commit_of(object));
            }
        }
        let at = if self.aims.len() == 1 { 0 } else { self.plan.draw_op(&mut self.random) };
        self.op(at)
    }

    fn op(&mut self, at: usize) -> Option<Op> {
        let plan = &*self.plan;
        let kind = plan.ops[at].kind;
        match &mut self.aims[at] {
            Aim::Blocks(pickers) => {
                let size = if pickers.len() == 1 { 0 } else { plan.draw_size(&mut self.random) };
                let blocks = &plan.sizes[size].blocks;
                if !plan.keeps_book() {
                    let place = blocks.place(pickers[size].next(&mut self.random));
                    return Some(self.at(kind, place, self.generation_of(kind)));
                }
                for _ in 0..TRIES {
                    let block = pickers[size].next(&mut self.random);
                    if let Some(generation) = self.notes.expected(plan.unit_of(size, block)) {
                        return Some(self.at(kind, blocks.place(block), generation));
                    }
                }
                self.next_of_book()
            }
            Aim::Stream(stream) => {
                let size = plan.draw_size(&mut self.random);
                let place = stream.next(&plan.items, plan.sizes[size].bytes);
                Some(self.at(kind, place, self.generation_of(kind)))
            }
            // Names can be listed even if there are none.
            Aim::Items(_) if plan.items.total() == 0 => {
                Some(self.at(kind, Place { object: 0, offset: 0, len: 0 }, plan.mix.generation))
            }
            Aim::Items(picker) => {
                if !(plan.keeps_book() && kind == OpKind::Get) {
                    let place = plan.items.place(picker.next(&mut self.random));
                    let durable = kind.writes() && self.is_durable();
                    return Some(Op { durable, ..self.at(kind, place, self.generation_of(kind)) });
                }
                for _ in 0..TRIES {
                    let item = picker.next(&mut self.random);
                    if let Some(generation) = self.notes.expected(item) {
                        return Some(self.at(kind, plan.items.place(item), generation));
                    }
                }
                self.next_of_book()
            }
            Aim::Book => self.next_of_book(),
            Aim::Own => Some(self.own(kind)),
            Aim::Open(picker) => Some(match self.opened {
                Some(object) => Op::new(OpKind::Close, self.lane, object),
                None => {
                    let object = plan.items.place(picker.next(&mut self.random)).object;
                    Op::new(OpKind::Open, self.lane, object)
                }
            }),
            Aim::Entries(first, picker) => {
                Some(Op::new(kind, self.lane, *first + picker.next(&mut self.random)))
            }
            Aim::Commit(picker) => {
                let item = picker.next(&mut self.random);
                match self.log.due(1) {
                    Some(object) => Some(self.commit_of(object)),
                    None => self.commit(Some(item)),
                }
            }
        }
    }

    #[inline]
    fn at(&self, kind: OpKind, Place { object, offset, len }: Place, generation: u32) -> Op {
        Op::new(kind, self.lane, object).range(offset, len).generation(generation)
    }

    /// The generation of untracked content: different with each write, so that nothing is written twice. It is drawn,
    /// not counted: a counter would repeat after a pass with as many blocks as there are generations.
    #[inline]
    fn generation_of(&self, kind: OpKind) -> u32 {
        if kind.writes() {
            (spread(self.content_seed, self.writes.into()) & 0xFFFF) as u32
        } else {
            self.plan.mix.generation
        }
    }

    /// Whether the next file written as a whole is also committed.
    #[inline]
    fn is_durable(&self) -> bool {
        let fsync_every = self.plan.mix.fsync_every;
        fsync_every > 0 && self.files_written.wrapping_add(1).is_multiple_of(fsync_every)
    }

    fn next_of_book(&self) -> Option<Op> {
        let (unit, generation) = self.notes.book.borrow().as_ref()?.next();
        let (kind, place) = self.plan.place_of_unit(unit);
        let kind = if generation == Op::ZEROES { OpKind::WriteZeroes } else { kind };
        Some(self.at(kind, place, generation))
    }

    /// The commit of the last file written; if there is none, of this item.
    fn commit(&self, item: Option<u64>) -> Option<Op> {
        let object = self.written.or_else(|| item.map(|item| self.plan.items.place(item).object))?;
        Some(self.commit_of(object))
    }

    fn commit_of(&self, object: u64) -> Op {
        let object = self.named(object);
        self.at(OpKind::Commit, Place { object, offset: 0, len: self.plan.bytes_of(object) }, 0)
    }

    #[inline]
    pub(super) fn begin(&mut self, op: &Op) {
        match op.kind {
            OpKind::Write | OpKind::WriteZeroes | OpKind::Put | OpKind::Create => self.begin_writing(op),
            OpKind::Rename
            | OpKind::Link
            | OpKind::Symlink
            | OpKind::Mkdir
            | OpKind::Copy
            | OpKind::WriteFile => self.begin_own(op),
            _ => {}
        }
    }

    #[inline]
    fn begin_writing(&mut self, op: &Op) {
        if Churn::made(op.object) {
            self.begin_own(op);
        } else if let Some(book) = self.notes.book.borrow_mut().as_mut() {
            book.begin();
        }
    }

    #[inline]
    pub(super) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        // What `judge` made of it: nothing else finds wrong data without reading.
        let error = error.map(|kind| match kind {
            ErrorKind::Corrupt if !op.kind.reads() => ErrorKind::NotFound,
            kind => kind,
        });
        match op.kind {
            OpKind::Write | OpKind::WriteZeroes | OpKind::Put | OpKind::Create => {
                self.finished_writing(op, error);
            }
            OpKind::Remove | OpKind::Delete | OpKind::BatchDelete | OpKind::Rmdir => {
                self.finished_own(op, error)
            }
            OpKind::Rename | OpKind::Link | OpKind::Symlink | OpKind::Mkdir | OpKind::Copy => {
                if op.kind == OpKind::Rename && error.is_none() && self.opened == Some(op.object) {
                    self.opened = Some(op.other);
                }
                self.finished_own(op, error);
            }
            OpKind::WriteFile => {
                self.writes = self.writes.wrapping_add(1);
                self.files_written = self.files_written.wrapping_add(1);
                self.finished_own(op, error);
            }
            OpKind::Overwrite | OpKind::TruncateOverwrite => {
                self.writes = self.writes.wrapping_add(1);
                self.files_written = self.files_written.wrapping_add(1);
                if Churn::made(op.object) {
                    return self.finished_own(op, error);
                }
                self.written = Some(op.object);
            }
            OpKind::Append => {
                self.writes = self.writes.wrapping_add(1);
                match self.plan.knows_own_content {
                    true => self.finished_own(op, error),
                    false => self.log.finished(op, error),
                }
            }
            OpKind::Truncate => self.log.finished(op, error),
            OpKind::Open => self.opened = error.is_none().then_some(op.object),
            OpKind::Close => self.opened = None,
            OpKind::Commit if Churn::made(op.object) => self.log.committed(),
            OpKind::Commit => self.committed(error),
            _ => {}
        }
    }

    fn finished_writing(&mut self, op: &Op, error: Option<ErrorKind>) {
        self.writes = self.writes.wrapping_add(1);
        if matches!(op.kind, OpKind::Write | OpKind::WriteZeroes) {
            self.written = Some(op.object);
            self.uncommitted = self.uncommitted.saturating_add(1);
        }
        if Churn::made(op.object) {
            self.finished_own(op, error);
        } else if let Some(book) = self.notes.book.borrow_mut().as_mut() {
            book.end(error.is_none());
        }
    }

    fn committed(&mut self, error: Option<ErrorKind>) {
        self.uncommitted = 0;
        if let Some(book) = self.notes.book.borrow_mut().as_mut() {
            if error.is_none() {
                book.committed();
            } else {
                book.lost();
            }
        }
    }

    /// A load with commits or a check also makes its last writes durable, and one with commits its last appends.
    pub(super) fn closing(&self) -> Option<Op> {
        let commits = self.plan.mix.fsync_every > 0;
        if (commits || self.plan.keeps_book()) && self.uncommitted > 0 {
            return self.commit(None);
        }
        self.log.due(1).filter(|_| commits).map(|object| self.commit_of(object))
    }

    pub(super) fn closed(&mut self, error: Option<ErrorKind>) {
        if self.uncommitted > 0 {
            self.committed(error);
        } else {
            self.log.committed();
        }
    }
}
