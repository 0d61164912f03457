//! One command and its response on a connection.

use std::io;

use metrics::{ErrorKind, OpKind};
use reactor::{Buffer, Reactor};
use wire::memcached::{CommandLine, MAX_LINE_BYTES, MemcachedReply, reply};

use crate::lane_connections::KeptLane;
use crate::link::{Inbox, Link};
use crate::{Op, Payload, Sink};

/// Payload generated and sent at a time, in bytes: small enough to stay in the CPU cache.
const PIECE_BYTES: usize = 128 * 1024;
/// Space for the command line before the first piece.
const LEAD_BYTES: usize = CommandLine::MAX;
const LINE_END: &[u8] = b"\r\n";
/// When payload is discarded in the kernel, this much is received first, to see when it begins to arrive.
const FIRST_LOOK_BYTES: usize = 2048;
/// Maximum length discarded by one call, in bytes.
const DISCARD_BYTES: u64 = 1 << 30;

/// A lane's connection and its buffers, all reused.
#[derive(Default)]
pub(super) struct Lane {
    /// The connection, while it is fit for another command.
    pub(super) link: Option<Link>,
    send: Option<Buffer>,
    pub(super) inbox: Inbox,
    /// A value that can only be verified as a whole.
    whole: Vec<u8>,
    /// Why the last connection was dropped.
    pub(super) lost: Option<String>,
}

impl KeptLane for Lane {
    fn link(&mut self) -> &mut Option<Link> {
        &mut self.link
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) detail: String,
    /// The response was read completely: the connection is fit for another command.
    pub(super) whole: bool,
}

impl Failure {
    /// A failure after which the connection is unusable.
    #[cold]
    pub(super) fn broken(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), whole: false }
    }

    #[cold]
    fn answered(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), whole: true }
    }

    #[cold]
    fn lost(doing: &str, error: &io::Error) -> Self {
        Self::broken(ErrorKind::ConnectionLost, format!("connection lost {doing}: {error}"))
    }

    /// The failure for a response where another was expected.
    #[cold]
    pub(super) fn unexpected(answer: &MemcachedReply<'_>) -> Self {
        match answer {
            MemcachedReply::NotFound | MemcachedReply::End => Self::answered(
                ErrorKind::NotFound,
                "there is no such key: it was never set, was removed, or the server dropped it for want of memory",
            ),
            MemcachedReply::Refused(text) if text.contains("out of memory") => {
                Self::answered(ErrorKind::NoSpace, *text)
            }
            MemcachedReply::Refused(text) if text.contains("too large") => {
                let next = "the server's largest item (memcached -I) is smaller than object_size";
                Self::answered(ErrorKind::Rejected, format!("{text}: {next}"))
            }
            MemcachedReply::Refused(text) if text.contains("unauthenticated") => {
                Self::broken(ErrorKind::AccessDenied, *text)
            }
            // Sent data may have been interpreted as commands.
            MemcachedReply::Refused(text) => Self::broken(ErrorKind::Rejected, *text),
            MemcachedReply::Busy => Self::answered(ErrorKind::Busy, "the server is busy with another dump"),
            MemcachedReply::Unknown => {
                Self::broken(ErrorKind::Protocol, "the server does not know the command")
            }
            _ => Self::broken(ErrorKind::Protocol, format!("it does not answer the command: {answer:?}")),
        }
    }
}

/// Result of a fetch besides its bytes.
#[derive(Default)]
pub(super) struct Fetched {
    pub(super) first_byte_ns: Option<u64>,
    corrupt: Option<Box<str>>,
}

/// What an exchange needs to know about its session.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    pub(super) reactor: &'a Reactor,
    pub(super) payload: &'a Payload,
    pub(super) sink: Sink,
}

impl Lane {
    /// Sends a command and, for a put, its payload.
    pub(super) async fn send(
        &mut self,
        link: &mut Link,
        command: &CommandLine,
        op: &Op,
        payload: &Payload,
    ) -> Result<(), Failure> {
        let room = LEAD_BYTES + PIECE_BYTES + LINE_END.len();
        let mut buffer = self.send.take().unwrap_or_else(|| Buffer::new(room));
        let line = command.as_bytes();
        let mut start = LEAD_BYTES - line.len();
        buffer[start..LEAD_BYTES].copy_from_slice(line);
        let len = if op.kind == OpKind::Put { op.len } else { 0 };
        let mut at = 0;
        loop {
            let piece = (len - at).min(PIECE_BYTES as u64) as usize;
            let mut end = LEAD_BYTES + piece;
            payload.fill_op(op, at, &mut buffer[LEAD_BYTES..end]);
            at += piece as u64;
            if at == len && op.kind == OpKind::Put {
                buffer[end..end + LINE_END.len()].copy_from_slice(LINE_END);
                end += LINE_END.len();
            }
            let sent;
            (sent, buffer) = link.send_all(buffer, start..end).await;
            if at == len || sent.is_err() {
                self.send = Some(buffer);
                return sent.map_err(|error| Failure::lost("sending the command", &error));
            }
            start = LEAD_BYTES;
        }
    }

    /// Sends bytes unchanged.
    pub(super) async fn send_bytes(&mut self, link: &mut Link, bytes: &[u8]) -> Result<(), Failure> {
        let mut buffer = Buffer::new(bytes.len());
        buffer.copy_from_slice(bytes);
        let (sent, _) = link.send_all(buffer, 0..bytes.len()).await;
        sent.map_err(|error| Failure::lost("sending the command", &error))
    }

    /// Receives a line, reading at most `most` bytes at a time, and passes it to `read`.
    pub(super) async fn line<T>(
        &mut self,
        link: &mut Link,
        most: usize,
        read: impl FnOnce(&MemcachedReply<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut looked_at = 0;
        loop {
            let bytes = self.inbox.bytes();
            if let Some(found) = bytes[looked_at..].iter().position(|byte| *byte == b'\n') {
                let end = looked_at + found;
                let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
                let outcome = match reply(line) {
                    Some(answer) => read(&answer),
                    None => Err(Failure::broken(ErrorKind::Protocol, unreadable(line))),
                };
                self.inbox.consume(end + 1);
                return outcome;
            }
            looked_at = bytes.len();
            if looked_at >= MAX_LINE_BYTES {
                return Err(Failure::broken(ErrorKind::Protocol, "an answer's line has no end"));
            }
            self.receive(link, most, 0).await?;
        }
    }

    /// Receives at least one byte after those already received.
    async fn receive(&mut self, link: &mut Link, most: usize, due: usize) -> Result<(), Failure> {
        match self.inbox.fill(link, most, due).await {
            Ok(0) if self.inbox.bytes().is_empty() => Err(Failure::broken(
                ErrorKind::ConnectionLost,
                "the server closed the connection without an answer",
            )),
            Ok(0) => Err(Failure::broken(
                ErrorKind::ConnectionLost,
                "the server closed the connection inside an answer",
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::lost("before the answer was complete", &error)),
        }
    }

    /// Receives the response to a get.
    pub(super) async fn fetch(
        &mut self,
        link: &mut Link,
        op: &Op,
        key: &[u8],
        manner: Manner<'_>,
    ) -> Result<Fetched, Failure> {
        // Bytes to be discarded in the kernel should not be copied with the line, unless a second system call costs
        // more.
        let discards = manner.sink == Sink::Discard && op.len > 16 * 1024;
        let most = if discards { FIRST_LOOK_BYTES } else { usize::MAX };
        let len = op.len;
        self.line(link, most, |answer| match answer {
            MemcachedReply::Value { key: other, .. } if other.as_bytes() != key => {
                Err(Failure::broken(ErrorKind::Protocol, format!("the value of another key came: {other}")))
            }
            MemcachedReply::Value { len: came, .. } if *came != len => {
                let detail = format!("the value is {came} bytes long where {len} were asked for");
                Err(Failure::broken(ErrorKind::Length, detail))
            }
            MemcachedReply::Value { .. } => Ok(()),
            other => Err(Failure::unexpected(other)),
        })
        .await?;
        let fetched = self.value(link, op, manner, discards).await?;
        while self.inbox.bytes().len() < LINE_END.len() {
            self.receive(link, usize::MAX, 0).await?;
        }
        if !self.inbox.bytes().starts_with(LINE_END) {
            return Err(Failure::broken(ErrorKind::Length, "the value is longer than the server announced"));
        }
        self.inbox.consume(LINE_END.len());
        self.line(link, usize::MAX, |answer| match answer {
            MemcachedReply::End => Ok(()),
            other => Err(Failure::broken(ErrorKind::Protocol, format!("END is missing: {other:?}"))),
        })
        .await?;
        match fetched.corrupt {
            Some(found) => {
                Err(Failure::answered(ErrorKind::Corrupt, format!("not what was written: {found}")))
            }
            None => Ok(fetched),
        }
    }

    /// Receives the response to a get of any length and returns its first `most` bytes. The connection is not used
    /// again.
    pub(super) async fn read_value(&mut self, link: &mut Link, most: usize) -> Result<Vec<u8>, Failure> {
        let len = self.line(link, usize::MAX, |answer| match answer {
            MemcachedReply::Value { len, .. } => Ok(*len),
            other => Err(Failure::unexpected(other)),
        });
        let wanted = usize::try_from(len.await?).unwrap_or(usize::MAX).min(most);
        let mut value = Vec::new();
        while value.len() < wanted {
            if self.inbox.bytes().is_empty() {
                self.receive(link, usize::MAX, 0).await?;
            }
            let bytes = self.inbox.bytes();
            let count = bytes.len().min(wanted - value.len());
            value.extend_from_slice(&bytes[..count]);
            self.inbox.consume(count);
        }
        Ok(value)
    }

    /// Receives a value's bytes. Damaged data is read to the end, so that the connection stays usable.
    async fn value(
        &mut self,
        link: &mut Link,
        op: &Op,
        manner: Manner<'_>,
        discards: bool,
    ) -> Result<Fetched, Failure> {
        let mut fetched = Fetched::default();
        self.whole.clear();
        let mut at = 0;
        while at < op.len {
            let left = op.len - at;
            let bytes = self.inbox.bytes();
            if !bytes.is_empty() {
                fetched.first_byte_ns.get_or_insert_with(|| manner.reactor.now());
                let data = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
                if manner.payload.gathers(manner.sink) {
                    self.whole.extend_from_slice(data);
                } else if manner.sink == Sink::Verify && fetched.corrupt.is_none() {
                    fetched.corrupt = manner.payload.verify_op(op, at, data).err();
                }
                let count = data.len();
                at += count as u64;
                self.inbox.consume(count);
                continue;
            }
            if let (true, true, Link::Plain(stream)) = (discards, at > 0, &*link) {
                let count = left.min(DISCARD_BYTES) as usize;
                let dropped = stream.recv_discard(count).await;
                let dropped = dropped.map_err(|error| Failure::lost("inside a value", &error))?;
                if dropped < count {
                    return Err(Failure::broken(
                        ErrorKind::ConnectionLost,
                        "the server closed the connection inside a value",
                    ));
                }
                at += dropped as u64;
                continue;
            }
            let most = if discards { FIRST_LOOK_BYTES } else { usize::MAX };
            // The first bytes are taken as they arrive, to learn when that is.
            let due = if at == 0 { 0 } else { usize::try_from(left).unwrap_or(usize::MAX) };
            self.receive(link, most, due).await?;
        }
        if manner.payload.gathers(manner.sink) {
            fetched.corrupt = manner.payload.verify_op(op, 0, &self.whole).err();
        }
        Ok(fetched)
    }
}

#[cold]
fn unreadable(line: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(line).chars().filter(|c| !c.is_control()).take(60).collect();
    format!("the server does not speak memcached's text protocol: \"{shown}\"")
}
