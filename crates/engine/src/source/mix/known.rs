//! Operations on files and objects that the lane itself created, whose content is known: each was written as a whole, or is the
//! one that the lane appends to.

use drivers::numbers::{RENAMED, content_of, is_directory, is_symlink};
use drivers::{Op, OpError};
use metrics::{ErrorKind, OpKind};

use super::Mixer;
use super::log::Tail;
use crate::data_set::Place;
use crate::source::Churn;

/// Draws of a file whose size is known before the lane creates one instead.
const TRIES: u32 = 8;

impl Mixer<'_> {
    /// The number of something with the name that it has now.
    pub(super) fn named(&self, object: u64) -> u64 {
        let is_file = Churn::made(object) && !is_symlink(object) && !is_directory(object);
        if self.plan.knows_own_content && is_file { self.notes.own.borrow().named(object) } else { object }
    }

    /// The generation of what one of the lane's files holds.
    fn generation_of_own(&self, file: u64) -> u32 {
        self.plan.mix.generation.wrapping_add(self.notes.own.borrow().overwrites_of(file)) & 0xFFFF
    }

    /// The generation of a new file's content.
    pub(super) fn generation_of_new(&self) -> u32 {
        self.generation_of_own(self.notes.own.borrow().files.newest())
    }

    /// An operation on the whole of a random file or object.
    pub(super) fn on_any(&mut self, kind: OpKind) -> Op {
        let own = *self.notes.own.borrow();
        if !self.plan.knows_own_content {
            return match own.files.any_certain(&mut self.random) {
                Some(object) => Op::new(kind, self.lane, object).range(0, self.plan.bytes_of(object)),
                None => self.make(),
            };
        }
        for _ in 0..TRIES {
            let Some(file) = own.any_certain(&mut self.random) else { break };
            if let Some(len) = self.log.size_of(file, self.plan.bytes_of(file)) {
                let place = Place { object: self.named(file), offset: 0, len };
                return self.at(kind, place, self.generation_of_own(file));
            }
        }
        self.make()
    }

    /// Overwrites the file whose turn it is.
    pub(super) fn overwrite_own(&mut self, kind: OpKind) -> Op {
        let next = self.notes.own.borrow_mut().next_to_overwrite();
        let Some(file) = next else { return self.make() };
        let place = Place { object: self.named(file), offset: 0, len: self.plan.bytes_of(file) };
        let generation = self.generation_of_own(file).wrapping_add(1) & 0xFFFF;
        Op { durable: self.is_durable(), ..self.at(kind, place, generation) }
    }

    /// Renames the file whose turn it is to its other name: every file has two.
    pub(super) fn rename_in_turn(&mut self) -> Op {
        let files = self.notes.own.borrow().files;
        if files.is_leaving()
            && let Some(file) = files.oldest()
        {
            // Whether it is still there is not known.
            return Op::new(OpKind::Remove, self.lane, self.named(file));
        }
        let next = self.notes.own.borrow_mut().next_to_rename();
        let Some(file) = next else { return self.make() };
        let from = self.named(file);
        Op::new(OpKind::Rename, self.lane, from).other(from ^ RENAMED)
    }

    /// Writes the next block at the end of the lane's log; a full one stays, and the next begins.
    pub(super) fn append_known(&mut self) -> Op {
        if self.log.tail().is_some_and(|tail| tail.end >= self.plan.bytes_of(tail.object)) {
            self.log.complete();
        }
        let Some(Tail { object, end }) = self.log.tail() else {
            let object = self.named(self.notes.own.borrow().files.newest());
            return Op::new(OpKind::Create, self.lane, object);
        };
        let size = if self.plan.sizes.len() == 1 { 0 } else { self.plan.draw_size(&mut self.random) };
        let len = self.plan.sizes[size].bytes.min(self.plan.bytes_of(object) - end);
        let place = Place { object: self.named(object), offset: end, len };
        self.at(OpKind::Append, place, self.generation_of_own(object))
    }

    /// An operation on one of the lane's files or objects has ended.
    pub(super) fn finished_known(&mut self, op: &Op, error: Option<ErrorKind>) {
        let file = op.content();
        let mut own = self.notes.own.borrow_mut();
        match op.kind {
            OpKind::Rename => own.renamed_in_turn(file, error),
            OpKind::Overwrite | OpKind::TruncateOverwrite => {
                match error {
                    None => own.contents.changed(),
                    Some(_) => own.contents.doubted(),
                }
                if self.log.tail().is_some_and(|tail| tail.object == file) {
                    self.log.complete();
                }
            }
            OpKind::BatchDelete => own.files.removed_batch(op.other - op.object + 1, error),
            OpKind::Remove | OpKind::Delete | OpKind::Rmdir => own.queue_of(op.object).removed_one(error),
            OpKind::Append => {
                if matches!(error, Some(ErrorKind::NotFound | ErrorKind::Stale)) {
                    own.doubt_content(file);
                }
            }
            _ => {
                own.queue_of(op.object).made_one(error);
                if error == Some(ErrorKind::AlreadyExists) {
                    own.doubt_content(file);
                }
            }
        }
        drop(own);
        if op.kind != OpKind::Rename {
            self.log.finished(&Op { object: file, ..*op }, error);
        }
    }

    /// Under verification, "not found" for a file that must exist means that the server lost it, and fewer bytes than it must
    /// have that the server lost data or returned old data.
    #[cold]
    pub(in crate::source) fn judge(&self, op: &Op, error: &mut OpError) {
        if !(self.plan.mix.verify && self.plan.mix.on_own && self.must_exist(op)) {
            return;
        }
        let finding = match error.kind {
            ErrorKind::NotFound | ErrorKind::Stale => {
                "lost: the server had acknowledged that it exists under this name, and nobody removed it"
            }
            ErrorKind::Length if op.kind.reads() => "lost writes or a stale read: it is longer",
            _ => return,
        };
        *error = OpError {
            kind: ErrorKind::Corrupt,
            detail: format!("{}: {finding}", error.detail).into(),
            ..error.clone()
        };
    }

    /// Whether the operation is on a file or object that must exist.
    fn must_exist(&self, op: &Op) -> bool {
        let makes = matches!(
            op.kind,
            OpKind::Create
                | OpKind::WriteFile
                | OpKind::Put
                | OpKind::Mkdir
                | OpKind::Symlink
                | OpKind::Close
                | OpKind::List
                | OpKind::Readdir
                | OpKind::ListPrefixes
                | OpKind::BatchDelete
        );
        let is_file = Churn::made(op.object) && !is_symlink(op.object) && !is_directory(op.object);
        let own = self.notes.own.borrow();
        !makes && is_file && !own.files.is_moving() && own.is_there(content_of(op.object))
    }
}
