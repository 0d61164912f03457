//! One connection to the server, plain or TLS, with the same few operations.

use std::io;
use std::ops::Range;

use reactor::{Buffer, Stream};

use crate::tls_link::TlsLink;

/// An open connection.
pub(crate) enum Link {
    /// TCP.
    Plain(Stream),
    /// TLS over TCP.
    Tls(Box<TlsLink>),
}

impl Link {
    /// The TCP connection underneath.
    pub(crate) fn stream(&self) -> &Stream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(link) => link.stream(),
        }
    }

    /// Sends all of `range`.
    pub(crate) async fn send_all(&mut self, buffer: Buffer, range: Range<usize>) -> (io::Result<()>, Buffer) {
        match self {
            Self::Plain(stream) => stream.send_all(buffer, range).await,
            Self::Tls(link) => {
                let sent = link.send_all(&buffer[range]).await;
                (sent, buffer)
            }
        }
    }

    /// Receives into `range`: at least one byte, or 0 at the end of the stream. `due` is the number of bytes certain to
    /// arrive, so that waiting for all of them may pay off; 0 when unknown.
    pub(crate) async fn recv(
        &mut self,
        buffer: Buffer,
        range: Range<usize>,
        due: usize,
    ) -> (io::Result<usize>, Buffer) {
        match self {
            Self::Plain(stream) => stream.recv_due(buffer, range, due).await,
            Self::Tls(link) => {
                let mut buffer = buffer;
                let received = link.recv(&mut buffer[range]).await;
                (received, buffer)
            }
        }
    }
}

/// Received bytes that are not yet processed, in a reused buffer.
#[derive(Default)]
pub(crate) struct Inbox {
    buffer: Option<Buffer>,
    start: usize,
    end: usize,
}

/// Length of an inbox in bytes: fits the longest allowed header with space left for payload.
pub(crate) const INBOX_BYTES: usize = 256 * 1024;

impl Inbox {
    /// The received, unconsumed bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.buffer {
            Some(buffer) => &buffer[self.start..self.end],
            None => &[],
        }
    }

    /// Discards the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Discards everything.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Receives at most `most` bytes after the existing ones; `due` as for [`Link::recv`]. 0 means the end of the
    /// stream, or a full inbox, which callers rule out by consuming first.
    pub(crate) async fn fill(&mut self, link: &mut Link, most: usize, due: usize) -> io::Result<usize> {
        let mut buffer = self.buffer.take().unwrap_or_else(|| Buffer::new(INBOX_BYTES));
        if self.start > 0 && self.end == buffer.len() {
            buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let range = self.end..buffer.len().min(self.end.saturating_add(most));
        let (received, buffer) = link.recv(buffer, range, due).await;
        self.buffer = Some(buffer);
        let received = received?;
        self.end += received;
        Ok(received)
    }
}
