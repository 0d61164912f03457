//! Content of blocks apart from headers: fresh bytes, zeros or a pattern, or fresh bytes with a compressible part in
//! each chunk.

use content::{Content, ContentKind};

use super::Payload;
use super::pattern::Pattern;
use crate::Op;

/// Shares are kept in units of a percent divided by this.
const PARTS: f64 = 1e6;

/// Content of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    base: Base,
    compress: Option<Compress>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// The payload, shaped or not.
    Fresh,
    Zeros,
    Pattern(Pattern),
}

/// The end of each chunk is zeros or the pattern; its start is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compress {
    /// In bytes; 0: the whole block.
    chunk: u64,
    /// Share of each chunk, in millionths of a percent.
    share: u64,
}

/// A range of a block with one type of content.
struct Stretch {
    len: usize,
    /// Its offset in the pattern, if it is not fresh.
    fixed_at: Option<u64>,
}

impl Body {
    /// The body for a content specification.
    pub(super) fn new(content: &Content) -> Self {
        let base = match &content.kind {
            ContentKind::Fresh => Base::Fresh,
            ContentKind::Zeros => Base::Zeros,
            ContentKind::Pattern(pieces) => Pattern::new(pieces).map_or(Base::Zeros, Base::Pattern),
        };
        let share = (content.compress_percent.clamp(0.0, 100.0) * PARTS).round() as u64;
        let compress = Compress { chunk: content.chunk_bytes, share };
        // Zeros stay zeros, whatever share is to be compressible.
        Self { compress: (share > 0 && base != Base::Zeros).then_some(compress), base }
    }

    /// A pattern alone, or fresh bytes without any shape.
    pub(super) fn of_pattern(pattern: Option<Pattern>) -> Self {
        Self { base: pattern.map_or(Base::Fresh, Base::Pattern), compress: None }
    }

    /// True when the payload alone generates this content.
    pub(super) fn is_fresh(&self) -> bool {
        self.base == Base::Fresh && self.compress.is_none()
    }

    /// True when the bytes do not depend on who writes them.
    pub(super) fn is_fixed(&self) -> bool {
        self.base != Base::Fresh && self.compress.is_none()
    }

    /// Writes the bytes from offset `at` of the operation's block.
    pub(super) fn fill(&self, payload: &Payload, op: &Op, mut at: u64, mut out: &mut [u8]) {
        while !out.is_empty() {
            let stretch = self.stretch(op, at, out.len());
            let (first, rest) = out.split_at_mut(stretch.len);
            match (stretch.fixed_at, &self.base) {
                (None, _) => payload.fill(op.content(), op.stream_offset() + at, first),
                (Some(from), Base::Pattern(pattern)) => pattern.fill(op.offset, from, first),
                (Some(_), _) => first.fill(0),
            }
            at += stretch.len as u64;
            out = rest;
        }
    }

    /// The first difference in `data`, which was read from offset `at` of the operation's block.
    pub(super) fn differs(&self, payload: &Payload, op: &Op, at: u64, data: &[u8]) -> Option<usize> {
        let mut done = 0;
        while done < data.len() {
            let here = at + done as u64;
            let stretch = self.stretch(op, here, data.len() - done);
            let part = &data[done..done + stretch.len];
            let from = op.stream_offset() + here;
            let found = match (stretch.fixed_at, &self.base) {
                (None, _) => {
                    payload.verify(op.content(), from, part).err().map(|at| (at.offset - from) as usize)
                }
                (Some(from), Base::Pattern(pattern)) => pattern.differs(op.offset, from, part),
                (Some(_), _) => part.iter().position(|byte| *byte != 0),
            };
            if let Some(found) = found {
                return Some(done + found);
            }
            done += stretch.len;
        }
        None
    }

    /// The range that starts at `at`, of at most this many bytes.
    fn stretch(&self, op: &Op, at: u64, most: usize) -> Stretch {
        let Some(Compress { chunk, share }) = self.compress else {
            return Stretch { len: most, fixed_at: (self.base != Base::Fresh).then_some(at) };
        };
        let chunk = if chunk == 0 { op.len.max(1) } else { chunk };
        let start = at / chunk * chunk;
        // The last chunk of a block may be shorter.
        let len = chunk.min(op.len.max(at + 1) - start);
        let whole = (100.0 * PARTS) as u128;
        let border = start + (u128::from(len) * (whole - u128::from(share)) / whole) as u64;
        let (end, fixed_at) = if at < border { (border, None) } else { (start + len, Some(at - border)) };
        Stretch { len: usize::try_from(end - at).unwrap_or(most).min(most), fixed_at }
    }
}
