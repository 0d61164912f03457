//! A reply of several parts, among them payloads that are read directly into the buffer.

use wire::nfs4::{Nfs4Status, Operation, Read4Head};
use wire::rpc::{self, LAST_FRAGMENT, ReplyHeader};
use wire::xdr::{Encode, padding};

use super::out::Out;
use crate::files::ReadDone;

/// Bytes of a record's mark.
const MARK_BYTES: usize = 4;
/// Bytes of a successful READ's result before its payload: operation, status, end of file, length.
const READ_HEAD_BYTES: usize = 16;

/// The reply; there must be space for all of it.
pub(super) struct Parts<'a> {
    out: &'a mut Out,
    /// Where it begins in the buffer.
    start: usize,
    /// Where its body begins, behind the RPC header.
    body: usize,
}

impl Out {
    /// Begins a successful reply.
    pub(super) fn parts(&mut self, xid: u32) -> Parts<'_> {
        self.scratch.clear();
        rpc::begin_record(&mut self.scratch);
        ReplyHeader::success(xid).encode(&mut self.scratch);
        Parts { start: self.filled, body: self.scratch.len(), out: self }
    }
}

impl<'a> Parts<'a> {
    /// Where the next bytes go. What is there already is not to be touched.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.out.scratch
    }

    /// Bytes so far, without the record's mark.
    pub(super) fn len(&self) -> usize {
        self.out.filled - self.start + self.out.scratch.len() - MARK_BYTES
    }

    /// Appends the result of a READ of up to `count` bytes; nothing when it fails.
    pub(super) fn read(
        &mut self,
        count: usize,
        read: impl FnOnce(&mut [u8]) -> Result<ReadDone, Nfs4Status>,
    ) -> Result<(), Nfs4Status> {
        let Out { buffer, filled, scratch } = &mut *self.out;
        let at = *filled + scratch.len() + READ_HEAD_BYTES;
        let done = read(&mut buffer[at..at + count])?;
        Operation::Read.encode(scratch);
        Nfs4Status::OK.encode(scratch);
        Read4Head { eof: done.eof, data_len: done.len as u32 }.encode(scratch);
        buffer[*filled..at].copy_from_slice(scratch);
        let more = done.len + padding(done.len);
        buffer[at + done.len..at + more].fill(0);
        *filled = at + more;
        scratch.clear();
        Ok(())
    }

    /// Replaces everything behind the RPC header by an earlier reply's.
    pub(super) fn repeat(&mut self, body: &[u8]) {
        self.out.filled = self.start;
        self.out.scratch.truncate(self.body);
        self.out.scratch.extend_from_slice(body);
    }

    /// Completes the reply, and gives what is behind the RPC header.
    pub(super) fn end(self) -> &'a mut [u8] {
        let Self { out, start, body } = self;
        let Out { buffer, filled, scratch } = out;
        let end = *filled + scratch.len();
        buffer[*filled..end].copy_from_slice(scratch);
        *filled = end;
        let mark = LAST_FRAGMENT | (end - start - MARK_BYTES) as u32;
        buffer[start..start + MARK_BYTES].copy_from_slice(&mark.to_be_bytes());
        &mut buffer[start + body..end]
    }
}
