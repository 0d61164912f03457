//! READ and WRITE of an operation's range, in as many calls as the server's limits ask for.

use metrics::ErrorKind;
use wire::nfs3::{FileHandle, Procedure, ReadArgs, Stability, WriteHead};

use super::operation::{Fault, Operation};
use super::slots::{Expect, Piece, Reply};
use super::ticket::Ticket;
use crate::Op;

/// Calls of one operation in flight at once when it is larger than the server's limit.
const SPLIT_DEPTH: usize = 16;

impl<'a> Operation<'a> {
    /// Reads or writes the operation's range, in as many calls as the server's limit asks for.
    pub(super) async fn transfer(&mut self, file: FileHandle, write: bool) -> Result<(), Fault> {
        let size = u64::from(if write { self.session.write_size } else { self.session.read_size });
        let len = self.op.len;
        if len <= size {
            let piece = self.piece(0, len);
            let ticket = self.begin_piece(self.slot, file, piece, write);
            let pieces = self.finish(ticket, file, piece, write).await?;
            return if pieces > 1 { self.judge_gathered(write) } else { Ok(()) };
        }
        let mut tickets: [Option<(Ticket<'a>, Piece)>; SPLIT_DEPTH] = [const { None }; SPLIT_DEPTH];
        let (mut begun, mut ended) = (0usize, 0usize);
        let mut issued = 0;
        let mut fault = None;
        loop {
            while fault.is_none() && issued < len && begun - ended < SPLIT_DEPTH {
                let spare = self.connection.table.borrow_mut().take_spare();
                let slot = match spare {
                    Some(slot) => slot,
                    // Nobody else uses the lane's own slot, so that there is always one way on.
                    None if begun == ended => self.slot,
                    None => break,
                };
                let part = (len - issued).min(size);
                let piece = self.piece(issued, part);
                tickets[begun % SPLIT_DEPTH] = Some((self.begin_piece(slot, file, piece, write), piece));
                begun += 1;
                issued += part;
            }
            if begun == ended {
                return fault.map_or_else(|| self.judge_gathered(write), Err);
            }
            // Every call that was begun is waited for, also after a fault: nothing is left behind.
            let oldest = tickets[ended % SPLIT_DEPTH].take();
            let (ticket, piece) = oldest.expect("begun and not ended");
            ended += 1;
            if let Err(error) = self.finish(ticket, file, piece, write).await {
                fault.get_or_insert(error);
            }
        }
    }

    /// Waits for a READ or WRITE, and asks for the rest for as long as answers move less than was asked for, in the same
    /// slot. Says how many calls it took.
    #[inline]
    async fn finish(
        &mut self,
        mut ticket: Ticket<'a>,
        file: FileHandle,
        mut piece: Piece,
        write: bool,
    ) -> Result<u32, Fault> {
        let procedure = if write { Procedure::Write } else { Procedure::Read };
        let mut calls = 1;
        loop {
            let reply = self.settle(&ticket, procedure).await?;
            let Some(rest) = self.account(piece, reply, &ticket)? else { return Ok(calls) };
            self.connection.short_answers.set(self.connection.short_answers.get() + 1);
            piece = rest;
            ticket = self.begin_piece(ticket.into_slot(), file, piece, write);
            calls += 1;
        }
    }

    /// A part of the operation's range.
    #[inline]
    fn piece(&self, from: u64, len: u64) -> Piece {
        let Op { object, offset, generation, len: block_len, .. } = *self.op;
        Piece { object, offset: offset + from, len: len as u32, generation, block_offset: offset, block_len }
    }

    #[inline]
    fn begin_piece(&self, slot: u32, file: FileHandle, piece: Piece, write: bool) -> Ticket<'a> {
        let Piece { offset, len, .. } = piece;
        if write {
            let stable = if self.session.stable { Stability::FileSync } else { Stability::Unstable };
            let head = WriteHead { file, offset, count: len, stable, data_len: len };
            return self.begin(slot, Procedure::Write, Expect::Write(piece), &head);
        }
        self.begin(slot, Procedure::Read, Expect::Read(piece), &ReadArgs { file, offset, count: len })
    }

    /// Checks and counts what a READ or WRITE brought; returns what is left to be asked for.
    fn account(&mut self, piece: Piece, reply: Reply, ticket: &Ticket<'a>) -> Result<Option<Piece>, Fault> {
        let bytes = match reply {
            Reply::Read { bytes, eof } => {
                debug_assert!(bytes == piece.len || (bytes > 0 && !eof), "checked on arrival");
                if self.connection.settings.gathers() {
                    self.gather(piece, ticket)?;
                }
                bytes
            }
            Reply::Written { bytes, committed, verifier } => {
                // A server may write less than it was given (RFC 1813, 3.3.7), but not more, and not nothing.
                if bytes > piece.len || (bytes == 0 && piece.len > 0) {
                    let text =
                        format!("the server wrote {bytes} of {} bytes at offset {}", piece.len, piece.offset);
                    return Err(self.fault(Procedure::Write, ErrorKind::Length, text));
                }
                if committed == Stability::Unstable {
                    if self.session.stable {
                        let text = "the server answers UNSTABLE although FILE_SYNC was asked for".into();
                        return Err(self.fault(Procedure::Write, ErrorKind::Protocol, text));
                    }
                    self.session.handles.borrow_mut().wrote(self.op.object, verifier);
                }
                bytes
            }
            other => unreachable!("READ or WRITE was answered by {other:?}"),
        };
        self.done.bytes += u64::from(bytes);
        Ok(piece.behind(bytes))
    }

    /// Judges a block that came by one READ; the payload of one of several is put in its place.
    fn gather(&self, piece: Piece, ticket: &Ticket<'a>) -> Result<(), Fault> {
        let data = ticket.take_gathered();
        let result = if data.len() as u64 == piece.block_len {
            self.judge(&data)
        } else {
            let mut block = self.session.lanes[self.op.lane as usize].block.borrow_mut();
            block.resize(piece.block_len as usize, 0);
            let at = piece.at() as usize;
            block[at..at + data.len()].copy_from_slice(&data);
            Ok(())
        };
        ticket.return_gathered(data);
        result
    }

    /// Judges a block that came by several READs.
    fn judge_gathered(&self, write: bool) -> Result<(), Fault> {
        if write || !self.connection.settings.gathers() {
            return Ok(());
        }
        self.judge(&self.session.lanes[self.op.lane as usize].block.borrow())
    }

    fn judge(&self, data: &[u8]) -> Result<(), Fault> {
        self.connection.settings.payload.verify_op(self.op, 0, data).map_err(|text| {
            self.fault(Procedure::Read, ErrorKind::Corrupt, format!("not what was written: {text}"))
        })
    }
}
