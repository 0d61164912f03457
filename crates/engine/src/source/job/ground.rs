//! State shared by all files of the same length.

use experiment::{Distribution, Pattern};

use super::chance::RandomPlace;
use super::pieces::Pieces;
use super::sizes::Sizes;
use crate::access::spread;

/// How random operations find their places in a file, for one length of the part in use.
#[derive(Debug)]
pub(super) struct FileRegion {
    pub length: u64,
    /// Each block once: with a single size, or in pieces of several sizes.
    pub once: Option<Once>,
    /// Otherwise at random, per direction.
    pub chances: [RandomPlace; 3],
}

/// Blocks that each occur once per pass.
#[derive(Debug)]
pub(super) enum Once {
    /// A single size, in bytes.
    Blocks(u64),
    Pieces(Pieces),
}

impl Once {
    /// Number of blocks in the first `room` bytes.
    pub(super) fn total(&self, room: u64) -> u64 {
        match self {
            Once::Blocks(bytes) => room / bytes,
            Once::Pieces(pieces) => pieces.total(),
        }
    }
}

/// Sizes and units of all directions.
#[derive(Debug)]
pub(super) struct Grain {
    /// Shares of reads, writes and trims in the operations.
    pub shares: [f64; 3],
    pub sizes: [Sizes; 3],
    /// Random offsets are multiples of these.
    pub units: [u64; 3],
    /// Sizes depend on the order instead: the first is for sequential operations, the second for random ones.
    pub by_order: bool,
    /// Some direction's offsets must be multiples of something other than its size.
    pub aligned: bool,
}

impl Grain {
    /// The sizes of a direction's random operations.
    pub(super) fn by_chance(&self, direction: usize) -> &Sizes {
        &self.sizes[if self.by_order { 1 } else { direction }]
    }

    /// The sizes of a direction's sequential operations.
    pub(super) fn in_order(&self, direction: usize) -> &Sizes {
        &self.sizes[if self.by_order { 0 } else { direction }]
    }

    pub(super) fn most(&self) -> u64 {
        self.used().map(|direction| self.sizes[direction].most()).max().unwrap_or(1)
    }

    fn used(&self) -> impl Iterator<Item = usize> + '_ {
        (0..3).filter(|direction| self.shares[*direction] > 0.0 || self.by_order)
    }

    /// Whether each block occurs once per pass.
    pub(super) fn once(&self, pattern: &Pattern) -> bool {
        let even = [&pattern.distribution.read, &pattern.distribution.write, &pattern.distribution.trim];
        let even = (0..3).all(|d| self.shares[d] == 0.0 || *even[d] == Distribution::Even);
        pattern.random && !pattern.with_repeats && even && !self.aligned
    }
}

impl FileRegion {
    pub(super) fn new(grain: &Grain, pattern: &Pattern, length: u64, seed: u64) -> Self {
        let distributions =
            [&pattern.distribution.read, &pattern.distribution.write, &pattern.distribution.trim];
        let chance = |direction: usize| {
            let unit = grain.units[direction];
            let least = grain.by_chance(direction).least();
            let places = length.checked_sub(least).map_or(0, |room| room / unit + 1);
            RandomPlace::new(distributions[direction], places, unit, length, spread(seed, direction as u64))
        };
        let once = grain.once(pattern).then(|| Self::once(grain, length, seed));
        FileRegion { length, once, chances: [chance(0), chance(1), chance(2)] }
    }

    fn once(grain: &Grain, length: u64, seed: u64) -> Once {
        let used: Vec<usize> = (0..3).filter(|direction| grain.shares[*direction] > 0.0).collect();
        let sizes: Vec<&Sizes> = used.iter().map(|direction| grain.by_chance(*direction)).collect();
        let alike = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        if let (true, Sizes::Fixed(bytes)) = (alike, sizes[0]) {
            return Once::Blocks(*bytes);
        }
        let unit = used.iter().map(|direction| grain.units[*direction]).min().unwrap_or(1);
        let total: f64 = used.iter().map(|direction| grain.shares[*direction]).sum();
        let kinds: Vec<(u64, Option<usize>, f64)> = if alike {
            sizes[0].listed().into_iter().map(|(len, share)| (len, None, share)).collect()
        } else {
            let of = |direction: usize| {
                let part = grain.shares[direction] / total;
                let listed = grain.by_chance(direction).listed().into_iter();
                listed.map(move |(len, share)| (len, Some(direction), part * share))
            };
            used.iter().flat_map(|direction| of(*direction)).collect()
        };
        Once::Pieces(Pieces::new(&kinds, unit, length, seed))
    }
}
