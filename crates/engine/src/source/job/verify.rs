//! Reading back what was written: a copy of the stream, which follows it.

use super::seen::{LastWrites, Seen};
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
    /// What a pass may do to its own blocks.
    overwritten: Overwritten,
}

/// How what a pass wrote is told from what it wrote over.
#[derive(Debug)]
pub(super) enum Overwritten {
    /// Nothing is, or each write may be compared.
    Nothing,
    /// Whole blocks, which are read back once.
    Whole(Seen),
    /// Parts of blocks: only what is whole is read back.
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

    /// A write is begun: its number within the pass.
    pub(super) fn wrote(&mut self, drawn: &Drawn) -> u64 {
        let number = self.written;
        self.written += 1;
        if let Overwritten::InPart(last) = &mut self.overwritten {
            last.wrote(drawn, number);
        }
        number
    }

    /// Another pass begins.
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
