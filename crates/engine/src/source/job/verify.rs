//! Reads back what was written, using a copy of the stream that follows it.

use super::seen::{LastWrites, Seen};
use super::stream::{Drawn, Stream};
use crate::written::UncertainRanges;
use metrics::OpKind;

/// The writes of a pass, and how many of them were read back. All writes of a pass have one generation.
#[derive(Debug)]
pub(super) struct Follower {
    /// The stream as it was at the start of the pass, advanced to the current position of reading back.
    stream: Stream,
    /// Writes started, and how many of them were read back or skipped.
    pub written: u64,
    pub read: u64,
    /// Numbers of failed writes, whose blocks are not judged.
    doubts: UncertainRanges,
    /// How a pass may overwrite its own blocks.
    overwritten: Overwritten,
}

/// How to tell the blocks of a pass from those it overwrote.
#[derive(Debug)]
pub(super) enum Overwritten {
    /// Nothing is overwritten, or every write can be compared.
    Nothing,
    /// Whole blocks, which are read back once.
    Whole(Seen),
    /// Parts of blocks: only whole ones are read back.
    InPart(LastWrites),
}

impl Follower {
    pub(super) fn new(stream: &Stream, overwritten: Overwritten) -> Self {
        Follower {
            stream: stream.clone(),
            written: 0,
            read: 0,
            doubts: UncertainRanges::default(),
            overwritten,
        }
    }

    /// Counts the start of a write and returns its number within the pass.
    pub(super) fn wrote(&mut self, drawn: &Drawn) -> u64 {
        let number = self.written;
        self.written += 1;
        if let Overwritten::InPart(last) = &mut self.overwritten {
            last.wrote(drawn, number);
        }
        number
    }

    /// Starts another pass.
    pub(super) fn begin(&mut self, stream: &Stream) {
        self.stream.clone_from(stream);
        (self.written, self.read) = (0, 0);
        self.doubts.clear();
        match &mut self.overwritten {
            Overwritten::Nothing => {}
            Overwritten::Whole(seen) => seen.clear(),
            Overwritten::InPart(last) => last.clear(),
        }
    }

    /// Marks the write with this number as failed.
    pub(super) fn doubt(&mut self, number: u64) {
        self.doubts.insert(number);
    }

    /// The next block to read back, up to this number of writes; `None` if there is none. Blocks that are not judged
    /// are counted in `uncertain`.
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
            let stands = match &mut self.overwritten {
                Overwritten::Nothing => true,
                Overwritten::Whole(seen) => seen.is_new(drawn.file, drawn.offset),
                Overwritten::InPart(last) => {
                    let whole = last.is_whole(&drawn, number);
                    *uncertain += u64::from(!whole && !last.is_exact());
                    whole
                }
            };
            if stands {
                return Some(drawn);
            }
        }
        None
    }
}
