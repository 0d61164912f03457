//! Reads a share once and compares it with what was acknowledged.

use std::ops::Range;
use std::rc::Rc;

use drivers::Op;
use metrics::{ErrorKind, OpKind};

use super::LaneRecord;
use crate::data_set::{Index, Place};
use crate::{CheckedBlocks, ContentSummary, DataShape};

/// Goes through a contiguous run of blocks or objects; a wrong one does not hold up the others.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    index: Rc<Index>,
    written: Rc<ContentSummary>,
    notes: &'a LaneRecord,
    kind: OpKind,
    lane: u32,
    next: u64,
    end: u64,
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        index: Rc<Index>,
        shape: DataShape,
        lane: u32,
        share: Range<u64>,
        written: Rc<ContentSummary>,
        notes: &'a LaneRecord,
    ) -> Self {
        let kind = match shape {
            DataShape::Objects { .. } => OpKind::Get,
            DataShape::Files { .. } | DataShape::Device { .. } => OpKind::Read,
        };
        Checker { index, written, notes, kind, lane, next: share.start, end: share.end }
    }

    pub(super) fn peek(&mut self) -> Option<Op> {
        while self.next < self.end {
            if let Some(generation) = self.written.expected(self.next) {
                let Place { object, offset, len } = self.index.place(self.next);
                return Some(Op::new(self.kind, self.lane, object).range(offset, len).generation(generation));
            }
            self.note(|checked| checked.uncertain += 1);
        }
        None
    }

    pub(super) fn finished(&mut self, error: Option<ErrorKind>) {
        self.note(|checked| match error {
            None => checked.right += 1,
            // Different bytes, fewer bytes, or none at all.
            Some(ErrorKind::Corrupt | ErrorKind::Length | ErrorKind::NotFound) => checked.wrong += 1,
            Some(_) => checked.unread += 1,
        });
    }

    fn note(&mut self, change: impl FnOnce(&mut CheckedBlocks)) {
        self.next += 1;
        let mut checked = self.notes.checked.get();
        change(&mut checked);
        self.notes.checked.set(checked);
    }
}
