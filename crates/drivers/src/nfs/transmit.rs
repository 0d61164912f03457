//! What is sent: collects calls into one buffer, and generates the payload of WRITEs there.
//!
//! The buffer is small enough to stay in the core's cache from when it is filled until the kernel copies it.

use super::calls::Expect;
use super::connection::Connection;
use super::slots::Piece;
use super::v41::CompoundWriter;

/// A payload being sent, and the padding after it.
pub(super) struct Filling {
    piece: Piece,
    padding: usize,
}

/// Fills the buffer from the queue; returns the number of bytes to send.
pub(super) fn gather(connection: &Connection, buffer: &mut [u8], filling: &mut Option<Filling>) -> usize {
    let mut table = connection.table.borrow_mut();
    let mut queue = connection.queue.borrow_mut();
    let mut filled = 0;
    let mut now_ns = 0;
    loop {
        if let Some(payload) = filling {
            filled += payload.fill(connection, &mut buffer[filled..]);
            if payload.piece.len > 0 || payload.padding > 0 {
                return filled;
            }
            *filling = None;
        }
        let Some(&(index, xid)) = queue.front() else { return filled };
        let Some(slot) = table.current(index, xid) else {
            // Abandoned before it was sent.
            queue.pop_front();
            continue;
        };
        if let Some(session) = &connection.settings.session {
            if now_ns == 0 {
                now_ns = connection.transport.reactor.now();
            }
            if session.must_wait() {
                return filled;
            }
            // A retransmission keeps its slot, if the session is still the same.
            if !slot.assigned.is_some_and(|assigned| session.is_current(assigned)) {
                let at = CompoundWriter::sequence_at(connection.settings.template.len());
                slot.assigned = session.assign(now_ns, &mut slot.message[at..]);
                if slot.assigned.is_none() {
                    if session.is_exhausted() {
                        connection.transport.shut_down();
                    }
                    return filled;
                }
            }
        }
        let message = &slot.message;
        let Some(place) = buffer.get_mut(filled..filled + message.len()) else { return filled };
        place.copy_from_slice(message);
        filled += message.len();
        if now_ns == 0 {
            now_ns = connection.transport.reactor.now();
        }
        if !std::mem::take(&mut slot.fresh) {
            connection.count_retry();
        }
        slot.sends += 1;
        slot.sent_ns = now_ns;
        slot.on_wire = true;
        if let Expect::Write(piece) = slot.expect {
            *filling = Some(Filling { piece, padding: wire::xdr::padding(piece.len as usize) });
        }
        queue.pop_front();
    }
}

impl Filling {
    /// Generates as much as fits.
    fn fill(&mut self, connection: &Connection, out: &mut [u8]) -> usize {
        let (data, rest) = out.split_at_mut(out.len().min(self.piece.len as usize));
        connection.settings.payload.fill_op(&self.piece.op(), self.piece.at(), data);
        self.piece.offset += data.len() as u64;
        self.piece.len -= data.len() as u32;
        if self.piece.len > 0 {
            return data.len();
        }
        let padding = rest.len().min(self.padding);
        rest[..padding].fill(0);
        self.padding -= padding;
        data.len() + padding
    }
}
