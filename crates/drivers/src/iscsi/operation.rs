//! The operations, each as one command or, where the unit's limits require it, several.

use metrics::{ErrorKind, OpKind};
use wire::iscsi::ScsiRequest;

use super::command::{Command, Data, Outcome, Piece};
use super::connection::Connection;
use super::errors::{explain, is_attention, is_busy, is_unsupported};
use super::session::IscsiSession;
use super::slots::Answer;
use crate::deadlines::Running;
use crate::later::Later;
use crate::{Done, Op, OpError};

/// Bytes of a command for a unit that reports no limit, and the most for any other.
const COMMAND_MAX: u64 = 16 << 20;
/// How often a command is repeated at once because of a unit attention, which reports only what has happened before it.
const ATTENTIONS_MAX: u32 = 8;

/// Why an operation failed.
struct Fault {
    kind: ErrorKind,
    text: String,
    /// The command that failed, if any was sent.
    request: Option<&'static str>,
    /// The unit does not have that command.
    unsupported: bool,
}

impl Fault {
    #[cold]
    fn before(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), request: None, unsupported: false }
    }
}

/// An operation in progress.
pub(super) struct Operation<'a> {
    session: &'a IscsiSession,
    op: &'a Op,
    connection: &'a Connection,
    slot: u32,
    /// The operation's deadline.
    running: Running<'a>,
    done: Done,
}

/// The most of one command, within what the unit takes; 0: it does not say.
#[inline]
fn limited(most: u64, unit: u64) -> u64 {
    if unit == 0 { most } else { most.min(unit) }
}

impl<'a> Operation<'a> {
    #[inline]
    pub(super) fn new(session: &'a IscsiSession, op: &'a Op) -> Self {
        let (connection, slot) = session.place_of(op.lane);
        let running = session.deadlines.begin(op.lane);
        Self { session, op, connection, slot, running, done: Done::default() }
    }

    /// Runs it to its end.
    #[inline]
    pub(super) async fn run(mut self) -> Result<Done, OpError> {
        let result = match self.op.kind {
            OpKind::Read => self.read().await,
            OpKind::Write | OpKind::Append => self.write().await,
            OpKind::Trim => self.unmap().await,
            OpKind::WriteZeroes => self.write_zeroes().await,
            OpKind::Commit => self.synchronize().await,
            OpKind::Stat => self.command(ScsiRequest::TestUnitReady, Data::None).await,
            other => {
                let text = format!("a logical unit has no operation \"{other}\"");
                Err(Fault::before(ErrorKind::Rejected, text))
            }
        };
        match result {
            Ok(()) => Ok(self.done),
            Err(fault) => Err(self.error(fault)),
        }
    }

    #[cold]
    fn error(&self, Fault { kind, text, request, .. }: Fault) -> OpError {
        let name = request.map_or_else(|| self.op.kind.to_string(), str::to_owned);
        let detail = format!("{name}{}, {}: {text}", self.op.range_words(), self.session.label);
        OpError { retries: self.done.retries, rpcs: self.done.rpcs, ..OpError::new(kind, detail) }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        self.check_range()?;
        let (unit, gathers) = (&self.session.unit, self.connection.settings.gathers());
        let piece_bytes = self.bytes_max(unit.limits.transfer_blocks);
        let mut at = 0;
        while at < self.op.len {
            let piece = self.piece(at, piece_bytes);
            let (block, blocks) = self.blocks(piece);
            self.command(ScsiRequest::Read { block, blocks }, Data::Read(piece)).await?;
            self.done.bytes += u64::from(piece.len);
            if gathers {
                self.gather(piece)?;
            }
            at += u64::from(piece.len);
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<(), Fault> {
        self.check_writable()?;
        self.check_range()?;
        let durable = self.session.stable;
        let piece_bytes = self.bytes_max(self.session.unit.limits.transfer_blocks);
        let mut at = 0;
        while at < self.op.len {
            let piece = self.piece(at, piece_bytes);
            let (block, blocks) = self.blocks(piece);
            self.command(ScsiRequest::Write { block, blocks, durable }, Data::Write(piece)).await?;
            self.done.bytes += u64::from(piece.len);
            at += u64::from(piece.len);
        }
        Ok(())
    }

    async fn unmap(&mut self) -> Result<(), Fault> {
        self.check_writable()?;
        self.check_range()?;
        let unit = &self.session.unit;
        if !unit.capacity.unmaps {
            return Err(Fault::before(ErrorKind::Rejected, "the unit cannot unmap blocks (LBPME is 0)"));
        }
        let (mut block, end) = self.all_blocks();
        let most = limited(u32::MAX.into(), unit.limits.unmap_blocks.into());
        while block < end {
            let blocks = (end - block).min(most) as u32;
            let data = Data::Parameters(ScsiRequest::unmap_range(block, blocks));
            let request = ScsiRequest::Unmap { bytes: ScsiRequest::UNMAP_BYTES as u16 };
            self.command(request, data).await?;
            block += u64::from(blocks);
        }
        Ok(())
    }

    async fn write_zeroes(&mut self) -> Result<(), Fault> {
        self.check_writable()?;
        self.check_range()?;
        let limits = self.session.unit.limits;
        let zeroes = Data::Zeroes(self.session.unit.capacity.block_bytes);
        let (mut block, end) = self.all_blocks();
        let ten_reaches = end <= 1 << 32;
        while block < end {
            let ten = ten_reaches && self.session.same_by_ten.get();
            let most = if ten { ScsiRequest::TEN_BLOCKS } else { u32::MAX };
            let blocks = (end - block).min(limited(most.into(), limits.write_same_blocks));
            let request = ScsiRequest::WriteSame { block, blocks: blocks as u32, unmap: false, ten };
            match self.command(request, zeroes).await {
                Ok(()) => block += blocks,
                // Old units have the 10-byte command only.
                Err(fault) if fault.unsupported && !ten && ten_reaches => {
                    self.session.same_by_ten.set(true);
                    self.done.retries += 1;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    async fn synchronize(&mut self) -> Result<(), Fault> {
        // All of the unit.
        self.command(ScsiRequest::SynchronizeCache { block: 0, blocks: 0 }, Data::None).await
    }

    /// Where the operation begins on the unit, in bytes; far behind its end when no unit is so large.
    #[inline]
    fn start(&self) -> u64 {
        self.op.object.saturating_mul(self.session.slice_bytes).saturating_add(self.op.offset)
    }

    #[inline]
    fn check_range(&self) -> Result<(), Fault> {
        let capacity = &self.session.unit.capacity;
        let (block, bytes) = (u64::from(capacity.block_bytes), capacity.bytes());
        let (start, len) = (self.start(), self.op.len);
        if start % block != 0 || len % block != 0 {
            let text = format!("the unit has blocks of {block} bytes: use multiples of that");
            return Err(Fault::before(ErrorKind::Rejected, text));
        }
        if start.checked_add(len).is_none_or(|end| end > bytes) {
            return Err(Fault::before(ErrorKind::Length, format!("the unit ends at {bytes}")));
        }
        Ok(())
    }

    #[inline]
    fn check_writable(&self) -> Result<(), Fault> {
        if self.session.writable {
            return Ok(());
        }
        let text = "nothing is written before the unit was checked for what it holds: this is a fault of manometer's";
        Err(Fault::before(ErrorKind::Local, text))
    }

    /// The most bytes of a command, when the unit takes this many blocks; 0: it does not say.
    #[inline]
    fn bytes_max(&self, blocks: u32) -> u64 {
        let block = u64::from(self.session.unit.capacity.block_bytes);
        let own = (COMMAND_MAX / block).max(1);
        block * limited(own, blocks.into())
    }

    #[inline]
    fn piece(&self, at: u64, most: u64) -> Piece {
        Piece { op: *self.op, at, len: (self.op.len - at).min(most) as u32 }
    }

    /// The first block of the operation, and the one behind its last.
    #[inline]
    fn all_blocks(&self) -> (u64, u64) {
        let (block, start) = (u64::from(self.session.unit.capacity.block_bytes), self.start());
        (start / block, (start + self.op.len) / block)
    }

    /// The first block of a piece, and how many.
    #[inline]
    fn blocks(&self, piece: Piece) -> (u64, u32) {
        let block = u64::from(self.session.unit.capacity.block_bytes);
        ((self.start() + piece.at) / block, piece.len / block as u32)
    }

    /// Runs a command to its end, repeating it when the unit asks for that.
    #[inline]
    async fn command(&mut self, request: ScsiRequest, data: Data) -> Result<(), Fault> {
        let mut later = Later::new();
        let mut attentions = 0;
        loop {
            let due_ns = self.running.due_ns;
            let ended = self.connection.run(self.slot, Command { request, data }, due_ns).await;
            self.done.rpcs += ended.sends;
            self.done.retries += ended.sends.saturating_sub(1);
            if self.done.first_byte_ns.is_none() {
                self.done.first_byte_ns = ended.first_byte_ns;
            }
            let outcome = match ended.answer {
                Answer::Done => return Ok(()),
                Answer::Failed(outcome) => outcome,
            };
            if !self.repeats(&outcome, &mut later, &mut attentions).await {
                let (kind, text) = explain(&outcome);
                let unsupported = is_unsupported(&outcome);
                return Err(Fault { kind, text, request: Some(request.name()), unsupported });
            }
            self.done.retries += 1;
            self.connection.count_retry();
        }
    }

    /// True when a command that ended so is to be repeated now.
    #[cold]
    async fn repeats(&self, outcome: &Outcome, later: &mut Later, attentions: &mut u32) -> bool {
        let reactor = &self.session.reactor;
        if is_attention(outcome) && *attentions < ATTENTIONS_MAX {
            *attentions += 1;
            return reactor.now() < self.running.due_ns;
        }
        if !is_busy(outcome) {
            return false;
        }
        let Some(next_ns) = later.next_ns(reactor.now(), self.running.due_ns) else { return false };
        reactor.sleep_until(next_ns).await;
        true
    }

    /// Takes the data of a piece that came, and verifies the operation's block once all of it is there.
    fn gather(&self, piece: Piece) -> Result<(), Fault> {
        let data = self.connection.take_gathered(self.slot);
        let judged = if data.len() as u64 == self.op.len {
            self.judge(&data)
        } else {
            let mut block = self.session.blocks[self.op.lane as usize].borrow_mut();
            block.truncate(piece.at as usize);
            block.extend_from_slice(&data);
            if block.len() as u64 == self.op.len { self.judge(&block) } else { Ok(()) }
        };
        self.connection.return_gathered(self.slot, data);
        judged
    }

    fn judge(&self, data: &[u8]) -> Result<(), Fault> {
        self.connection.settings.payload.verify_op(self.op, 0, data).map_err(|text| Fault {
            kind: ErrorKind::Corrupt,
            text: format!("not what was written: {text}"),
            request: Some("READ"),
            unsupported: false,
        })
    }
}
