//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): the same numbers on
//! every machine and in every version, so that what depends on them can be computed again from its seed.

/// The increment of the sequence.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The next number of the sequence.
pub const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(STEP);
    finalized(*state)
}

/// The number of the sequence that follows this state: a bijection that mixes well.
pub const fn mixed(state: u64) -> u64 {
    finalized(state.wrapping_add(STEP))
}

/// The sequence's finalizer alone: a bijection that mixes well, but leaves 0 as it is.
#[inline]
pub const fn finalized(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The reference implementation's first numbers from the seed 1234567.
        let mut state = 1_234_567;
        let drawn = [(); 3].map(|()| split_mix(&mut state));
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(mixed(1_234_567), drawn[0]);
        assert_eq!(finalized(0), 0);
    }
}
