//! READ and WRITE of an operation's range, in as many calls as the server's limits require.

use metrics::{CallKind, ErrorKind};
use wire::nfs3::{FileHandle, ReadArgs, Stability, WriteHead};

use super::calls::{Call, Came, Read, Write, Written};
use super::operation::{Fault, Operation};
use super::session::NfsSession;
use super::slots::Piece;
use super::ticket::Ticket;
use crate::Op;

/// Calls in flight for one operation that exceeds the server's limit.
const SPLIT_DEPTH: usize = 16;

/// READ or WRITE: the call that moves a piece.
pub(super) trait Mover: Call {
    /// Missing files are created, where files have names chosen by the user.
    const MAKES_FILES: bool;

    /// Starts the call that moves a piece of a file.
    fn begin<'a>(operation: &Operation<'a>, slot: u32, file: &FileHandle, piece: Piece) -> Ticket<'a, Self>;

    /// Maximum bytes moved by one call.
    fn bytes_max(session: &NfsSession) -> u32;

    /// Checks a call's reply; returns how many bytes it moved.
    fn moved(
        operation: &Operation<'_>,
        piece: Piece,
        reply: Self::Reply,
        ticket: &Ticket<'_, Self>,
    ) -> Result<u32, Fault>;

    /// Verifies a range moved by several calls.
    fn judge(operation: &Operation<'_>) -> Result<(), Fault>;
}

impl<'a> Operation<'a> {
    /// Reads or writes the operation's range, in as many calls as the server's limit requires.
    pub(super) async fn transfer<M: Mover>(&mut self, file: &FileHandle) -> Result<(), Fault> {
        let size = u64::from(M::bytes_max(self.session));
        let len = self.op.len;
        if len <= size {
            let piece = self.piece(0, len);
            let ticket = M::begin(self, self.lane.slot, file, piece);
            let pieces = self.finish(ticket, file, piece).await?;
            return if pieces > 1 { M::judge(self) } else { Ok(()) };
        }
        let mut tickets: [Option<(Ticket<'a, M>, Piece)>; SPLIT_DEPTH] = [const { None }; SPLIT_DEPTH];
        let (mut begun, mut ended) = (0usize, 0usize);
        let mut issued = 0;
        let mut fault = None;
        loop {
            while fault.is_none() && issued < len && begun - ended < SPLIT_DEPTH {
                let spare = self.connection.table.borrow_mut().take_spare();
                let slot = match spare {
                    Some(slot) => slot,
                    // Nothing else uses the lane's own slot, so progress is always possible.
                    None if begun == ended => self.lane.slot,
                    None => break,
                };
                let part = (len - issued).min(size);
                let piece = self.piece(issued, part);
                tickets[begun % SPLIT_DEPTH] = Some((M::begin(self, slot, file, piece), piece));
                begun += 1;
                issued += part;
            }
            if begun == ended {
                return fault.map_or_else(|| M::judge(self), Err);
            }
            // Every started call is waited for, even after a fault: none is left behind.
            let oldest = tickets[ended % SPLIT_DEPTH].take();
            let (ticket, piece) = oldest.expect("begun and not ended");
            ended += 1;
            if let Err(error) = self.finish(ticket, file, piece).await {
                fault.get_or_insert(error);
            }
        }
    }

    /// Waits for a READ or WRITE, and requests the rest in the same slot while replies move less than requested.
    /// Returns the number of calls.
    #[inline]
    async fn finish<M: Mover>(
        &mut self,
        mut ticket: Ticket<'a, M>,
        file: &FileHandle,
        mut piece: Piece,
    ) -> Result<u32, Fault> {
        let mut calls = 1;
        loop {
            let reply = self.settle(&ticket).await?;
            let bytes = M::moved(self, piece, reply, &ticket)?;
            self.done.bytes += u64::from(bytes);
            let Some(rest) = piece.behind(bytes) else { return Ok(calls) };
            self.connection.short_answers.set(self.connection.short_answers.get() + 1);
            piece = rest;
            ticket = M::begin(self, ticket.into_slot(), file, piece);
            calls += 1;
        }
    }

    /// A part of the operation's range.
    #[inline]
    fn piece(&self, from: u64, len: u64) -> Piece {
        let (offset, Op { object, generation, len: block_len, .. }) = (self.offset, *self.op);
        let object = self.session.named.as_ref().map_or(object, |named| named.content_of(object));
        Piece { object, offset: offset + from, len: len as u32, generation, block_offset: offset, block_len }
    }

    /// Verifies a block that arrived by one READ; with several READs, copies the payload to its place in the block.
    fn gather(&self, piece: Piece, ticket: &Ticket<'_, Read>) -> Result<(), Fault> {
        let data = ticket.take_gathered();
        let result = if data.len() as u64 == piece.block_len {
            self.judge_block(&data)
        } else {
            let mut block = self.lane.block.borrow_mut();
            block.resize(piece.block_len as usize, 0);
            let at = piece.at() as usize;
            block[at..at + data.len()].copy_from_slice(&data);
            Ok(())
        };
        ticket.return_gathered(data);
        result
    }

    fn judge_block(&self, data: &[u8]) -> Result<(), Fault> {
        self.connection.settings.payload.verify_op(self.op, 0, data).map_err(|text| {
            self.fault(CallKind::Read, ErrorKind::Corrupt, format!("not what was written: {text}"))
        })
    }
}

impl Mover for Read {
    const MAKES_FILES: bool = false;

    #[inline]
    fn begin<'a>(operation: &Operation<'a>, slot: u32, file: &FileHandle, piece: Piece) -> Ticket<'a, Self> {
        let arguments = ReadArgs { file: *file, offset: piece.offset, count: piece.len };
        operation.begin(slot, Read(piece), &arguments)
    }

    #[inline]
    fn bytes_max(session: &NfsSession) -> u32 {
        session.read_size
    }

    #[inline]
    fn moved(
        operation: &Operation<'_>,
        piece: Piece,
        Came { bytes, eof }: Came,
        ticket: &Ticket<'_, Self>,
    ) -> Result<u32, Fault> {
        debug_assert!(bytes == piece.len || (bytes > 0 && !eof), "checked on arrival");
        if operation.connection.settings.gathers() {
            operation.gather(piece, ticket)?;
        }
        Ok(bytes)
    }

    fn judge(operation: &Operation<'_>) -> Result<(), Fault> {
        if !operation.connection.settings.gathers() {
            return Ok(());
        }
        operation.judge_block(&operation.lane.block.borrow())
    }
}

impl Mover for Write {
    const MAKES_FILES: bool = true;

    #[inline]
    fn begin<'a>(operation: &Operation<'a>, slot: u32, file: &FileHandle, piece: Piece) -> Ticket<'a, Self> {
        let Piece { offset, len, .. } = piece;
        let stable = if operation.session.stable { Stability::FileSync } else { Stability::Unstable };
        let arguments = WriteHead { file: *file, offset, count: len, stable, data_len: len };
        operation.begin(slot, Write(piece), &arguments)
    }

    #[inline]
    fn bytes_max(session: &NfsSession) -> u32 {
        session.write_size
    }

    #[inline]
    fn moved(
        operation: &Operation<'_>,
        piece: Piece,
        Written { bytes, committed, verifier }: Written,
        _: &Ticket<'_, Self>,
    ) -> Result<u32, Fault> {
        // A server may write less than it was given (RFC 1813, 3.3.7), but neither more nor nothing.
        if bytes > piece.len || (bytes == 0 && piece.len > 0) {
            let text = format!("the server wrote {bytes} of {} bytes at offset {}", piece.len, piece.offset);
            return Err(operation.fault(CallKind::Write, ErrorKind::Length, text));
        }
        if committed == Stability::Unstable {
            if operation.session.stable {
                let text = "the server answers UNSTABLE although FILE_SYNC was asked for".into();
                return Err(operation.fault(CallKind::Write, ErrorKind::Protocol, text));
            }
            operation.session.handles.borrow_mut().wrote(operation.op.object, verifier);
        }
        Ok(bytes)
    }

    fn judge(_: &Operation<'_>) -> Result<(), Fault> {
        Ok(())
    }
}
