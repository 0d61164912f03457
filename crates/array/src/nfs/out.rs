//! Outgoing replies, encoded into one reused buffer, several per send.

use reactor::Buffer;
use wire::nfs3::{NfsFailure, ProcedureResult, ReadHead, Status};
use wire::rpc::{self, AcceptStatus, ReplyHeader};
use wire::xdr::{Encode, padding};

use crate::files::ReadDone;

/// Bytes of a successful READ's reply before its payload: record mark 4, reply header 24, status 4,
/// attributes 4 + 84, count 4, eof 4, length 4 (RFC 5531 section 9, RFC 1813 section 3.3.6).
pub(super) const READ_HEAD_BYTES: usize = 132;

/// A buffer that collects replies.
pub(super) struct Out {
    pub(super) buffer: Buffer,
    pub(super) filled: usize,
    pub(super) scratch: Vec<u8>,
}

/// Initial buffer size; replaced by a larger one when a reply needs it.
const SMALL_BYTES: usize = 128 << 10;

impl Out {
    pub(super) fn new() -> Self {
        Self { buffer: Buffer::new(SMALL_BYTES), filled: 0, scratch: Vec::with_capacity(1024) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Makes room for `needed` bytes, if possible without sending first.
    pub(super) fn make_room(&mut self, needed: usize) -> bool {
        if self.buffer.len() - self.filled >= needed {
            return true;
        }
        if self.filled > 0 {
            return false;
        }
        self.buffer = Buffer::new(needed.next_multiple_of(SMALL_BYTES));
        true
    }

    /// Takes the filled buffer for sending, and continues with another.
    pub(super) fn swap(&mut self, other: Option<Buffer>) -> (Buffer, usize) {
        let next = other.unwrap_or_else(|| Buffer::new(SMALL_BYTES));
        (std::mem::replace(&mut self.buffer, next), std::mem::take(&mut self.filled))
    }

    /// Appends a reply whose results `put` writes.
    pub(super) fn reply(&mut self, xid: u32, put: impl FnOnce(&mut Vec<u8>)) {
        self.record(|bytes| {
            ReplyHeader::success(xid).encode(bytes);
            put(bytes);
        });
    }

    /// Appends the result of an NFS procedure. A failure has no attributes.
    pub(super) fn outcome<T: Encode, F: Encode + Default>(&mut self, xid: u32, result: Result<T, Status>) {
        let outcome: ProcedureResult<T, F> =
            result.map_err(|status| NfsFailure { status, detail: F::default() });
        self.reply(xid, |bytes| outcome.encode(bytes));
    }

    /// Appends the reply to a call that was not executed.
    pub(super) fn refuse(&mut self, xid: u32, status: AcceptStatus) {
        self.header(&ReplyHeader::accepted(xid, status));
    }

    /// Appends a reply that consists of a header only.
    pub(super) fn header(&mut self, header: &ReplyHeader<'_>) {
        self.record(|bytes| header.encode(bytes));
    }

    /// Appends the reply to a READ; `read` writes the payload directly in place.
    pub(super) fn read(
        &mut self,
        xid: u32,
        count: usize,
        read: impl FnOnce(&mut [u8]) -> Result<ReadDone, Status>,
    ) {
        let start = self.filled + READ_HEAD_BYTES;
        match read(&mut self.buffer[start..start + count]) {
            Err(status) => self.outcome::<(), Option<wire::nfs3::Attributes>>(xid, Err(status)),
            Ok(done) => {
                let more = done.len + padding(done.len);
                self.scratch.clear();
                let at = rpc::begin_record(&mut self.scratch);
                ReplyHeader::success(xid).encode(&mut self.scratch);
                Status::OK.0.encode(&mut self.scratch);
                let len = done.len as u32;
                let head =
                    ReadHead { attributes: Some(done.attributes), count: len, eof: done.eof, data_len: len };
                head.encode(&mut self.scratch);
                rpc::end_record(&mut self.scratch, at, more);
                assert_eq!(self.scratch.len(), READ_HEAD_BYTES, "the payload was put in its place");
                self.buffer[self.filled..start].copy_from_slice(&self.scratch);
                self.buffer[start + done.len..start + more].fill(0);
                self.filled = start + more;
            }
        }
    }

    /// Appends an already encoded reply.
    pub(super) fn append(&mut self, reply: &[u8]) {
        self.buffer[self.filled..self.filled + reply.len()].copy_from_slice(reply);
        self.filled += reply.len();
    }

    /// Removes and returns what was appended since `mark`.
    pub(super) fn take_from(&mut self, mark: usize) -> Box<[u8]> {
        let taken = self.buffer[mark..self.filled].into();
        self.filled = mark;
        taken
    }

    /// Truncates what was appended since `mark` to its first half.
    pub(super) fn halve_from(&mut self, mark: usize) {
        self.filled = mark + (self.filled - mark) / 2;
    }

    /// The position where the next reply starts.
    pub(super) fn mark(&self) -> usize {
        self.filled
    }

    fn record(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        let at = rpc::begin_record(&mut self.scratch);
        put(&mut self.scratch);
        rpc::end_record(&mut self.scratch, at, 0);
        let end = self.filled + self.scratch.len();
        self.buffer[self.filled..end].copy_from_slice(&self.scratch);
        self.filled = end;
    }
}
