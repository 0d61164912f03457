//! Block sizes of one direction.

use experiment::SizeChoice;

use super::stream::common_divisor;

/// Number of sizes that represent a wide range where a list is needed.
const LISTED: u64 = 256;

/// Draws sizes, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sizes {
    Fixed(u64),
    /// `least + n · step`, for `n` below the count.
    Range {
        least: u64,
        step: u64,
        count: u64,
    },
    /// Cumulative weights up to 1, and sizes.
    Split(Vec<(f64, u64)>),
}

impl Sizes {
    pub(super) fn new(choice: &SizeChoice, unaligned: bool) -> Self {
        match choice {
            SizeChoice::Fixed(bytes) => Sizes::Fixed(*bytes),
            SizeChoice::Range { least, most } if least >= most => Sizes::Fixed(*least),
            SizeChoice::Range { least, most } => {
                let step = if unaligned { 1 } else { *least };
                Sizes::Range { least: *least, step, count: (most - least) / step + 1 }
            }
            SizeChoice::Split(sizes) if sizes.len() == 1 => Sizes::Fixed(sizes[0].bytes),
            SizeChoice::Split(sizes) => {
                let total: f64 = sizes.iter().map(|size| size.weight).sum();
                let mut sum = 0.0;
                let mut below = |weight: f64| {
                    sum += weight / total;
                    sum
                };
                Sizes::Split(sizes.iter().map(|size| (below(size.weight), size.bytes)).collect())
            }
        }
    }

    pub(super) fn least(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range { least, .. } => *least,
            Sizes::Split(sizes) => sizes.iter().map(|(_, bytes)| *bytes).min().unwrap_or(0),
        }
    }

    pub(super) fn most(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range { least, step, count } => least + step * (count - 1),
            Sizes::Split(sizes) => sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0),
        }
    }

    /// A common divisor of all sizes.
    pub(super) fn step(&self) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range { least, step, .. } => common_divisor(*least, *step),
            Sizes::Split(sizes) => sizes.iter().fold(0, |step, (_, bytes)| common_divisor(step, *bytes)),
        }
    }

    /// A size that fits into `room`; `None` if not even the smallest does.
    #[inline]
    pub(super) fn draw(&self, random: &mut fastrand::Rng, room: u64) -> Option<u64> {
        match self {
            Sizes::Fixed(bytes) => (*bytes <= room).then_some(*bytes),
            Sizes::Range { least, step, count } => {
                let fit = room.checked_sub(*least)? / step + 1;
                Some(least + step * random.u64(..fit.min(*count)))
            }
            Sizes::Split(sizes) => {
                let drawn = random.f64();
                let at = sizes.iter().position(|(below, _)| drawn < *below).unwrap_or(sizes.len() - 1);
                // A size that does not fit is replaced by the next one that does.
                let turn = sizes[at..].iter().chain(&sizes[..at]);
                turn.map(|(_, bytes)| *bytes).find(|bytes| *bytes <= room)
            }
        }
    }

    /// The sizes with their shares; a wide range is represented by evenly spaced ones.
    pub(super) fn listed(&self) -> Vec<(u64, f64)> {
        match self {
            Sizes::Fixed(bytes) => vec![(*bytes, 1.0)],
            Sizes::Range { least, step, count } => {
                let listed = LISTED.min(*count);
                let nth = |n: u64| if listed == 1 { 0 } else { n * (count - 1) / (listed - 1) };
                (0..listed).map(|n| (least + step * nth(n), 1.0 / listed as f64)).collect()
            }
            Sizes::Split(sizes) => {
                let mut before = 0.0;
                let mut share = |below: f64| below - std::mem::replace(&mut before, below);
                sizes.iter().map(|(below, bytes)| (*bytes, share(*below))).collect()
            }
        }
    }
}
