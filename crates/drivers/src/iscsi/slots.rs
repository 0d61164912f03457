//! The table of a connection's commands: preallocated, indexed by task tag without searching.
//!
//! A tag has a slot's index in its low bits and the slot's generation in its high bits. A slot gets a new generation
//! for every command, so that an answer to an abandoned command is recognised as late. Behind the slots' indices are the
//! tags of pings and of the requests to abort what is in each slot.

use metrics::ErrorKind;
use reactor::Signal;
use wire::iscsi::NO_TAG;

use super::command::{Command, Data, Outcome};

/// How many generations back a tag still counts as a late answer to our command.
const LATE_GENERATIONS: u32 = 4096;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// All its bytes were moved.
    Done,
    Failed(Outcome),
}

/// The end of a command.
pub(super) struct Ended {
    pub(super) answer: Answer,
    /// How often it was transmitted.
    pub(super) sends: u32,
    pub(super) first_byte_ns: Option<u64>,
}

/// One command.
pub(super) struct Slot {
    pub(super) tag: u32,
    pub(super) waiting: bool,
    pub(super) command: Command,
    pub(super) deadline_ns: u64,
    /// How often it was transmitted.
    pub(super) sends: u32,
    /// Not yet transmitted under its current tag.
    pub(super) fresh: bool,
    /// When it was last transmitted.
    pub(super) sent_ns: u64,
    /// It is, or may be, on the wire of the current connection, with this number.
    pub(super) on_wire: bool,
    pub(super) cmd_sn: u32,
    /// The target was asked to abort a command of this slot, and has not answered.
    pub(super) aborting: bool,
    /// How often its connection was lost, and the kind of error to count.
    pub(super) losses: u32,
    pub(super) loss: Option<ErrorKind>,
    /// Bytes that came; for a write, bytes that were sent unasked or asked for.
    pub(super) moved: u32,
    /// The next number of Data-In or R2T.
    pub(super) data_sn: u32,
    /// R2Ts that are not replied to yet.
    pub(super) outstanding_r2t: u16,
    pub(super) first_byte_ns: Option<u64>,
    /// The first difference in data that came, in words.
    pub(super) corrupt: Option<Box<str>>,
    /// Data that came, when they can be verified only as part of their whole block.
    pub(super) gathered: Vec<u8>,
    pub(super) answer: Option<Answer>,
    pub(super) signal: Signal,
}

impl Slot {
    /// Forgets what the lost connection moved of it.
    fn rewind(&mut self) {
        self.on_wire = false;
        self.moved = 0;
        self.data_sn = 0;
        self.outstanding_r2t = 0;
        self.corrupt = None;
        self.gathered.clear();
    }
}

/// What a tag refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The command in this slot.
    Waiting(u32),
    /// A command that was abandoned, or answered before.
    Late,
    /// A ping.
    Ping,
    /// A request to abort what was in this slot.
    Abort(u32),
    /// Nothing of ours.
    Unknown,
}

/// All commands of one connection.
pub(super) struct Table {
    pub(super) slots: Vec<Slot>,
    index_bits: u32,
    /// Commands that wait for their end.
    waiting: u32,
    /// Waiting reads whose payload is worth discarding in the kernel.
    pub(super) large_reads: u32,
    large_read: u32,
    pub(super) late_replies: u64,
}

impl Table {
    /// A table with one slot per lane; reads from `large_read` bytes on are large.
    pub(super) fn new(lanes: u32, large_read: u32, mut signal: impl FnMut() -> Signal) -> Self {
        let index_bits = u32::BITS - (2 * lanes).leading_zeros();
        let slots = (0..lanes)
            .map(|index| Slot {
                tag: (fastrand::u32(..) << index_bits) | index,
                waiting: false,
                command: Command::IDLE,
                deadline_ns: 0,
                sends: 0,
                fresh: true,
                sent_ns: 0,
                on_wire: false,
                cmd_sn: 0,
                aborting: false,
                losses: 0,
                loss: None,
                moved: 0,
                data_sn: 0,
                outstanding_r2t: 0,
                first_byte_ns: None,
                corrupt: None,
                gathered: Vec::new(),
                answer: None,
                signal: signal(),
            })
            .collect();
        Self { slots, index_bits, waiting: 0, large_reads: 0, large_read, late_replies: 0 }
    }

    fn lanes(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The tag of pings.
    pub(super) fn ping_tag(&self) -> u32 {
        self.lanes()
    }

    /// The tag of a request to abort what is in a slot.
    pub(super) fn abort_tag(&self, index: u32) -> u32 {
        self.lanes() + 1 + index
    }

    #[inline]
    fn is_large(&self, command: &Command) -> bool {
        matches!(command.data, Data::Read(piece) if piece.len >= self.large_read)
    }

    /// Starts a command in a slot; returns its tag.
    #[inline]
    pub(super) fn begin(&mut self, index: u32, command: Command, deadline_ns: u64) -> u32 {
        self.settle(index, None);
        let large = u32::from(self.is_large(&command));
        let step = 1u32 << self.index_bits;
        let slot = &mut self.slots[index as usize];
        slot.tag = slot.tag.wrapping_add(step);
        if slot.tag == NO_TAG {
            slot.tag = slot.tag.wrapping_add(step);
        }
        slot.command = command;
        slot.deadline_ns = deadline_ns;
        slot.waiting = true;
        slot.fresh = true;
        slot.sends = 0;
        slot.losses = 0;
        slot.loss = None;
        slot.first_byte_ns = None;
        slot.answer = None;
        slot.signal.clear();
        slot.rewind();
        self.waiting += 1;
        self.large_reads += large;
        slot.tag
    }

    /// Ends a command, with or without an answer; does nothing if it has already ended.
    #[inline]
    pub(super) fn settle(&mut self, index: u32, answer: Option<Answer>) {
        let large = u32::from(self.is_large(&self.slots[index as usize].command));
        let slot = &mut self.slots[index as usize];
        if !slot.waiting {
            return;
        }
        slot.waiting = false;
        self.waiting -= 1;
        self.large_reads -= large;
        if answer.is_some() {
            slot.answer = answer;
            slot.signal.set();
        }
    }

    /// Takes the answer of a slot's command, once it has one.
    #[inline]
    pub(super) fn take_ended(&mut self, index: u32) -> Option<Ended> {
        let Slot { answer, sends, first_byte_ns, .. } = &mut self.slots[index as usize];
        answer.take().map(|answer| Ended { answer, sends: *sends, first_byte_ns: *first_byte_ns })
    }

    /// Forgets what a lost connection moved.
    pub(super) fn rewind(&mut self) {
        self.slots.iter_mut().for_each(Slot::rewind);
    }

    /// Finds what has a tag.
    #[inline]
    pub(super) fn find(&self, tag: u32) -> Found {
        let index = tag & ((1u32 << self.index_bits) - 1);
        let Some(slot) = self.slots.get(index as usize) else {
            return match tag {
                _ if tag == self.ping_tag() => Found::Ping,
                _ if tag > self.ping_tag() && tag <= self.abort_tag(self.lanes() - 1) => {
                    Found::Abort(tag - self.abort_tag(0))
                }
                _ => Found::Unknown,
            };
        };
        if slot.tag == tag && slot.waiting {
            return Found::Waiting(index);
        }
        let behind = slot.tag.wrapping_sub(tag) >> self.index_bits;
        if behind <= LATE_GENERATIONS { Found::Late } else { Found::Unknown }
    }

    /// The command with exactly this tag, if it still waits.
    #[inline]
    pub(super) fn current(&mut self, index: u32, tag: u32) -> Option<&mut Slot> {
        let slot = &mut self.slots[index as usize];
        (slot.waiting && slot.tag == tag).then_some(slot)
    }

    /// True while the command with exactly this tag waits.
    pub(super) fn is_current(&self, index: u32, tag: u32) -> bool {
        let slot = &self.slots[index as usize];
        slot.waiting && slot.tag == tag
    }

    /// True when no command waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0
    }
}
