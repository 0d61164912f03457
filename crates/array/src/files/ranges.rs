//! A set of coalesced byte ranges: data written but not yet stable.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-adjacent byte ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangeSet {
    /// Start to end.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a range, merging it with all ranges that it overlaps or touches.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        if let Some((&before, before_end)) = self.ranges.range_mut(..=start).next_back()
            && *before_end >= start
        {
            if *before_end >= end {
                return;
            }
            // The common case, a sequential writer: the last range grows at its end.
            if self.ranges.range(start + 1..=end).next().is_none() {
                self.ranges.insert(before, end);
                return;
            }
            start = before;
        }
        while let Some((&next, &next_end)) = self.ranges.range(start..=end).next() {
            end = end.max(next_end);
            self.ranges.remove(&next);
        }
        self.ranges.insert(start, end);
    }

    /// Removes a range; partly overlapping ones are trimmed.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        if let Some((&before, &before_end)) = self.ranges.range(..start).next_back()
            && before_end > start
        {
            self.ranges.insert(before, start);
            if before_end > end {
                self.ranges.insert(end, before_end);
                return;
            }
        }
        while let Some((&next, &next_end)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&next);
            if next_end > end {
                self.ranges.insert(end, next_end);
            }
        }
    }

    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The ranges in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_exactly_the_bytes_put_in_and_not_taken_out(
            steps in prop::collection::vec((any::<bool>(), 0u64..64, 0u64..20), 0..40)
        ) {
            let mut set = RangeSet::default();
            let mut model = [false; 128];
            for (add, start, len) in steps {
                let range = start..start + len;
                model[start as usize..(start + len) as usize].fill(add);
                if add { set.insert(range) } else { set.remove(range) }
                let mut held = [false; 128];
                let mut last_end = None;
                for range in set.iter() {
                    prop_assert!(range.start < range.end);
                    prop_assert!(last_end.is_none_or(|end| range.start > end), "not coalesced: {set:?}");
                    last_end = Some(range.end);
                    held[range.start as usize..range.end as usize].fill(true);
                }
                prop_assert_eq!(held, model);
            }
        }
    }
}
