//! The seam between the engine and the protocols.

use std::time::Duration;

use metrics::{ErrorKind, OpKind, PathFacts};
use reactor::Reactor;

use crate::{ConnectionFacts, Payload, ReconnectReason};

/// One operation, as the engine asks for it. It fits into a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// The lane that asks, from 0 within its worker; at most one operation of a lane is in flight.
    pub lane: u32,
    /// Which commit, of a commit.
    pub commit: CommitKind,
    /// Number of the file or object, unique over all workers; the driver makes the name from it.
    pub object: u64,
    /// Number of the second file or object, for operations on two; otherwise 0.
    pub other: u64,
    /// First byte, for reads and writes.
    pub offset: u64,
    /// Length in bytes, for reads, writes, puts and gets (the object's whole size).
    pub len: u64,
    /// Which of the successive contents of the range is written, or expected: it is part of what the payload is made
    /// from, so that old data is told from new. Only the low 16 bits count. [`Op::ANY_GENERATION`] expects none.
    pub generation: u32,
}

impl Op {
    /// An operation of a lane on a file or object, of no length, with content of generation 0.
    #[inline]
    pub const fn new(kind: OpKind, lane: u32, object: u64) -> Op {
        Op { kind, lane, commit: CommitKind::Usual, object, other: 0, offset: 0, len: 0, generation: 0 }
    }

    /// The same on this range, in bytes.
    #[inline]
    #[must_use]
    pub const fn range(self, offset: u64, len: u64) -> Op {
        Op { offset, len, ..self }
    }

    /// The same with content of this generation.
    #[inline]
    #[must_use]
    pub const fn generation(self, generation: u32) -> Op {
        Op { generation, ..self }
    }

    /// The generation of a read of something that somebody else may have written: blocks are compared with what their
    /// headers say, but who wrote them, and how often, is not.
    pub const ANY_GENERATION: u32 = u32::MAX;
    /// The generation of a read that is not compared at all, although others are.
    pub const UNCHECKED: u32 = u32::MAX - 1;

    /// The position in the payload's stream of this object at which the range begins: what [`Payload::fill`] and
    /// [`Payload::verify`] are asked for. Files of up to 2^48 bytes (256 TiB) fit.
    #[inline]
    pub const fn stream_offset(&self) -> u64 {
        (self.generation as u64) << 48 | self.offset
    }

    /// The payload that it moves when all of it succeeds, in bytes.
    pub fn payload_bytes(&self) -> u64 {
        if self.kind.moves_bytes() { self.len } else { 0 }
    }
}

const _: () = assert!(size_of::<Op>() <= 48, "an operation is copied often: it fits into a cache line");

/// What a commit is. Targets that know only one commit do that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitKind {
    /// As the target's options say.
    #[default]
    Usual,
    /// fsync(2): the data and all that is known of the file.
    Full,
    /// fdatasync(2): the data, and what is needed to read it.
    Data,
    /// sync_file_range(2) from the operation's offset to the end of the file, with these flags: 1 waits for what is on its
    /// way, 2 begins to write, 4 waits for it.
    Range(u8),
}

/// How a successful operation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Payload bytes acknowledged by the target, or read and checked for length.
    pub bytes: u64,
    /// Protocol messages that were needed, retries included.
    pub rpcs: u32,
    /// Messages that had to be sent again.
    pub retries: u32,
    /// When the first byte of the answer's payload arrived, on the reactor's clock, where it is known.
    pub first_byte_ns: Option<u64>,
}

/// How a failed operation ended.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct OpError {
    /// The name under which it is counted.
    pub kind: ErrorKind,
    /// What happened, for a person: what was asked, of whom, what came back. Never holds a secret.
    pub detail: Box<str>,
    /// Messages that were sent again before giving up.
    pub retries: u32,
    /// Protocol messages spent, retries included.
    pub rpcs: u32,
}

impl OpError {
    /// An error of a kind with its explanation.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Self {
        Self { kind, detail: detail.into(), retries: 0, rpcs: 0 }
    }
}

/// A target could not be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct DriverError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What was tried, on which address, what came back, and what to do next. One line, no secret.
    pub detail: Box<str>,
}

impl DriverError {
    /// An error of a kind with its explanation.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// Called right before the request is sent that makes our place on a target, so that its owner can be told in time.
pub type Announce<'a> = &'a mut dyn FnMut() -> Result<(), DriverError>;

/// Where the payload of reads goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// Into a receive buffer in user space, which is reused.
    #[default]
    Buffer,
    /// Into a receive buffer, and every byte is compared with what was written.
    Verify,
    /// Dropped in the kernel (`MSG_TRUNC`, tcp(7)) once headers and length are checked.
    Discard,
}

/// What a worker gives a driver to open its session with.
#[derive(Clone, Debug)]
pub struct WorkerContext {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// How many lanes will call [`Session::perform`] at once.
    pub lanes: u32,
    /// What is written, and compared with on reading.
    pub payload: Payload,
    /// Where the payload of reads goes.
    pub sink: Sink,
    /// The longest an operation may take.
    pub op_timeout: Duration,
    /// The longest that opening the session may take.
    pub connect_timeout: Duration,
}

/// What a session knows of itself. All counts are since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionFacts {
    /// Open connections.
    pub connections: Vec<ConnectionFacts>,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Why connections were lost, and how often, the first reasons first.
    #[serde(default)]
    pub reconnect_reasons: Vec<ReconnectReason>,
    /// Messages that were sent again, for whatever reason, and operations that were begun again because a file handle
    /// was stale.
    pub retries: u64,
    /// Answers that moved fewer bytes than were asked for, so that the rest took a further message (READ and WRITE of
    /// RFC 1813, 3.3.6 and 3.3.7).
    #[serde(default)]
    pub short_answers: u64,
    /// Answers that came after their operation had timed out.
    pub late_replies: u64,
    /// Segments retransmitted on connections that are closed already.
    pub closed_retransmits: u64,
    /// What the connections carried that are closed already, by path.
    #[serde(default)]
    pub closed_paths: Vec<PathFacts>,
}

/// Opens sessions on one target. Shared by all workers.
pub trait Driver: Send + Sync {
    /// One worker's side of the target.
    type Session: Session;

    /// True when workers must run on a virtual clock ([`Reactor::simulated`]), as scripted targets do.
    fn virtual_clock(&self) -> bool {
        false
    }

    /// Opens a worker's session: connects, authenticates, reads what it must know of the target.
    fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> impl Future<Output = Result<Self::Session, DriverError>>;
}

/// One worker's connections to a target. Many lanes call [`Session::perform`] at once; it never blocks the thread.
pub trait Session {
    /// Does one operation to its end: acknowledged, failed or timed out.
    fn perform(&self, op: &Op) -> impl Future<Output = Result<Done, OpError>>;

    /// What the session knows of its connections now.
    fn facts(&self) -> SessionFacts;

    /// True when the other side has ended the data, as a sender does that closes its connection: an operation that failed
    /// because of it is no error, and no further one can succeed.
    fn is_over(&self) -> bool {
        false
    }
}
