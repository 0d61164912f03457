//! Reading back what was written: a copy of the stream, which follows it.

use super::seen::Seen;
use super::stream::{Drawn, Stream};
use crate::written::UncertainRanges;
use metrics::OpKind;

/// What a pass wrote, and how much of it was read back. All writes of a pass have one generation.
#[derive(Debug)]
pub(super) struct Follower {
    /// The stream as it was when the pass began, gone on to where reading back has come.
    stream: Stream,
    /// Writes begun, and of them those that were read back or left out.
    pub written: u64,
    pub read: u64,
    /// Numbers of writes that failed, so that their blocks are not judged.
    doubts: UncertainRanges,
    /// Blocks that were read back, where one may be written several times.
    seen: Option<Seen>,
}

impl Follower {
    pub(super) fn new(stream: &Stream, seen: Option<Seen>) -> Self {
        Follower { stream: stream.clone(), written: 0, read: 0, doubts: UncertainRanges::default(), seen }
    }

    /// Another pass begins.
    pub(super) fn begin(&mut self, stream: &Stream) {
        self.stream.clone_from(stream);
        (self.written, self.read) = (0, 0);
        self.doubts.clear();
        if let Some(seen) = &mut self.seen {
            seen.clear();
        }
    }

    /// A write with this number did not end well.
    pub(super) fn doubt(&mut self, number: u64) {
        self.doubts.insert(number);
    }

    /// The next block to be read back, before this many writes; `None` when there is none. Those that are not judged are
    /// counted in `uncertain`.
    pub(super) fn next(&mut self, until: u64, uncertain: &mut u64) -> Option<Drawn> {
        while self.read < until {
            let direction = self.stream.draw_direction();
            let drawn = self.stream.next(direction)?;
            if drawn.kind != OpKind::Write {
                continue;
            }
            let number = self.read;
            self.read += 1;
            if !self.doubts.is_empty() && self.doubts.contains(number) {
                *uncertain += 1;
                continue;
            }
            if self.seen.as_mut().is_none_or(|seen| seen.is_new(drawn.file, drawn.offset)) {
                return Some(drawn);
            }
        }
        None
    }
}
