//! A call in progress, as held by the operation that made it.

use std::marker::PhantomData;

use super::calls::{Call, Reply};
use super::connection::Connection;
use super::slots::Answer;

/// A started call. Dropping it abandons the call.
pub(super) struct Ticket<'a, C> {
    connection: &'a Connection,
    slot: u32,
    call: PhantomData<C>,
}

/// The outcome of a call.
pub(super) struct Ended {
    pub(super) answer: Answer,
    /// How often it was transmitted.
    pub(super) sends: u32,
    pub(super) first_byte_ns: Option<u64>,
    /// From its last transmission to the last arrival of data before this was seen.
    pub(super) latency_ns: u64,
}

impl<'a, C> Ticket<'a, C> {
    /// The call started in a slot.
    pub(super) fn new(connection: &'a Connection, slot: u32) -> Self {
        Self { connection, slot, call: PhantomData }
    }

    /// Waits for the call's end.
    pub(super) async fn ended(&self) -> Ended {
        let signal = self.connection.table.borrow().slots[self.slot as usize].signal.clone();
        loop {
            if let Some(ended) = self.take() {
                return ended;
            }
            signal.wait().await;
        }
    }

    #[inline]
    fn take(&self) -> Option<Ended> {
        let slot = &mut self.connection.table.borrow_mut().slots[self.slot as usize];
        let answer = slot.answer.take()?;
        let latency_ns = self.connection.transport.last_received_ns.get().saturating_sub(slot.sent_ns);
        Some(Ended { answer, sends: slot.sends, first_byte_ns: slot.first_byte_ns, latency_ns })
    }

    /// Extracts the call's own reply from any.
    #[inline]
    pub(super) fn reply(&self, any: Reply) -> Option<C::Reply>
    where
        C: Call,
    {
        C::reply(any, &self.connection.table.borrow().slots[self.slot as usize].file)
    }

    /// The collected payload of a READ; [`Ticket::return_gathered`] returns the buffer for reuse.
    pub(super) fn take_gathered(&self) -> Vec<u8> {
        std::mem::take(&mut self.connection.table.borrow_mut().slots[self.slot as usize].gathered)
    }

    /// Returns the buffer of a collected payload.
    pub(super) fn return_gathered(&self, data: Vec<u8>) {
        self.connection.table.borrow_mut().slots[self.slot as usize].gathered = data;
    }

    /// Keeps the slot for another call, now that this one has ended.
    pub(super) fn into_slot(self) -> u32 {
        let slot = self.slot;
        std::mem::forget(self);
        slot
    }

    /// Repeats the call under a new transaction id.
    pub(super) fn again(&self) {
        let mut table = self.connection.table.borrow_mut();
        debug_assert!(table.slots[self.slot as usize].assigned.is_none(), "its reply has freed it");
        let xid = table.begin(self.slot);
        self.connection.enqueue(&table, self.slot, xid);
        self.connection.count_retry();
    }
}

impl<C> Drop for Ticket<'_, C> {
    #[inline]
    fn drop(&mut self) {
        self.connection.table.borrow_mut().release(self.slot);
    }
}
