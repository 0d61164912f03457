//! The seam between the engine and the protocols.

use std::time::Duration;

use metrics::{ErrorKind, OpKind, PathFacts, ProcedureStats};
use reactor::Reactor;

use crate::{ConnectionFacts, Payload, ReconnectReason};

/// One operation, as requested by the engine. It fits into a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// The requesting lane, from 0 within its worker; each lane has at most one operation in flight.
    pub lane: u32,
    /// Which kind of commit, for a commit.
    pub commit: CommitKind,
    /// A file that is written as a whole, or whose attributes are set, is also committed.
    pub durable: bool,
    /// Number of the file or object, unique over all workers; the driver makes the name from it.
    pub object: u64,
    /// Number of the second file, for operations on two: the new name of a rename or link, the target of a symbolic
    /// link, the copy. For a batch of objects with consecutive numbers, that of the last one. Otherwise 0.
    pub other: u64,
    /// First byte, for reads and writes.
    pub offset: u64,
    /// Length in bytes, for reads and writes; the whole size, for puts, gets and files that are created with their content;
    /// the new size, for truncates; the least number of names, for listing a whole directory.
    pub len: u64,
    /// Which of the successive contents of the range is written or expected: it is an input to the payload, so that old
    /// data differs from new. Only the low 16 bits count. [`Op::ANY_GENERATION`] accepts any, [`Op::ZEROES`] zeroes.
    pub generation: u32,
}

impl Op {
    /// A lane's operation on a file or object, with zero length and content of generation 0.
    #[inline]
    pub const fn new(kind: OpKind, lane: u32, object: u64) -> Op {
        let commit = CommitKind::Usual;
        Op { kind, lane, commit, durable: false, object, other: 0, offset: 0, len: 0, generation: 0 }
    }

    /// The same operation on this range, in bytes.
    #[inline]
    #[must_use]
    pub const fn range(self, offset: u64, len: u64) -> Op {
        Op { offset, len, ..self }
    }

    /// The same operation with a second file.
    #[inline]
    #[must_use]
    pub const fn other(self, other: u64) -> Op {
        Op { other, ..self }
    }

    /// The same operation with content of this generation.
    #[inline]
    #[must_use]
    pub const fn generation(self, generation: u32) -> Op {
        Op { generation, ..self }
    }

    /// The generation for reading what another process may have written: blocks are checked against their own headers,
    /// but not who wrote them or how often.
    pub const ANY_GENERATION: u32 = u32::MAX;
    /// The generation of a read that is not verified at all, although others are.
    pub const UNCHECKED: u32 = u32::MAX - 1;
    /// The generation of a range that reads as zeroes.
    pub const ZEROES: u32 = u32::MAX - 2;

    /// The offset of an append to a file of unknown size: where it ends.
    pub const AT_END: u64 = u64::MAX;

    /// The range as errors name it, with a blank before it; empty if the operation covers none.
    pub(crate) fn range_words(&self) -> String {
        let Self { kind, offset, len, .. } = *self;
        match kind.is_of_ranges() {
            true if offset == Self::AT_END => format!(" of {len} bytes"),
            true => format!(" of {len} bytes at {offset}"),
            false => String::new(),
        }
    }

    /// The position in this object's payload stream at which the range begins, for [`Payload::fill`] and
    /// [`Payload::verify`]. Files of up to 2^48 bytes (256 TiB) fit.
    #[inline]
    pub const fn stream_offset(&self) -> u64 {
        (self.generation as u64) << 48 | self.offset
    }

    /// The number of the content that it writes or expects: that of its object, whatever its name.
    #[inline]
    pub const fn content(&self) -> u64 {
        crate::numbers::content_of(self.object)
    }

    /// The payload bytes that it moves if it succeeds completely.
    pub fn payload_bytes(&self) -> u64 {
        if self.kind.moves_bytes() { self.len } else { 0 }
    }
}

const _: () = assert!(size_of::<Op>() <= 48, "an operation is copied often: it fits into a cache line");

/// Kinds of commit. Targets that know only one kind use that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitKind {
    /// As the target's options say.
    #[default]
    Usual,
    /// fsync(2): the data and all metadata of the file.
    Full,
    /// fdatasync(2): the data, and the metadata needed to read it.
    Data,
    /// sync_file_range(2) from the operation's offset to the end of the file, with these flags: 1 waits for writes in
    /// progress, 2 starts writing, 4 waits for that.
    Range(u8),
}

/// The result of a successful operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Payload bytes acknowledged by the target, or read and checked for length.
    pub bytes: u64,
    /// RPCs needed, retries included.
    pub rpcs: u32,
    /// Retransmitted RPCs.
    pub retries: u32,
    /// When the first byte of the response's payload arrived, on the reactor's clock, where known.
    pub first_byte_ns: Option<u64>,
}

/// The result of a failed operation.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct OpError {
    /// The kind under which it is counted.
    pub kind: ErrorKind,
    /// What happened, for people: the request, its receiver, the response. Never contains a secret.
    pub detail: Box<str>,
    /// RPCs retransmitted before giving up.
    pub retries: u32,
    /// RPCs sent, retries included.
    pub rpcs: u32,
}

impl OpError {
    /// An error with its explanation.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Self {
        Self { kind, detail: detail.into(), retries: 0, rpcs: 0 }
    }
}

/// Why a target could not be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct DriverError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// What was tried, on which address, what came back, and what to do next. One line, no secret.
    pub detail: Box<str>,
}

impl DriverError {
    /// An error with its explanation.
    pub fn new(kind: ErrorKind, detail: impl Into<Box<str>>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// Called right before the request that creates our place on a target is sent, so that its owner can record it in time.
pub type Announce<'a> = &'a mut dyn FnMut() -> Result<(), DriverError>;

/// Where the payload of reads goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// Into a receive buffer in user space, which is reused.
    #[default]
    Buffer,
    /// Into a receive buffer, with every byte compared with the written data.
    Verify,
    /// Discarded in the kernel (`MSG_TRUNC`, tcp(7)) once headers and length are checked.
    Discard,
}

/// What a driver needs to open a worker's session.
#[derive(Clone, Debug)]
pub struct WorkerContext {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Maximum lanes that call [`Session::perform`] concurrently.
    pub lanes: u32,
    /// Data to write, and to compare with on reading.
    pub payload: Payload,
    /// Where the payload of reads goes.
    pub sink: Sink,
    /// Timeout of an operation.
    pub op_timeout: Duration,
    /// Timeout of opening the session.
    pub connect_timeout: Duration,
}

/// A session's facts about itself. All counts are since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SessionFacts {
    /// Open connections.
    pub connections: Vec<ConnectionFacts>,
    /// Connections that were lost and reopened.
    pub reconnects: u64,
    /// Why connections were lost, and how often, in order of first occurrence.
    #[serde(default)]
    pub reconnect_reasons: Vec<ReconnectReason>,
    /// RPCs that were retransmitted for any reason, and operations that were restarted because a file handle was stale.
    pub retries: u64,
    /// Replies that moved fewer bytes than requested, so that the rest took another RPC (READ and WRITE of RFC 1813,
    /// 3.3.6 and 3.3.7).
    #[serde(default)]
    pub short_answers: u64,
    /// Replies that arrived after their operation had timed out.
    pub late_replies: u64,
    /// Segments retransmitted on connections that are already closed.
    pub closed_retransmits: u64,
    /// Traffic of connections that are already closed, by path.
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

    /// Opens a worker's session: connects, authenticates, and reads what it needs to know about the target.
    fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> impl Future<Output = Result<Self::Session, DriverError>>;
}

/// One worker's connections to a target. Many lanes call [`Session::perform`] concurrently; it never blocks the thread.
pub trait Session {
    /// Performs one operation to its end: acknowledged, failed or timed out.
    fn perform(&self, op: &Op) -> impl Future<Output = Result<Done, OpError>>;

    /// The session's current facts about its connections.
    fn facts(&self) -> SessionFacts;

    /// Visits the RPCs that the lane's last operation took, by procedure, or its system calls on files, once each. Other
    /// drivers know none. Call it once after each operation: calls that are not visited may count for the lane's next one.
    #[inline]
    fn visit_procedures(&self, _lane: u32, _visit: impl FnMut(&ProcedureStats)) {}

    /// True when the peer has ended the data, as a sender does by closing its connection: an operation that failed
    /// because of it is no error, and no further one can succeed.
    fn is_over(&self) -> bool {
        false
    }
}
