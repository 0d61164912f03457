//! Operations on what the lane itself creates: nothing is used before it exists, or after it was removed.

use drivers::Op;
use drivers::numbers::content_of;
use metrics::{ErrorKind, OpKind};

use super::Mixer;
use super::log::Tail;
use crate::data_set::Place;
use crate::source::churn::OwnItems;

/// Links to a file in a row, before a new file is created: file systems limit them, the strictest to 1,024.
const LINKS_MAX: u32 = 1000;

impl Mixer<'_> {
    /// The next operation of this kind, or the one that must come first.
    pub(super) fn own(&mut self, kind: OpKind) -> Op {
        let own = *self.notes.own.borrow();
        let OwnItems { files, symlinks, directories, .. } = own;
        let known = self.plan.knows_own_content;
        let on = |kind, object| Op::new(kind, self.lane, if known { own.named(object) } else { object });
        let is_on_files = !matches!(kind, OpKind::Symlink | OpKind::Readlink | OpKind::Mkdir | OpKind::Rmdir);
        if files.is_moving() && is_on_files {
            return self.rename_oldest();
        }
        match kind {
            OpKind::Mkdir => Op::new(kind, self.lane, directories.newest()),
            OpKind::Rmdir => match directories.oldest() {
                Some(object) => Op::new(kind, self.lane, object),
                None => Op::new(OpKind::Mkdir, self.lane, directories.newest()),
            },
            OpKind::Symlink => self.symlink(),
            OpKind::Readlink => match symlinks.any(&mut self.random) {
                Some(object) => Op::new(kind, self.lane, object),
                None => self.symlink(),
            },
            OpKind::Rename => self.rename_oldest(),
            OpKind::Link => match files.last().filter(|_| self.links < LINKS_MAX) {
                Some(object) => on(kind, object).other(files.newest()),
                None => self.make(),
            },
            OpKind::Copy => match files.any_certain(&mut self.random) {
                Some(object) => on(kind, object).other(files.newest()).range(0, self.plan.bytes_of(object)),
                None => self.make(),
            },
            OpKind::Truncate => match files.any(&mut self.random) {
                Some(object) => {
                    let len = if self.random.bool() { self.plan.bytes_of(object) } else { 0 };
                    on(kind, object).range(0, len)
                }
                None => self.make(),
            },
            OpKind::Append if known => self.append_known(),
            OpKind::Append => self.append(),
            OpKind::WriteFile => self.write_file(),
            // A lane has one file open at most: it opens and closes in turn.
            OpKind::Open | OpKind::Close => match (self.opened, files.any_certain(&mut self.random)) {
                (Some(object), _) => on(OpKind::Close, object),
                (None, Some(object)) => on(OpKind::Open, object),
                (None, None) => self.make(),
            },
            OpKind::BatchDelete => match files.oldest_batch(self.plan.mix.batch_size.into()) {
                Some((first, last)) => on(kind, first).other(last),
                None => self.make(),
            },
            OpKind::Remove | OpKind::Delete => {
                let queue = if symlinks.count() > files.count() { symlinks } else { files };
                match queue.oldest() {
                    // What is to be removed must be created first,
                    None => self.make(),
                    // and closed: a server may forget a removed file with its open, and refuse the close.
                    Some(object) if self.opened.map(content_of) == Some(content_of(object)) => {
                        on(OpKind::Close, self.opened.unwrap_or(object))
                    }
                    Some(object) => Op::new(kind, self.lane, self.named(object)),
                }
            }
            OpKind::Overwrite | OpKind::TruncateOverwrite => self.overwrite_own(kind),
            // Of the data set, unless the load works on its own files.
            _ if kind.needs_data() => self.on_any(kind),
            _ => self.make(),
        }
    }

    fn rename_oldest(&mut self) -> Op {
        if self.plan.knows_own_content {
            return self.rename_in_turn();
        }
        self.notes.own.borrow().files.oldest().map_or_else(|| self.make(), |from| self.rename(from))
    }

    /// A new file or object.
    pub(super) fn make(&self) -> Op {
        let object = self.notes.own.borrow().files.newest();
        let (kind, len) = self.plan.makes(object);
        if kind == OpKind::WriteFile {
            return self.write_file();
        }
        self.at(kind, Place { object, offset: 0, len }, self.plan.mix.generation)
    }

    /// A new file with all its content, which every so often is also committed.
    fn write_file(&self) -> Op {
        let object = self.notes.own.borrow().files.newest();
        let place = Place { object: self.named(object), offset: 0, len: self.plan.bytes_of(object) };
        let generation = match self.plan.knows_own_content {
            true => self.generation_of_new(),
            false => self.generation_of(OpKind::WriteFile),
        };
        Op { durable: self.is_durable(), ..self.at(OpKind::WriteFile, place, generation) }
    }

    /// Writes the next block at the end of the lane's log. A full one is emptied first, so that the load's space is bounded.
    fn append(&mut self) -> Op {
        let Some(Tail { object, end }) = self.log.tail() else { return self.make() };
        let most = self.plan.bytes_of(object);
        if end >= most {
            return Op::new(OpKind::Truncate, self.lane, object);
        }
        let size = if self.plan.sizes.len() == 1 { 0 } else { self.plan.draw_size(&mut self.random) };
        let len = self.plan.sizes[size].bytes.min(most - end);
        self.at(OpKind::Append, Place { object, offset: end, len }, self.generation_of(OpKind::Append))
    }

    /// Gives the oldest file the next number: what exists remains one range.
    fn rename(&self, from: u64) -> Op {
        let to = self.notes.own.borrow().files.newest();
        Op::new(OpKind::Rename, self.lane, from).other(to)
    }

    /// A new symbolic link to a random file of the data set, or to one that does not exist.
    fn symlink(&mut self) -> Op {
        let object = self.notes.own.borrow().symlinks.newest();
        let items = &self.plan.items;
        let target = match items.total() {
            0 => 0,
            total => items.place(self.random.u64(..total)).object,
        };
        Op::new(OpKind::Symlink, self.lane, object).other(target)
    }

    pub(super) fn begin_own(&self, op: &Op) {
        if self.plan.knows_own_content && op.kind == OpKind::Rename {
            return;
        }
        let mut own = self.notes.own.borrow_mut();
        match op.kind {
            OpKind::Rename | OpKind::Link | OpKind::Copy => own.files.begin(),
            _ => own.queue_of(op.object).begin(),
        }
    }

    pub(super) fn finished_own(&mut self, op: &Op, error: Option<ErrorKind>) {
        if error.is_none() {
            self.links = if op.kind == OpKind::Link { self.links + 1 } else { 0 };
        }
        if self.plan.knows_own_content {
            return self.finished_known(op, error);
        }
        self.log.finished(op, error);
        let mut own = self.notes.own.borrow_mut();
        match op.kind {
            OpKind::Rename => own.files.renamed_one(error),
            OpKind::Link | OpKind::Copy => own.files.made_one(error),
            OpKind::BatchDelete => own.files.removed_batch(op.other - op.object + 1, error),
            OpKind::Remove | OpKind::Delete | OpKind::Rmdir => own.queue_of(op.object).removed_one(error),
            _ => own.queue_of(op.object).made_one(error),
        }
    }
}
