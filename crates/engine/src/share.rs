//! Even shares of a number of items.

use std::ops::Range;

/// `total` items in `parts` contiguous runs, whose lengths differ by at most one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    pub total: u64,
    pub parts: u64,
}

impl Shares {
    /// The run of one part.
    pub(crate) fn of(&self, part: u64) -> Range<u64> {
        self.edge(part)..self.edge(part + 1)
    }

    /// The part that an item belongs to.
    pub(crate) fn owner_of(&self, thing: u64) -> u64 {
        let product = (u128::from(thing) + 1) * u128::from(self.parts) - 1;
        u64::try_from(product / u128::from(self.total)).expect("below the number of parts")
    }

    fn edge(&self, part: u64) -> u64 {
        let edge = u128::from(self.total) * u128::from(part) / u128::from(self.parts);
        u64::try_from(edge).expect("a part of a u64")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_thing_has_one_owner(total in 1u64..500, parts in 1u64..60) {
            let shares = Shares { total, parts };
            let mut next = 0;
            for part in 0..parts {
                let run = shares.of(part);
                prop_assert_eq!(run.start, next);
                prop_assert!(run.end - run.start <= total.div_ceil(parts));
                for thing in run.clone() {
                    prop_assert_eq!(shares.owner_of(thing), part);
                }
                next = run.end;
            }
            prop_assert_eq!(next, total);
        }
    }
}
