//! Slots: the state of each operation in progress in the kernel, found by index.

use std::any::Any;
use std::os::fd::{FromRawFd, OwnedFd};
use std::rc::Rc;

use crate::Buffer;
use crate::file::OpenFile;
use crate::stream::Socket;

/// What must stay alive until the kernel has finished an operation.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) buffer: Option<Buffer>,
    /// Held but not read: keeps the descriptor from being closed and reused.
    pub(crate) socket: Option<Rc<Socket>>,
    pub(crate) file: Option<Rc<OpenFile>>,
    #[expect(dead_code, reason = "as the socket")]
    pub(crate) directory: Option<Rc<OwnedFd>>,
    /// Whether there is more than a buffer and a socket or file.
    pub(crate) rare: bool,
    /// A result that arrived before the kernel released the buffer.
    pub(crate) early_result: Option<i32>,
    /// The result is a new descriptor, to be closed if nobody waits for it any more.
    pub(crate) makes_descriptor: bool,
    /// Addresses and the like, for the few operations that need them.
    pub(crate) other: Option<Box<dyn Any>>,
}

enum State {
    Free {
        next: u32,
    },
    /// In progress in the kernel; this task waits.
    Pending {
        task: u32,
    },
    /// Nobody waits any more; what it holds is dropped when the kernel has finished.
    Abandoned,
    Done {
        result: i32,
    },
}

struct Slot {
    state: State,
    held: Held,
}

const END: u32 = u32::MAX;

/// All operations of a reactor. Memory use follows the maximum number ever in flight at once.
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: u32,
    in_flight: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Slots { slots: Vec::with_capacity(1024), free: END, in_flight: 0 }
    }
}

impl Slots {
    /// Operations that the kernel has not finished.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(crate) fn insert(&mut self, task: u32, held: Held) -> u32 {
        let index = self.reserve(task);
        *self.held(index) = held;
        index
    }

    /// Reserves an empty slot: its contents are then written in place instead of being moved twice.
    #[inline]
    pub(crate) fn reserve(&mut self, task: u32) -> u32 {
        self.in_flight += 1;
        if self.free == END {
            self.slots.push(Slot { state: State::Pending { task }, held: Held::default() });
            return (self.slots.len() - 1) as u32;
        }
        let index = self.free;
        let slot = &mut self.slots[index as usize];
        if let State::Free { next } = slot.state {
            self.free = next;
        }
        slot.state = State::Pending { task };
        index
    }

    /// What an operation holds, for passing addresses to the kernel.
    pub(crate) fn held(&mut self, index: u32) -> &mut Held {
        &mut self.slots[index as usize].held
    }

    /// Marks an operation as finished by the kernel; returns the task that waits for it, if any.
    pub(crate) fn complete(&mut self, index: u32, result: i32) -> Option<u32> {
        self.in_flight -= 1;
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Pending { task } => {
                slot.state = State::Done { result };
                Some(task)
            }
            State::Abandoned => {
                if self.release(index).makes_descriptor && result >= 0 {
                    // SAFETY: the kernel has just created this descriptor, and nobody else knows it.
                    drop(unsafe { OwnedFd::from_raw_fd(result) });
                }
                None
            }
            State::Free { .. } | State::Done { .. } => unreachable!("an operation completes once"),
        }
    }

    /// What an operation that is done held besides its buffer.
    pub(crate) fn take_other_if_done(&mut self, index: u32) -> Option<Box<dyn Any>> {
        let slot = &mut self.slots[index as usize];
        matches!(slot.state, State::Done { .. }).then(|| slot.held.other.take())?
    }

    /// The result and the buffer, if the operation is done; otherwise records the waiter.
    pub(crate) fn take_if_done(&mut self, index: u32, waiter: u32) -> Option<(i32, Option<Buffer>)> {
        match &mut self.slots[index as usize].state {
            State::Done { result } => {
                let result = *result;
                Some((result, self.release_buffer(index)))
            }
            State::Pending { task } => {
                *task = waiter;
                None
            }
            State::Free { .. } | State::Abandoned => unreachable!("only the one that waits asks"),
        }
    }

    /// Marks an operation as no longer awaited. Returns true if it is still in progress in the kernel.
    pub(crate) fn abandon(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Pending { .. } => {
                slot.state = State::Abandoned;
                true
            }
            State::Done { result } => {
                if self.release(index).makes_descriptor && result >= 0 {
                    // SAFETY: as above.
                    drop(unsafe { OwnedFd::from_raw_fd(result) });
                }
                false
            }
            State::Free { .. } | State::Abandoned => unreachable!("only the one that waits gives up"),
        }
    }

    /// Empties a slot field by field: most hold only a buffer and its file or socket.
    #[inline]
    fn release_buffer(&mut self, index: u32) -> Option<Buffer> {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Free { next: self.free };
        self.free = index;
        let held = &mut slot.held;
        held.file = None;
        held.socket = None;
        if held.rare {
            let buffer = held.buffer.take();
            *held = Held::default();
            return buffer;
        }
        held.buffer.take()
    }

    fn release(&mut self, index: u32) -> Held {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Free { next: self.free };
        self.free = index;
        std::mem::take(&mut slot.held)
    }
}
