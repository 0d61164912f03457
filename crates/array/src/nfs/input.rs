//! Splits the byte stream into records: in place in the receive buffer, unless they arrive in fragments.

use reactor::{Buffer, Stream};
use wire::rpc::LAST_FRAGMENT;

use super::call::IO_MAX;

/// Maximum record size, all fragments together: a WRITE of the largest payload and its header (RFC 5531 and RFC 1813
/// allow about 600 bytes).
pub(super) const RECORD_MAX: usize = IO_MAX + (16 << 10);
/// Initial size of the receive buffer.
const SMALL_BYTES: usize = 128 << 10;
/// Size of the receive buffer after a large record.
const LARGE_BYTES: usize = RECORD_MAX + SMALL_BYTES;
/// Above this, exactly the missing bytes are received, so that the next record starts at the beginning of the buffer
/// and need not be moved there.
const EXACT_BYTES: usize = 32 << 10;
const MARK: usize = 4;

/// The record is larger than [`RECORD_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oversize;

/// State of the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A record is complete: see [`Input::record`].
    Record,
    /// At least this many bytes are missing.
    Missing(usize),
}

/// The receiving side of a connection.
pub(super) struct Input {
    buffer: Buffer,
    /// Start of the unprocessed bytes.
    start: usize,
    filled: usize,
    /// Fragments of an incomplete record.
    fragments: Vec<u8>,
    /// The record found by [`Input::next`].
    found: std::ops::Range<usize>,
    in_fragments: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self {
            buffer: Buffer::new(SMALL_BYTES),
            start: 0,
            filled: 0,
            fragments: Vec::new(),
            found: 0..0,
            in_fragments: false,
        }
    }

    /// Looks for the next record.
    pub(super) fn next(&mut self) -> Result<Next, Oversize> {
        if std::mem::take(&mut self.in_fragments) {
            self.fragments = Vec::new();
        }
        loop {
            let there = &self.buffer[self.start..self.filled];
            let Some(mark) = there.first_chunk::<MARK>() else {
                return Ok(Next::Missing(MARK - there.len()));
            };
            let mark = u32::from_be_bytes(*mark);
            let len = (mark & !LAST_FRAGMENT) as usize;
            if len + self.fragments.len() > RECORD_MAX {
                return Err(Oversize);
            }
            if there.len() < MARK + len {
                return Ok(Next::Missing(MARK + len - there.len()));
            }
            let from = self.start + MARK;
            self.found = from..from + len;
            self.start = from + len;
            let last = mark & LAST_FRAGMENT != 0;
            if last && self.fragments.is_empty() {
                return Ok(Next::Record);
            }
            self.fragments.extend_from_slice(&self.buffer[self.found.clone()]);
            if last {
                self.in_fragments = true;
                return Ok(Next::Record);
            }
        }
    }

    /// The last record found, without its marks.
    pub(super) fn record(&self) -> &[u8] {
        if self.in_fragments { &self.fragments } else { &self.buffer[self.found.clone()] }
    }

    /// Receives at least some of the `missing` bytes; false at the end of the stream.
    pub(super) async fn receive(&mut self, stream: &Stream, missing: usize) -> bool {
        self.make_room(missing);
        // The kernel owns the buffer during the receive.
        let buffer = std::mem::replace(&mut self.buffer, Buffer::new(0));
        let (received, buffer) = if missing > EXACT_BYTES {
            stream.recv_exact(buffer, self.filled..self.filled + missing).await
        } else {
            let end = buffer.len().min(self.filled + SMALL_BYTES);
            stream.recv(buffer, self.filled..end).await
        };
        self.buffer = buffer;
        match received {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.filled += count;
                true
            }
        }
    }

    fn make_room(&mut self, missing: usize) {
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
        }
        if self.buffer.len() - self.filled >= missing {
            return;
        }
        let there = self.start..self.filled;
        (self.start, self.filled) = (0, there.len());
        if self.buffer.len() - self.filled >= missing {
            self.buffer.copy_within(there, 0);
        } else {
            let mut larger = Buffer::new(LARGE_BYTES);
            larger[..there.len()].copy_from_slice(&self.buffer[there]);
            self.buffer = larger;
        }
    }
}
