//! Divides a region into pieces of several sizes, each visited once.
//!
//! The region is a sequence of stretches. Each stretch has every size as often as its share requires, in one of a few
//! shuffled orders; the remainder at the end is divided the same way, as far as it goes. The n-th piece can therefore
//! be found without a list of all, the pieces cover everything without overlap, and the shares of the sizes are exact.

use crate::access::permutation::Permutation;
use crate::access::spread;

/// Number of different orders of the pieces in a stretch.
const ORDERS: u64 = 16;
/// Maximum number of pieces in a stretch.
const MOST: u64 = 1000;

/// A piece: a size, for operations of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub offset: u64,
    pub len: u64,
    /// The direction it is for; `None` for any.
    pub direction: Option<usize>,
}

/// A region divided into pieces.
#[derive(Debug)]
pub(super) struct Pieces {
    orders: Vec<Vec<Piece>>,
    each: u64,
    stretch: u64,
    stretches: u64,
    rest: Vec<Piece>,
    seed: u64,
}

impl Pieces {
    /// `kinds` are sizes, directions and shares; pieces start at multiples of `unit`.
    pub(super) fn new(kinds: &[(u64, Option<usize>, f64)], unit: u64, length: u64, seed: u64) -> Self {
        let counts = counts(kinds);
        let row: Vec<(u64, Option<usize>)> = kinds
            .iter()
            .zip(counts)
            .flat_map(|((len, direction, _), count)| (0..count).map(move |_| (*len, *direction)))
            .collect();
        let each = row.len() as u64;
        let stretch: u64 = row.iter().map(|(len, _)| len.next_multiple_of(unit)).sum();
        let order = |number: u64, room: u64| {
            let shuffle = Permutation::new(each, spread(seed, number));
            let mut offset = 0;
            let mut pieces = Vec::new();
            for at in 0..each {
                let (len, direction) = row[shuffle.at(at) as usize];
                let left = room - offset;
                // A piece that no longer fits is cut to whole units.
                let len = if len <= left { len } else { left / unit * unit };
                if len == 0 {
                    break;
                }
                pieces.push(Piece { offset, len, direction });
                offset = (offset + len.next_multiple_of(unit)).min(room);
            }
            pieces
        };
        let stretches = length / stretch;
        let orders = (0..ORDERS.min(stretches)).map(|number| order(number, stretch)).collect();
        let begin = stretches * stretch;
        let rest = order(ORDERS, length - begin).into_iter();
        let rest = rest.map(|piece| Piece { offset: begin + piece.offset, ..piece }).collect();
        Pieces { orders, each, stretch, stretches, rest, seed }
    }

    /// Number of pieces.
    pub(super) fn total(&self) -> u64 {
        self.stretches * self.each + self.rest.len() as u64
    }

    pub(super) fn at(&self, number: u64) -> Piece {
        let (stretch, within) = (number / self.each, number % self.each);
        if stretch >= self.stretches {
            return self.rest[(number - self.stretches * self.each) as usize];
        }
        let order = spread(self.seed, !stretch) % self.orders.len() as u64;
        let piece = self.orders[order as usize][within as usize];
        Piece { offset: stretch * self.stretch + piece.offset, ..piece }
    }
}

/// How often each kind occurs in a stretch: the smallest numbers with these shares, or the best approximation.
fn counts(kinds: &[(u64, Option<usize>, f64)]) -> Vec<u64> {
    let rounded = |total: u64| kinds.iter().map(move |(_, _, share)| (share * total as f64).round());
    let fits = |total: &u64| {
        let wanted = kinds.iter().map(|(_, _, share)| share * *total as f64);
        rounded(*total).zip(wanted).all(|(count, wanted)| count >= 1.0 && (count - wanted).abs() < 0.01)
    };
    let total = (1..=MOST).find(fits).unwrap_or(MOST);
    rounded(total).map(|count| (count as u64).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_are_exact() {
        let kinds = [(4096, None, 0.7), (65536, None, 0.2), (16384, Some(1), 0.1)];
        let pieces = Pieces::new(&kinds, 4096, 1 << 30, 7);
        let mut seen = [0u64; 3];
        for number in 0..pieces.total() {
            let piece = pieces.at(number);
            let kind = kinds.iter().position(|kind| kind.0 == piece.len);
            seen[kind.unwrap_or(0)] += 1;
        }
        let total: u64 = seen.iter().sum();
        for (count, share) in seen.iter().zip([0.7, 0.2, 0.1]) {
            assert!((*count as f64 / total as f64 - share).abs() < 0.001, "{seen:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_cover_everything_once(
            sizes in prop::collection::vec((1u64..20, 1u32..100), 1..6),
            length in 1u64..5000,
            seed: u64,
        ) {
            let total: u32 = sizes.iter().map(|(_, weight)| weight).sum();
            let kinds: Vec<_> =
                sizes.iter().map(|(size, weight)| (size * 512, None, f64::from(*weight) / f64::from(total))).collect();
            let length = length * 512;
            let pieces = Pieces::new(&kinds, 512, length, seed);
            let mut all: Vec<Piece> = (0..pieces.total()).map(|number| pieces.at(number)).collect();
            all.sort_by_key(|piece| piece.offset);
            let mut next = 0;
            for piece in &all {
                prop_assert_eq!(piece.offset, next);
                next += piece.len;
            }
            prop_assert_eq!(next, length);
        }
    }
}
