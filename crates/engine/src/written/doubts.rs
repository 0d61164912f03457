//! Positions where it is unknown whether the write took effect: a bounded list of ranges.

use std::ops::Range;

/// Maximum number of ranges. Beyond that, the two closest are joined, so that more is in doubt than necessary, never
/// less.
const MOST: usize = 64;

/// Ranges in order, separate from each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UncertainRanges {
    ranges: Vec<Range<u64>>,
}

impl UncertainRanges {
    /// Adds a range that starts or ends no earlier than all previous ones.
    #[cold]
    pub(crate) fn add(&mut self, mut range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        while let Some(last) = self.ranges.last()
            && last.end >= range.start
        {
            range = range.start.min(last.start)..range.end.max(last.end);
            self.ranges.pop();
        }
        self.ranges.push(range);
        if self.ranges.len() > MOST {
            self.join_closest();
        }
    }

    /// Adds a position anywhere.
    #[cold]
    pub(crate) fn insert(&mut self, position: u64) {
        let at = self.ranges.partition_point(|range| range.end < position);
        match self.ranges.get_mut(at) {
            Some(range) if range.start <= position + 1 => {
                *range = range.start.min(position)..range.end.max(position + 1);
                if self.ranges.get(at + 1).is_some_and(|next| next.start <= self.ranges[at].end) {
                    self.ranges[at].end = self.ranges.remove(at + 1).end;
                }
            }
            _ => self.ranges.insert(at, position..position + 1),
        }
        if self.ranges.len() > MOST {
            self.join_closest();
        }
    }

    fn join_closest(&mut self) {
        let gap = |at: &usize| self.ranges[at + 1].start - self.ranges[*at].end;
        if let Some(at) = (0..self.ranges.len() - 1).min_by_key(gap) {
            let end = self.ranges.remove(at + 1).end;
            self.ranges[at].end = end;
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn contains(&self, position: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= position);
        after > 0 && position < self.ranges[after - 1].end
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_and_overlaps_become_one() {
        let mut doubts = UncertainRanges::default();
        for range in [3..4, 4..5, 9..10, 8..12, 20..20] {
            doubts.add(range);
        }
        assert_eq!(doubts.ranges, [3..5, 8..12]);
        assert!(doubts.contains(3) && doubts.contains(4) && doubts.contains(11));
        assert!(!doubts.contains(2) && !doubts.contains(5) && !doubts.contains(12));
    }

    proptest! {
        #[test]
        fn what_comes_in_no_order_is_kept_too(positions in prop::collection::vec(0u64..2000, 1..300)) {
            let mut doubts = UncertainRanges::default();
            positions.iter().for_each(|position| doubts.insert(*position));
            prop_assert!(doubts.ranges.len() <= MOST);
            prop_assert!(positions.iter().all(|position| doubts.contains(*position)));
            prop_assert!(doubts.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }

        #[test]
        fn nothing_that_was_added_is_ever_forgotten(gaps in prop::collection::vec(1u64..50, 1..400)) {
            let mut doubts = UncertainRanges::default();
            let mut added = Vec::new();
            let mut at = 0;
            for gap in gaps {
                at += gap;
                doubts.add(at..at + 1);
                added.push(at);
            }
            prop_assert!(doubts.ranges.len() <= MOST);
            prop_assert!(added.iter().all(|at| doubts.contains(*at)));
            prop_assert!(doubts.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
