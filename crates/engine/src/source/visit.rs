//! Goes through existing data: reads, queries, creates or removes.

use std::ops::Range;
use std::rc::Rc;

use drivers::Op;
use drivers::numbers::is_directory;
use metrics::OpKind;

use crate::data_set::{Index, Place};

/// Goes through the blocks, files or objects of a data set.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(super) index: Rc<Index>,
    pub(super) next: u64,
    pub(super) left: u64,
    pub(super) kind: OpKind,
    pub(super) lane: u32,
    /// Draws from this range instead of going in order.
    pub(super) random: Option<(fastrand::Rng, Range<u64>)>,
}

impl Visitor {
    pub(super) fn peek(&mut self) -> Option<Op> {
        if self.left == 0 {
            return None;
        }
        if let Some((random, range)) = &mut self.random {
            self.next = random.u64(range.clone());
        }
        let (Place { object, offset, len }, held) = self.index.held(self.next);
        let generation = held.unwrap_or(Op::UNCHECKED);
        let kind = match self.kind {
            OpKind::Remove if is_directory(object) => OpKind::Rmdir,
            kind => kind,
        };
        Some(Op::new(kind, self.lane, object).range(offset, len).generation(generation))
    }

    /// Continues even after an error: an unreadable block must not hold up the others.
    pub(super) fn finished(&mut self) {
        self.left -= u64::from(self.left != u64::MAX);
        self.next = if self.next + 1 == self.index.total() { 0 } else { self.next + 1 };
    }
}
