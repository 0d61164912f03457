//! The pool of buffers shared by a session's operations.
//!
//! The buffer returned last is taken first: it is still in the CPU cache, which speeds up reads of cached data, the
//! more so the larger they are.

use std::cell::{Cell, RefCell};

use reactor::{Buffer, Reactor};

pub(super) struct Buffers {
    reactor: Reactor,
    register: bool,
    free: RefCell<Vec<Buffer>>,
    /// The longest length requested: new buffers have this length, so that no operation waits for a larger one later.
    longest: Cell<usize>,
}

impl Buffers {
    pub(super) fn new(reactor: &Reactor, register: bool, lanes: usize) -> Self {
        let free = RefCell::new(Vec::with_capacity(lanes));
        Self { reactor: reactor.clone(), register, free, longest: Cell::new(0) }
    }

    /// A buffer of at least this many bytes.
    #[inline]
    pub(super) fn take(&self, len: usize) -> Buffer {
        match self.free.borrow_mut().pop() {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => self.make(len),
        }
    }

    #[cold]
    fn make(&self, len: usize) -> Buffer {
        self.longest.set(self.longest.get().max(len).next_multiple_of(4096));
        let len = self.longest.get();
        if self.register { self.reactor.registered_buffer(len) } else { self.reactor.buffer(len) }
    }

    /// Returns it to the pool.
    #[inline]
    pub(super) fn put(&self, buffer: Buffer) {
        let mut free = self.free.borrow_mut();
        if free.len() < free.capacity() {
            free.push(buffer);
        }
    }
}
