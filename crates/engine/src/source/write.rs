//! Writes files or objects of its own.

use std::cell::Cell;

use drivers::Op;
use metrics::{ErrorKind, OpKind};

use crate::DataShape;
use crate::data_set::{Again, Extent};

/// Writes its own files or objects in order, then again from the first: each pass has different content, whose
/// generation is the number of previous passes.
///
/// Failed operations are repeated, so that what counts as written has no gaps.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(super) shape: DataShape,
    pub(super) lane: u32,
    pub(super) items: u64,
    pub(super) repeat: bool,
    pub(super) extent: &'a Cell<Extent>,
    pub(super) at: WriteAt,
}

/// A writer's position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteAt {
    item: u64,
    offset: u64,
    created: bool,
    done: bool,
}

impl Writer<'_> {
    pub(super) fn peek(&self) -> Option<Op> {
        if self.at.done {
            return None;
        }
        let Extent { first, again, .. } = self.extent.get();
        let (object, generation) = (first + self.at.item, again.pass);
        let op = |kind, offset, len| {
            Some(Op::new(kind, self.lane, object).range(offset, len).generation(generation))
        };
        match self.shape {
            DataShape::Objects { object_bytes } => op(OpKind::Put, 0, object_bytes),
            DataShape::Files { .. } if !self.at.created => op(OpKind::Create, 0, 0),
            DataShape::Files { file_bytes, .. } if self.at.offset == file_bytes => {
                op(OpKind::Commit, 0, file_bytes)
            }
            DataShape::Device { .. } => None,
            DataShape::Files { file_bytes, block_bytes } => {
                op(OpKind::Write, self.at.offset, block_bytes.min(file_bytes - self.at.offset))
            }
        }
    }

    /// From here on the target may hold the old or the new content.
    pub(super) fn begin(&self, op: &Op) {
        if op.kind.writes() {
            self.note(|extent, _| {
                extent.again.touched_bytes = extent.again.touched_bytes.max(op.offset + op.len);
            });
        }
    }

    pub(super) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        match (op.kind, error) {
            // The name contains this run's id: if the file exists, an earlier attempt of ours created it.
            (OpKind::Create, None | Some(ErrorKind::AlreadyExists)) => {
                self.at.created = true;
                self.note(|extent, item| extent.existing = extent.existing.max(item + 1));
            }
            (OpKind::Write, None) => {
                self.at.offset += op.len;
                let offset = self.at.offset;
                self.note(|extent, item| {
                    extent.again.acknowledged_bytes = offset;
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

    /// The server may have lost uncommitted data: the file must not be read until it is rewritten, and its content from
    /// an earlier pass is uncertain.
    fn lost(&self) {
        self.note(|extent, item| {
            extent.again.acknowledged_bytes = 0;
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
            self.note(|extent, item| {
                extent.again = Again { pass: extent.again.pass, item, ..Again::default() };
            });
        } else {
            self.at = WriteAt { item: 0, offset: 0, created: true, done: !self.repeat };
            self.note(|extent, _| {
                extent.again = Again { pass: extent.again.pass.wrapping_add(1), ..Again::default() };
            });
        }
    }

    pub(super) fn closing(&self) -> Option<Op> {
        let object = self.extent.get().first + self.at.item;
        let unfinished = matches!(self.shape, DataShape::Files { .. }) && self.at.offset > 0;
        let commit = Op::new(OpKind::Commit, self.lane, object).range(0, self.at.offset);
        unfinished.then_some(commit)
    }

    /// Records how the closing commit ended.
    pub(super) fn closed(&self, error: Option<ErrorKind>) {
        if error == Some(ErrorKind::VerifierChanged) {
            self.lost();
        }
    }
}
