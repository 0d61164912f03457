//! Records out of the byte stream: in place in the receive buffer, unless they come in fragments.

use reactor::{Buffer, Stream};
use wire::rpc::LAST_FRAGMENT;

use super::call::IO_MAX;

/// Largest record, fragments put together: a WRITE of the largest payload and its header (RFC 5531 and RFC
/// 1813 allow for some 600 bytes).
pub(super) const RECORD_MAX: usize = IO_MAX + (16 << 10);
/// Bytes of the receive buffer at first.
const SMALL_BYTES: usize = 128 << 10;
/// Bytes of the receive buffer once a large record has come.
const LARGE_BYTES: usize = RECORD_MAX + SMALL_BYTES;
/// Above this, exactly what is missing is received, so that the next record begins at the buffer's start
/// and need not be moved there.
const EXACT_BYTES: usize = 32 << 10;
const MARK: usize = 4;

/// The record is larger than [`RECORD_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oversize;

/// What the received bytes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A record is complete: see [`Input::record`].
    Record,
    /// This many bytes at least are missing.
    Missing(usize),
}

/// The receiving side of a connection.
pub(super) struct Input {
    buffer: Buffer,
    /// The bytes not looked at yet.
    start: usize,
    filled: usize,
    /// Fragments of a record whose last one has not come.
    fragments: Vec<u8>,
    /// The record that [`Input::next`] found.
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

    /// The record found last, without its marks.
    pub(super) fn record(&self) -> &[u8] {
        if self.in_fragments { &self.fragments } else { &self.buffer[self.found.clone()] }
    }

    /// Receives at least something of the `missing` bytes; false at the end of the stream.
    pub(super) async fn receive(&mut self, stream: &Stream, missing: usize) -> bool {
        self.make_room(missing);
        // The kernel owns the buffer meanwhile.
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
