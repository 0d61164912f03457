//! Orders that visit each place once: sequential, shuffled, strided. All have an inverse.

use super::permutation::Permutation;

/// An order of `0..total`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Turn {
    Straight,
    Shuffled(Permutation),
    Strided(Stride),
}

impl Turn {
    /// The place at this position.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        match self {
            Turn::Straight => position,
            Turn::Shuffled(permutation) => permutation.at(position),
            Turn::Strided(stride) => stride.at(position),
        }
    }

    /// The position of this place.
    #[inline]
    pub(crate) fn position_of(&self, place: u64) -> u64 {
        match self {
            Turn::Straight => place,
            Turn::Shuffled(permutation) => permutation.position_of(place),
            Turn::Strided(stride) => stride.position_of(place),
        }
    }
}

/// 0, s, 2s, … to the end; then 1, s + 1, …: one residue after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stride {
    stride: u64,
    /// Places per residue from `long` on; the earlier ones have one more.
    each: u64,
    long: u64,
}

impl Stride {
    pub(crate) fn new(total: u64, stride: u64) -> Self {
        let stride = stride.clamp(1, total.max(1));
        Stride { stride, each: total / stride, long: total % stride }
    }

    fn at(&self, position: u64) -> u64 {
        let edge = self.long * (self.each + 1);
        let (residue, step) = if position < edge {
            (position / (self.each + 1), position % (self.each + 1))
        } else {
            (self.long + (position - edge) / self.each, (position - edge) % self.each)
        };
        residue + step * self.stride
    }

    fn position_of(&self, place: u64) -> u64 {
        let (residue, step) = (place % self.stride, place / self.stride);
        residue * self.each + residue.min(self.long) + step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_go_on_from_the_next_place() {
        let order = |total, stride| {
            let turn = Turn::Strided(Stride::new(total, stride));
            (0..total).map(|at| turn.at(at)).collect::<Vec<_>>()
        };
        assert_eq!(order(10, 4), [0, 4, 8, 1, 5, 9, 2, 6, 3, 7]);
        assert_eq!(order(6, 3), [0, 3, 1, 4, 2, 5]);
        assert_eq!(order(4, 1), [0, 1, 2, 3]);
        assert_eq!(order(3, 100), [0, 1, 2], "a stride beyond the end goes to the next place");
    }

    #[test]
    fn every_order_has_its_inverse() {
        for total in 1..40 {
            let turns = [Turn::Straight, Turn::Shuffled(Permutation::new(total, 9))];
            let strided = (1..10).map(|stride| Turn::Strided(Stride::new(total, stride)));
            for turn in turns.into_iter().chain(strided) {
                let mut seen = vec![false; total as usize];
                for position in 0..total {
                    let place = turn.at(position);
                    assert_eq!(turn.position_of(place), position, "{turn:?} of {total}");
                    seen[place as usize] = true;
                }
                assert!(seen.iter().all(|seen| *seen));
            }
        }
    }
}
