//! A session's slots (RFC 8881 section 2.10.6.1), shared by the worker's connections.

use std::cell::{Cell, RefCell};

use reactor::Signal;
use wire::nfs4::{SequenceOk, SessionId};

use super::client::Joined;
use super::opens::OpenFile;

/// Maximum slots used.
const SLOTS_MAX: usize = 1024;
const WORDS: usize = SLOTS_MAX / 64;

/// The slot of a call on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Assigned {
    /// Counts sessions: slots of an earlier one mean nothing any more.
    pub(in super::super) epoch: u32,
    pub(in super::super) slot: u32,
    pub(in super::super) sequence: u32,
}

/// The session of a worker, and which of its slots are in use.
pub(in super::super) struct SessionSlots {
    /// The client and its session; absent only while it is being replaced.
    pub(super) joined: RefCell<Option<Joined>>,
    table: RefCell<SlotTable>,
    /// The session cannot be used any more; a connection that reconnects replaces it.
    pub(super) broken: Cell<bool>,
    /// A connection is replacing it.
    pub(super) renewing: Cell<bool>,
    /// A call waits for a slot.
    starved: Cell<bool>,
    /// What wakes the sending tasks.
    senders: RefCell<Vec<Signal>>,
    /// When the last call was sent.
    pub(super) last_sent_ns: Cell<u64>,
}

struct SlotTable {
    session: SessionId,
    epoch: u32,
    /// Next sequence number of each slot that the session has.
    next: Vec<u32>,
    busy: [u64; WORDS],
    /// Slots that the server would like to be used.
    wanted: u32,
    /// Slots of calls that ended without a reply.
    orphans: u32,
}

impl SlotTable {
    fn new(joined: &Joined, epoch: u32) -> Self {
        let granted = (joined.fore.requests_max.max(1) as usize).min(SLOTS_MAX);
        // Slot 0 was used by calls before.
        let mut next = vec![1; granted];
        next[0] = joined.sequence;
        Self { session: joined.session, epoch, next, busy: [0; WORDS], wanted: granted as u32, orphans: 0 }
    }

    /// The lowest free slot.
    #[inline]
    fn lowest(&self) -> Option<u32> {
        let usable = self.next.len().min(self.wanted as usize);
        let free = self.busy.iter().enumerate().find(|(_, word)| **word != u64::MAX);
        let (word, bits) = free?;
        let slot = 64 * word + bits.trailing_ones() as usize;
        (slot < usable).then_some(slot as u32)
    }

    #[inline]
    fn highest(&self) -> u32 {
        let used = self.busy.iter().enumerate().rev().find(|(_, word)| **word != 0);
        used.map_or(0, |(word, bits)| 64 * word as u32 + 63 - bits.leading_zeros())
    }

    fn is_busy(&self, slot: u32) -> bool {
        self.busy[slot as usize / 64] & (1 << (slot % 64)) != 0
    }

    fn free(&mut self, slot: u32) {
        self.busy[slot as usize / 64] &= !(1 << (slot % 64));
    }
}

impl SessionSlots {
    pub(in super::super) fn new(joined: Joined) -> Self {
        Self {
            table: RefCell::new(SlotTable::new(&joined, 0)),
            joined: RefCell::new(Some(joined)),
            broken: Cell::new(false),
            renewing: Cell::new(false),
            starved: Cell::new(false),
            senders: RefCell::default(),
            last_sent_ns: Cell::new(0),
        }
    }

    /// Registers what wakes a connection's sending task.
    pub(in super::super) fn add_sender(&self, signal: Signal) {
        self.senders.borrow_mut().push(signal);
    }

    /// Whether a call with this slot is a retransmission within the current session.
    #[inline]
    pub(in super::super) fn is_current(&self, assigned: Assigned) -> bool {
        assigned.epoch == self.table.borrow().epoch
    }

    /// True while calls must wait until the session is replaced.
    #[inline]
    pub(in super::super) fn must_wait(&self) -> bool {
        let waits = self.broken.get();
        if waits {
            self.starved.set(true);
        }
        waits
    }

    /// Assigns a slot to a call about to be sent, and writes it into SEQUENCE's arguments; `None` when all are in use:
    /// the sending task is woken when one is free.
    #[inline]
    pub(in super::super) fn assign(&self, now_ns: u64, sequence_arguments: &mut [u8]) -> Option<Assigned> {
        let mut table = self.table.borrow_mut();
        let Some(slot) = table.lowest() else {
            self.starved.set(true);
            return None;
        };
        table.busy[slot as usize / 64] |= 1 << (slot % 64);
        let sequence = table.next[slot as usize];
        sequence_arguments[..16].copy_from_slice(&table.session);
        let words = [sequence, slot, table.highest()];
        for (word, place) in words.iter().zip(sequence_arguments[16..28].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        self.last_sent_ns.set(now_ns);
        Some(Assigned { epoch: table.epoch, slot, sequence })
    }

    /// True when every slot belongs to a call that ended without a reply.
    pub(in super::super) fn is_exhausted(&self) -> bool {
        let table = self.table.borrow();
        let busy: u32 = table.busy.iter().map(|word| word.count_ones()).sum();
        busy > 0 && busy == table.orphans && table.lowest().is_none()
    }

    /// Checks SEQUENCE's result against the slot of its call, and frees that; false when they differ.
    #[inline]
    pub(in super::super) fn complete(&self, assigned: Assigned, result: &SequenceOk) -> bool {
        if (result.slot, result.sequence) != (assigned.slot, assigned.sequence) {
            return false;
        }
        let mut table = self.table.borrow_mut();
        if assigned.epoch != table.epoch {
            return true;
        }
        if result.session != table.session {
            return false;
        }
        table.next[assigned.slot as usize] = assigned.sequence.wrapping_add(1);
        table.free(assigned.slot);
        table.wanted = result.target_highest_slot.saturating_add(1);
        drop(table);
        self.wake();
        true
    }

    /// Frees the slot of a call whose SEQUENCE failed or was never executed: its number is used again. One that the server
    /// `executed` without keeping the reply counts as used.
    pub(in super::super) fn release(&self, assigned: Assigned, executed: bool) {
        let mut table = self.table.borrow_mut();
        if assigned.epoch == table.epoch {
            table.next[assigned.slot as usize] = assigned.sequence.wrapping_add(u32::from(executed));
            table.free(assigned.slot);
            drop(table);
            self.wake();
        }
    }

    /// Keeps the slot of a call that ended without a reply.
    pub(in super::super) fn orphan(&self, assigned: Assigned) {
        let mut table = self.table.borrow_mut();
        if assigned.epoch == table.epoch {
            table.orphans += 1;
        }
    }

    /// Frees such a slot, when the reply comes late.
    pub(in super::super) fn late(&self, result: &SequenceOk) {
        let mut table = self.table.borrow_mut();
        let known = table.session == result.session && (result.slot as usize) < table.next.len();
        if !known || table.orphans == 0 || !table.is_busy(result.slot) {
            return;
        }
        if table.next[result.slot as usize] == result.sequence {
            table.next[result.slot as usize] = result.sequence.wrapping_add(1);
            table.free(result.slot);
            table.orphans -= 1;
            drop(table);
            self.wake();
        }
    }

    /// The server refused the session of this call: it must be replaced, unless it already was.
    pub(in super::super) fn refused(&self, assigned: Option<Assigned>) {
        if assigned.is_none_or(|assigned| self.is_current(assigned)) {
            self.broken.set(true);
        }
    }

    /// A connection was lost: replies to calls that ended before cannot come any more, so their slots are unknown.
    pub(in super::super) fn connection_lost(&self) {
        if self.table.borrow().orphans > 0 {
            self.broken.set(true);
        }
    }

    /// Continues with a new session.
    pub(super) fn replace(&self, joined: Joined) {
        let epoch = self.table.borrow().epoch + 1;
        *self.table.borrow_mut() = SlotTable::new(&joined, epoch);
        if let Some(mut old) = self.joined.borrow_mut().replace(joined) {
            old.disarm();
        }
        self.broken.set(false);
        self.wake();
    }

    /// Closes these files and destroys the session and its client, at the end.
    pub(in super::super) fn leave(&self, open: Vec<OpenFile>) {
        self.broken.set(true);
        if let Some(mut joined) = self.joined.borrow_mut().take() {
            joined.leave_open(open);
        }
    }

    pub(super) fn session(&self) -> SessionId {
        self.table.borrow().session
    }

    #[inline]
    fn wake(&self) {
        if self.starved.replace(false) {
            self.senders.borrow().iter().for_each(Signal::set);
        }
    }
}
