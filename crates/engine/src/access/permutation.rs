//! A keyed permutation of any number of places: "each once, in random order", without a list.
//!
//! A Feistel network (Luby and Rackoff, 1988) permutes the next power of two above the number; results outside the
//! range are permuted again until they fall inside (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite
//! domains", 2002). Fewer than two rounds of this are needed on average. It is not a cipher: nothing here is secret.

/// Half-rounds; each changes one half by a function of the other.
const ROUNDS: usize = 6;

/// A permutation of `0..total`, and its inverse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Permutation {
    total: u64,
    /// Number of bits in the low half.
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation for a key.
    pub(crate) fn new(total: u64, key: u64) -> Self {
        let bits = u64::BITS - total.saturating_sub(1).leading_zeros();
        let bits = bits.max(2);
        let low_bits = bits.div_ceil(2);
        let mask = |bits: u32| (1u64 << bits) - 1;
        let mut random = fastrand::Rng::with_seed(key);
        let keys = std::array::from_fn(|_| random.u64(..));
        Permutation { total, low_bits, low_mask: mask(low_bits), high_mask: mask(bits - low_bits), keys }
    }

    /// The place at this position, which must be below the total.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        debug_assert!(position < self.total);
        let mut place = position;
        loop {
            place = self.forth(place);
            if place < self.total {
                return place;
            }
        }
    }

    /// The position of this place.
    #[inline]
    pub(crate) fn position_of(&self, place: u64) -> u64 {
        debug_assert!(place < self.total);
        let mut position = place;
        loop {
            position = self.back(position);
            if position < self.total {
                return position;
            }
        }
    }

    #[inline]
    fn forth(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for keys in self.keys.chunks_exact(2) {
            high ^= mixed(low, keys[0]) & self.high_mask;
            low ^= mixed(high, keys[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }

    #[inline]
    fn back(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for keys in self.keys.chunks_exact(2).rev() {
            low ^= mixed(high, keys[1]) & self.low_mask;
            high ^= mixed(low, keys[0]) & self.high_mask;
        }
        high << self.low_bits | low
    }
}

/// Folds both halves of a wide product: every input bit affects every bit of the result.
#[inline]
fn mixed(value: u64, key: u64) -> u64 {
    let product = u128::from(value ^ key) * u128::from(key | 1);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_place_comes_once_at_any_size() {
        for total in (1..70).chain([255, 256, 257, 1000, 4095, 4097]) {
            let permutation = Permutation::new(total, total ^ 77);
            let places: HashSet<u64> = (0..total).map(|at| permutation.at(at)).collect();
            assert_eq!(places.len() as u64, total);
            assert!(places.iter().all(|place| *place < total));
        }
    }

    #[test]
    fn neighbours_are_scattered_and_keys_differ() {
        let total = 1_000_000;
        let (one, two) = (Permutation::new(total, 1), Permutation::new(total, 2));
        let near = (1..total).filter(|at| one.at(*at).abs_diff(one.at(at - 1)) < 1000).count();
        // Two independent places lie within 1000 of each other with probability 0.002: 2000 of a million, give or
        // take 45 (one standard deviation).
        assert!((1700..2300).contains(&near), "{near} neighbours stayed neighbours");
        let same = (0..total).filter(|at| one.at(*at) == two.at(*at)).count();
        assert!(same < 12, "{same} places are alike under two keys; one is expected");
    }

    #[test]
    fn positions_do_not_tell_places() {
        // Chi-square over a 16 by 16 table of (sixteenth of the position, sixteenth of the place). In a permutation the
        // margins are fixed: 225 degrees of freedom, mean 225, standard deviation 21.
        let total = 1u64 << 16;
        let permutation = Permutation::new(total - 5, 3);
        let mut table = [[0u32; 16]; 16];
        for at in 0..total - 5 {
            table[(at >> 12) as usize][(permutation.at(at) >> 12) as usize] += 1;
        }
        let expected = (total - 5) as f64 / 256.0;
        let squares = table.iter().flatten().map(|seen| (f64::from(*seen) - expected).powi(2) / expected);
        let chi_square: f64 = squares.sum();
        assert!((125.0..330.0).contains(&chi_square), "{chi_square}");
    }

    proptest! {
        #[test]
        fn the_inverse_finds_back(total in 1u64..1 << 62, key: u64, at: u64) {
            let permutation = Permutation::new(total, key);
            let place = permutation.at(at % total);
            prop_assert!(place < total);
            prop_assert_eq!(permutation.position_of(place), at % total);
        }
    }
}
