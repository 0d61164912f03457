//! Writes every byte of a share once.

use std::ops::Range;
use std::rc::Rc;

use drivers::Op;
use metrics::{ErrorKind, OpKind};

use crate::DataShape;
use crate::data_set::{Index, Place};

/// Fills a contiguous run of blocks or objects; failed operations are repeated, so that nothing is left out.
#[derive(Debug)]
pub(crate) struct Filler {
    index: Rc<Index>,
    shape: DataShape,
    lane: u32,
    generation: u32,
    next: u64,
    end: u64,
    /// The first uncommitted block.
    uncommitted: u64,
    /// Next comes the commit of everything before `next`.
    commit: bool,
}

impl Filler {
    pub(super) fn new(
        index: Rc<Index>,
        shape: DataShape,
        lane: u32,
        share: Range<u64>,
        generation: u32,
    ) -> Self {
        let (next, end) = (share.start, share.end);
        Filler { index, shape, lane, generation, next, end, uncommitted: next, commit: false }
    }

    pub(super) fn peek(&self) -> Option<Op> {
        if self.commit {
            let Place { object, .. } = self.index.place(self.uncommitted);
            return Some(self.op(OpKind::Commit, Place { object, offset: 0, len: self.shape.item_bytes() }));
        }
        let kind = match self.shape {
            DataShape::Objects { .. } => OpKind::Put,
            DataShape::Files { .. } | DataShape::Device { .. } => OpKind::Write,
        };
        (self.next < self.end).then(|| self.op(kind, self.index.place(self.next)))
    }

    fn op(&self, kind: OpKind, Place { object, offset, len }: Place) -> Op {
        Op::new(kind, self.lane, object).range(offset, len).generation(self.generation)
    }

    pub(super) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        match (op.kind, error) {
            (OpKind::Commit, None) => {
                self.commit = false;
                self.uncommitted = self.next;
            }
            // Acknowledged data may be lost: the server restarted, or the kernel could not write it back.
            (
                OpKind::Commit,
                Some(ErrorKind::VerifierChanged | ErrorKind::ServerFault | ErrorKind::NoSpace),
            ) => {
                self.commit = false;
                self.next = self.uncommitted;
            }
            (OpKind::Write, None) => {
                self.next += 1;
                self.commit = self.next == self.end || self.index.place(self.next).object != op.object;
            }
            (OpKind::Put, None) => self.next += 1,
            (_, _) => {}
        }
    }
}
