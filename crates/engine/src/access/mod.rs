//! Which block, file or object comes next: the access patterns, in constant memory.

pub(crate) mod permutation;
pub(crate) mod popularity;
mod turn;

use std::ops::Range;

use experiment::Access;

use permutation::Permutation;
use popularity::{Pareto, Popularity, Zipf};
use turn::Stride;
pub(crate) use turn::Turn;

/// The range from which a lane draws.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Number of places.
    pub total: u64,
    /// This lane's even share of them; empty if there are more lanes than places.
    pub share: Range<u64>,
    /// Whether draws must stay within the share.
    pub keep_to_share: bool,
    /// Length of a place in bytes, for strides.
    pub place_bytes: u64,
    /// Seed for everything that all lanes must have in common.
    pub seed: u64,
}

/// An order that visits each of `total` places once; `pass` is the number of completed passes.
pub(crate) fn turn_of(access: &Access, total: u64, place_bytes: u64, key: u64, pass: u64) -> Turn {
    match access {
        Access::Sequential => Turn::Straight,
        Access::Strided { stride_bytes } => {
            Turn::Strided(Stride::new(total, stride_bytes / place_bytes.max(1)))
        }
        _ => Turn::Shuffled(Permutation::new(total, spread(key, pass))),
    }
}

/// A separate seed for the n-th of something.
pub(crate) fn spread(seed: u64, number: u64) -> u64 {
    (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(29)
}

/// Draws places one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    /// Offset added to each draw.
    first: u64,
    total: u64,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    /// Each place once, then again.
    InTurn { turn: Turn, next: u64 },
    /// The same, in a different order on each pass.
    Shuffled { permutation: Permutation, next: u64, key: u64, pass: u64 },
    /// All equally likely.
    Evenly,
    /// By rank; the assignment of ranks to places is scattered.
    ByRank { popularity: Popularity, scatter: Permutation },
    /// The first `hot` places get a fixed share of the draws.
    Hotspot { hot: u64, ops: f64 },
}

impl Picker {
    /// A picker for the access pattern. Sequential and uniform patterns keep each lane to its own share, or start
    /// there; those with favourites have the same favourites in all lanes.
    pub(crate) fn new(access: &Access, field: &Field) -> Self {
        let Field { total, share, .. } = field;
        let (first, count) = (share.start, share.end - share.start);
        let own = if count == 0 { (0, *total) } else { (first, count) };
        let key = spread(field.seed, first);
        let (first, total, way) = match access {
            Access::Sequential | Access::Strided { .. } => {
                let (base, total) = if field.keep_to_share { own } else { (0, *total) };
                let turn = turn_of(access, total, field.place_bytes, key, 0);
                let next = if total == 0 { 0 } else { (first - base.min(first)) % total };
                (base, total, Way::InTurn { turn, next })
            }
            Access::Shuffled => {
                let permutation = Permutation::new(own.1, key);
                (own.0, own.1, Way::Shuffled { permutation, next: 0, key, pass: 0 })
            }
            Access::Random => (own.0, own.1, Way::Evenly),
            Access::Zipf { .. } | Access::Pareto { .. } | Access::Hotspot { .. } => {
                let (base, total) = if field.keep_to_share { own } else { (0, *total) };
                (base, total, Self::favourites(access, total, field.seed))
            }
        };
        Picker { first, total, way }
    }

    fn favourites(access: &Access, total: u64, seed: u64) -> Way {
        let scatter = Permutation::new(total, seed);
        match access {
            Access::Zipf { theta } => {
                Way::ByRank { popularity: Popularity::Zipf(Zipf::new(total, *theta)), scatter }
            }
            Access::Pareto { h } => {
                Way::ByRank { popularity: Popularity::Pareto(Pareto::new(total, *h)), scatter }
            }
            Access::Hotspot { ops, space } => {
                let hot = ((total as f64 * space).round() as u64).clamp(1, total.max(1));
                Way::Hotspot { hot, ops: *ops }
            }
            _ => Way::Evenly,
        }
    }

    /// The next place; at least one must exist.
    #[inline]
    pub(crate) fn next(&mut self, random: &mut fastrand::Rng) -> u64 {
        let place = match &mut self.way {
            Way::Evenly => random.u64(..self.total),
            Way::InTurn { turn, next } => {
                let place = turn.at(*next);
                *next = if *next + 1 == self.total { 0 } else { *next + 1 };
                place
            }
            Way::Shuffled { permutation, next, key, pass } => {
                let place = permutation.at(*next);
                *next += 1;
                if *next == self.total {
                    (*next, *pass) = (0, *pass + 1);
                    *permutation = Permutation::new(self.total, spread(*key, *pass));
                }
                place
            }
            Way::ByRank { popularity, scatter } => scatter.at(popularity.draw(random)),
            Way::Hotspot { hot, ops } => {
                let cold = self.total - *hot;
                if cold == 0 || random.f64() < *ops { random.u64(..*hot) } else { *hot + random.u64(..cold) }
            }
        };
        self.first + place
    }
}

#[cfg(test)]
mod tests;
