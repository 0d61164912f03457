//! The table of a connection's calls: preallocated, indexed by transaction id without searching.
//!
//! A transaction id (XID) has a slot's index in its low bits and the slot's generation in its high bits. A slot gets a
//! new generation for every call, so that a reply to an abandoned call is recognised as late.

use metrics::{ErrorKind, OpKind};
use reactor::Signal;
use wire::nfs3::{FileHandle, Status};

use super::calls::{Expect, Reply};
use super::v41::Assigned;
use crate::Op;

/// Bytes reserved for a call without its payload: header, credential, handle and a name fit.
const MESSAGE_BYTES: usize = 1024;
/// How many generations back an id still counts as a late reply to our call.
const LATE_GENERATIONS: u32 = 4096;

/// A piece of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) object: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
    /// Which of the successive contents is written or expected.
    pub(super) generation: u32,
    /// The operation's range that contains this piece.
    pub(super) block_offset: u64,
    pub(super) block_len: u64,
}

impl Piece {
    /// The operation that the piece belongs to, in the form that payloads take.
    #[inline]
    pub(super) fn op(&self) -> Op {
        let Self { object, generation, block_offset: offset, block_len: len, .. } = *self;
        Op::new(OpKind::Read, 0, object).range(offset, len).generation(generation)
    }

    /// The rest after its first `done` bytes; `None` when nothing is left.
    #[inline]
    pub(super) fn behind(&self, done: u32) -> Option<Self> {
        let left = self.len.checked_sub(done).filter(|left| *left > 0)?;
        Some(Self { offset: self.offset + u64::from(done), len: left, ..*self })
    }

    /// Its offset in the operation's range.
    #[inline]
    pub(super) fn at(&self) -> u64 {
        self.offset - self.block_offset
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Reply(Reply),
    /// The procedure failed.
    Status(Status),
    /// The call failed before the procedure ran.
    Failed(ErrorKind, Box<str>),
}

/// One call.
pub(super) struct Slot {
    pub(super) xid: u32,
    pub(super) waiting: bool,
    /// Record mark, RPC header and arguments; kept for retransmission.
    pub(super) message: Vec<u8>,
    pub(super) expect: Expect,
    pub(super) deadline_ns: u64,
    /// How often it was transmitted.
    pub(super) sends: u32,
    /// Not yet transmitted under its current id.
    pub(super) fresh: bool,
    /// When it was last transmitted.
    pub(super) sent_ns: u64,
    /// It is, or may be, on the wire of the current connection.
    pub(super) on_wire: bool,
    /// How often its connection was lost, and the kind of error to count.
    pub(super) losses: u32,
    pub(super) loss: Option<ErrorKind>,
    pub(super) first_byte_ns: Option<u64>,
    /// The payload of a READ, when it can be verified only as part of its whole block.
    pub(super) gathered: Vec<u8>,
    pub(super) answer: Option<Answer>,
    /// The handle in the reply of a LOOKUP or CREATE.
    pub(super) file: FileHandle,
    pub(super) signal: Signal,
    /// The slot of the session, with version 4.1, from when it is transmitted until its reply arrives.
    pub(super) assigned: Option<Assigned>,
}

/// What a transaction id refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The call in this slot.
    Waiting(u32),
    /// A call that was abandoned, or answered before.
    Late,
    /// Nothing: no such call was ever made.
    Unknown,
}

/// All calls of one connection.
pub(super) struct Table {
    pub(super) slots: Vec<Slot>,
    /// Slots that belong to no lane, for operations that need several calls at once.
    spare: Vec<u32>,
    lanes: u32,
    index_bits: u32,
    /// Calls that wait for a reply.
    waiting: u32,
    /// Waiting READs whose payload is worth discarding in the kernel.
    pub(super) large_reads: u32,
    /// Minimum length of a large READ.
    large_read: u32,
    pub(super) late_replies: u64,
}

impl Table {
    /// A table with one slot per lane and `spare` more. Generations start at random values, so that the server's reply
    /// cache does not return entries of an earlier run from the same port.
    pub(super) fn new(lanes: u32, spare: u32, large_read: u32, mut signal: impl FnMut() -> Signal) -> Self {
        let count = lanes + spare;
        let index_bits = u32::BITS - count.saturating_sub(1).leading_zeros();
        let slots = (0..count)
            .map(|index| Slot {
                xid: (fastrand::u32(..) << index_bits) | index,
                waiting: false,
                message: Vec::with_capacity(MESSAGE_BYTES),
                expect: Expect::Getattr,
                deadline_ns: 0,
                sends: 0,
                fresh: true,
                sent_ns: 0,
                on_wire: false,
                losses: 0,
                loss: None,
                first_byte_ns: None,
                gathered: Vec::new(),
                answer: None,
                file: FileHandle::EMPTY,
                signal: signal(),
                assigned: None,
            })
            .collect();
        Self {
            slots,
            spare: (lanes..count).rev().collect(),
            lanes,
            index_bits,
            waiting: 0,
            large_reads: 0,
            large_read,
            late_replies: 0,
        }
    }

    pub(super) fn take_spare(&mut self) -> Option<u32> {
        self.spare.pop()
    }

    /// Releases a slot: a waiting call is abandoned, and a spare slot becomes free.
    pub(super) fn release(&mut self, index: u32) {
        self.settle(index, None);
        if index >= self.lanes {
            self.spare.push(index);
        }
    }

    /// Turns the slot's message, already written, into a new call.
    pub(super) fn begin(&mut self, index: u32) -> u32 {
        let step = 1u32 << self.index_bits;
        let (large_read, slot) = (self.large_read, &mut self.slots[index as usize]);
        slot.xid = slot.xid.wrapping_add(step);
        slot.message[4..8].copy_from_slice(&slot.xid.to_be_bytes());
        slot.waiting = true;
        slot.fresh = true;
        slot.on_wire = false;
        slot.losses = 0;
        slot.loss = None;
        slot.first_byte_ns = None;
        slot.answer = None;
        slot.signal.clear();
        self.waiting += 1;
        if matches!(slot.expect, Expect::Read(piece) if piece.len >= large_read) {
            self.large_reads += 1;
        }
        slot.xid
    }

    /// Ends a call, with or without its reply; does nothing if it has already ended.
    #[inline]
    pub(super) fn settle(&mut self, index: u32, answer: Option<Answer>) {
        let (large_read, slot) = (self.large_read, &mut self.slots[index as usize]);
        if !slot.waiting {
            return;
        }
        slot.waiting = false;
        self.waiting -= 1;
        if matches!(slot.expect, Expect::Read(piece) if piece.len >= large_read) {
            self.large_reads -= 1;
        }
        if answer.is_some() {
            slot.answer = answer;
            slot.signal.set();
        }
    }

    /// Finds the call with a transaction id.
    #[inline]
    pub(super) fn find(&self, xid: u32) -> Found {
        let index = xid & ((1u32 << self.index_bits) - 1);
        let Some(slot) = self.slots.get(index as usize) else { return Found::Unknown };
        if slot.xid == xid && slot.waiting {
            return Found::Waiting(index);
        }
        let behind = slot.xid.wrapping_sub(xid) >> self.index_bits;
        if behind <= LATE_GENERATIONS { Found::Late } else { Found::Unknown }
    }

    /// The call with exactly this id, if it still waits.
    pub(super) fn current(&mut self, index: u32, xid: u32) -> Option<&mut Slot> {
        let slot = &mut self.slots[index as usize];
        (slot.waiting && slot.xid == xid).then_some(slot)
    }

    /// True while the call with exactly this id waits.
    pub(super) fn is_current(&self, index: u32, xid: u32) -> bool {
        let slot = &self.slots[index as usize];
        slot.waiting && slot.xid == xid
    }

    /// True when no call waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0
    }
}
