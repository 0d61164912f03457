//! Record marking over byte streams (RFC 5531 section 11): a message is a sequence of fragments.
//!
//! The scanner is fed whatever arrives and yields slices of it, so that a payload is never reassembled elsewhere. It
//! keeps only a few words of state, whatever the peer sends.

use crate::xdr::Encode;

/// The bit in a fragment's header that marks the record's last fragment.
pub const LAST_FRAGMENT: u32 = 0x8000_0000;
/// Length of a fragment's header in bytes.
const HEADER: usize = 4;

/// The stream of records is unusable from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A record exceeds the limit, or announces that it will.
    #[error("oversize record: at least {len} bytes, at most {limit} allowed")]
    Oversize {
        /// Length of the record including the last announced fragment and all headers, in bytes.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// An event in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordEvent<'a> {
    /// Bytes of the current record; never empty.
    Data(&'a [u8]),
    /// The current record is complete.
    End,
}

/// Follows the fragments in a stream of records.
#[derive(Clone, Debug)]
pub struct RecordScanner {
    limit: usize,
    /// Bytes of the current fragment still to come.
    left: usize,
    /// Whether the current fragment is the record's last.
    last: bool,
    /// Bytes of the current record announced so far, fragment headers included, so that an endless stream of empty
    /// fragments is stopped as well.
    announced: usize,
    header: [u8; HEADER],
    header_len: usize,
    /// A fragment's header was read, but its end not yet reported.
    inside: bool,
}

impl RecordScanner {
    /// A scanner at the start of a record; `limit` is the maximum record size in bytes, fragment headers included.
    pub const fn new(limit: usize) -> Self {
        Self { limit, left: 0, last: false, announced: 0, header: [0; HEADER], header_len: 0, inside: false }
    }

    /// The next event in `input`, which is advanced past the bytes used; `None` if more input is needed.
    ///
    /// # Errors
    /// [`RecordError::Oversize`]; the stream is then lost.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<RecordEvent<'a>>, RecordError> {
        loop {
            if self.inside {
                if self.left > 0 {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let (data, rest) = input.split_at(self.left.min(input.len()));
                    *input = rest;
                    self.left -= data.len();
                    return Ok(Some(RecordEvent::Data(data)));
                }
                self.inside = false;
                if self.last {
                    self.announced = 0;
                    return Ok(Some(RecordEvent::End));
                }
            }
            if !self.read_header(input)? {
                return Ok(None);
            }
        }
    }

    /// The next record, if the scanner is between records and `input` starts with a complete one in a single fragment;
    /// `input` is advanced past it. Otherwise nothing happens, and [`RecordScanner::next`] must be used.
    ///
    /// # Errors
    /// [`RecordError::Oversize`]; the stream is then lost.
    #[inline]
    pub fn whole_record<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordError> {
        if !self.between_records() {
            return Ok(None);
        }
        let Some((header, rest)) = input.split_first_chunk::<HEADER>() else { return Ok(None) };
        let word = u32::from_be_bytes(*header);
        let len = (word & !LAST_FRAGMENT) as usize;
        if len + HEADER > self.limit {
            return Err(RecordError::Oversize { len: (len + HEADER) as u64, limit: self.limit as u64 });
        }
        if word & LAST_FRAGMENT == 0 || len > rest.len() {
            return Ok(None);
        }
        let (record, rest) = rest.split_at(len);
        *input = rest;
        Ok(Some(record))
    }

    /// Reads a fragment's header, or as much of it as there is.
    #[inline]
    fn read_header(&mut self, input: &mut &[u8]) -> Result<bool, RecordError> {
        let take = (HEADER - self.header_len).min(input.len());
        let (bytes, rest) = input.split_at(take);
        self.header[self.header_len..self.header_len + take].copy_from_slice(bytes);
        self.header_len += take;
        *input = rest;
        if self.header_len < HEADER {
            return Ok(false);
        }
        let word = u32::from_be_bytes(self.header);
        let len = (word & !LAST_FRAGMENT) as usize;
        let announced = self.announced + HEADER + len;
        if announced > self.limit {
            return Err(RecordError::Oversize { len: announced as u64, limit: self.limit as u64 });
        }
        self.header_len = 0;
        self.announced = announced;
        self.left = len;
        self.last = word & LAST_FRAGMENT != 0;
        self.inside = true;
        Ok(true)
    }

    /// Bytes of the current fragment that have not arrived yet.
    pub const fn fragment_left(&self) -> usize {
        self.left
    }

    /// True if the current fragment is its record's last, so that only [`RecordScanner::fragment_left`] bytes of the
    /// record are still to come.
    pub const fn in_last_fragment(&self) -> bool {
        self.inside && self.last
    }

    /// True between two records, where the stream may end.
    pub const fn between_records(&self) -> bool {
        !self.inside && self.announced == 0 && self.header_len == 0
    }

    /// Records that `len` bytes of the current fragment were received elsewhere (for example discarded in the kernel).
    ///
    /// # Panics
    /// If that is more than [`RecordScanner::fragment_left`].
    pub fn skip(&mut self, len: usize) {
        assert!(len <= self.left, "only bytes of the current fragment can be skipped");
        self.left -= len;
    }
}

/// Starts a single-fragment record at the end of `out`; returns the position for [`end_record`].
#[inline]
pub fn begin_record(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    0u32.encode(out);
    at
}

/// Completes the record started at `at`: everything appended since, plus `more` bytes that the caller sends right after
/// it.
///
/// # Panics
/// If the record is 2 GiB or more.
#[inline]
pub fn end_record(out: &mut [u8], at: usize, more: usize) {
    let len = u32::try_from(out.len() - at - HEADER + more).expect("a record is far smaller than 2 GiB");
    assert!(len & LAST_FRAGMENT == 0, "a record is far smaller than 2 GiB");
    out[at..at + HEADER].copy_from_slice(&(len | LAST_FRAGMENT).to_be_bytes());
}
