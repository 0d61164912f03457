//! The payload of a READ as it arrives: counted, compared, and judged at its end; never kept.

use metrics::ErrorKind;
use wire::xdr::{DecodeError, padding};

use super::calls::{Came, Reply};
use super::incoming::{Garbage, garbage};
use super::reduced::Coming;
use super::slots::{Answer, Piece, Table};
use crate::Payload;

/// The payload of a READ reply as it arrives.
pub(super) struct Flow {
    pub(super) slot: u32,
    pub(super) xid: u32,
    asked: Piece,
    count: u32,
    eof: bool,
    data_len: u32,
    taken: u32,
    padding_left: usize,
    first_byte_ns: u64,
    /// The first difference, in words.
    corrupt: Option<Box<str>>,
    /// The expected payload, if it is verified.
    checked: Option<Payload>,
    /// Set when it can be verified only as part of its whole block: the bytes are kept here until the call completes.
    gathered: Option<Vec<u8>>,
}

impl Flow {
    pub(super) fn new(
        slot: u32,
        xid: u32,
        asked: Piece,
        head: &Coming,
        now_ns: u64,
        checked: Option<Payload>,
        table: &mut Table,
    ) -> Self {
        let gathered = checked.filter(Payload::whole_blocks).map(|_| {
            let mut kept = std::mem::take(&mut table.slots[slot as usize].gathered);
            kept.clear();
            kept
        });
        Self {
            slot,
            xid,
            asked,
            count: head.count,
            eof: head.eof,
            data_len: head.data_len,
            taken: 0,
            padding_left: padding(head.data_len as usize),
            first_byte_ns: now_ns,
            corrupt: None,
            checked,
            gathered,
        }
    }

    /// Payload bytes still to come.
    pub(super) fn due(&self) -> usize {
        (self.data_len - self.taken) as usize
    }

    /// Counts payload bytes that arrived and were discarded unseen.
    pub(super) fn dropped(&mut self, len: usize) {
        self.taken += len as u32;
    }

    /// Processes payload bytes and the padding after them.
    #[inline]
    pub(super) fn take(&mut self, data: &[u8]) -> Result<(), DecodeError> {
        let (payload, rest) = data.split_at(self.due().min(data.len()));
        if let Some(gathered) = &mut self.gathered {
            gathered.extend_from_slice(payload);
        } else if let (Some(expected), None) = (&self.checked, &self.corrupt) {
            let at = self.asked.at() + u64::from(self.taken);
            self.corrupt = expected.verify_op(&self.asked.op(), at, payload).err();
        }
        self.taken += payload.len() as u32;
        if rest.len() > self.padding_left {
            return Err(DecodeError::Trailing(rest.len() - self.padding_left));
        }
        self.padding_left -= rest.len();
        Ok(())
    }

    /// Verifies the payload and completes its call, unless that was abandoned meanwhile.
    pub(super) fn finish(&mut self, table: &mut Table) -> Result<(), Garbage> {
        if self.taken < self.data_len || self.padding_left > 0 {
            let missing = self.due() + self.padding_left;
            let problem = garbage(format_args!("truncated: the record ends {missing} bytes early"));
            return Err(fail(table, self.slot, self.xid, problem));
        }
        let answer = self.judge();
        match table.current(self.slot, self.xid) {
            Some(slot) => {
                slot.first_byte_ns = Some(self.first_byte_ns);
                if let Some(gathered) = self.gathered.take() {
                    slot.gathered = gathered;
                }
                table.settle(self.slot, Some(answer));
            }
            None => table.late_replies += 1,
        }
        Ok(())
    }

    fn judge(&self) -> Answer {
        let wrong = |kind, text: String| Answer::Failed(kind, text.into());
        let Piece { offset, len, .. } = self.asked;
        if self.count != self.data_len {
            return wrong(
                ErrorKind::Length,
                format!("the server says {} bytes and sends {}", self.count, self.data_len),
            );
        }
        if self.count > len {
            return wrong(
                ErrorKind::Length,
                format!("{} bytes came, {len} were asked for at offset {offset}", self.count),
            );
        }
        if let Some(found) = &self.corrupt {
            return wrong(ErrorKind::Corrupt, format!("not what was written: {found}"));
        }
        // Fewer bytes than requested are no error (RFC 1813, 3.3.6): the rest is requested. A reply with none would be
        // repeated forever.
        if self.count < len && (self.eof || self.count == 0) {
            let reason =
                if self.eof { "because the file ends" } else { "although the file does not end there" };
            return wrong(
                ErrorKind::Length,
                format!("{} of {len} bytes came from offset {offset}, {reason}", self.count),
            );
        }
        Answer::Reply(Reply::Read(Came { bytes: self.count, eof: self.eof }))
    }
}

/// Ends the call that a malformed reply belongs to.
pub(super) fn fail(table: &mut Table, slot: u32, xid: u32, problem: Garbage) -> Garbage {
    if table.current(slot, xid).is_some() {
        table.settle(slot, Some(Answer::Failed(ErrorKind::Protocol, problem.0.clone())));
    }
    problem
}
