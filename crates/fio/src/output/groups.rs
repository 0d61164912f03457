//! Groups of jobs: the "Run status group" lines, and each job's share of its group.

use std::collections::BTreeMap;

use experiment::ShownDirections;

use super::direction::DirectionFigures;
use super::entry::FioEntry;
use runner::op_logs::direction;

/// One direction over the entries of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Total bytes.
    pub bytes: u64,
    /// Bandwidth of the slowest entry, in bytes per second.
    pub slowest: f64,
    /// Bandwidth of the fastest entry, in bytes per second.
    pub fastest: f64,
    /// The shortest runtime of an entry, in nanoseconds.
    pub shortest_ns: u64,
    /// The longest runtime of an entry, in nanoseconds.
    pub longest_ns: u64,
}

impl Summary {
    fn add(&mut self, direction: &DirectionFigures) {
        if direction.runtime_ns == 0 {
            return;
        }
        let rate = direction.bytes_per_s();
        let first = self.longest_ns == 0;
        self.bytes += direction.bytes;
        self.slowest = if first { rate } else { self.slowest.min(rate) };
        self.fastest = self.fastest.max(rate);
        self.shortest_ns =
            if first { direction.runtime_ns } else { self.shortest_ns.min(direction.runtime_ns) };
        self.longest_ns = self.longest_ns.max(direction.runtime_ns);
    }

    /// Total bytes per second, over the longest runtime.
    pub fn bytes_per_s(&self) -> f64 {
        match self.longest_ns {
            0 => 0.0,
            ns => self.bytes as f64 * 1e9 / ns as f64,
        }
    }

    /// A job's share in percent: from the mean of its samples, as in fio, but never more than 100.
    pub fn percent(&self, direction: &DirectionFigures) -> f64 {
        let all = self.bytes_per_s();
        if all > 0.0 { (direction.bandwidth.mean * 100.0 / all).min(100.0) } else { 0.0 }
    }
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryGroup {
    /// Reads, writes, trims.
    pub directions: [Summary; direction::COUNT],
    /// All directions combined.
    pub mixed: Summary,
    /// How its jobs want the directions shown.
    pub shown: ShownDirections,
}

/// The groups of these entries, by group number.
pub fn of(entries: &[FioEntry]) -> BTreeMap<u32, EntryGroup> {
    let mut groups: BTreeMap<u32, EntryGroup> = BTreeMap::new();
    for entry in entries {
        let group = groups.entry(entry.group).or_default();
        for (sum, direction) in group.directions.iter_mut().zip(&entry.directions) {
            sum.add(direction);
        }
        group.mixed.add(&entry.together());
        group.shown = entry.report.directions;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_and_the_fastest_are_of_entries() {
        let entry = |bytes: u64, ms: u64| {
            let mut entry = FioEntry::default();
            entry.directions[0] =
                DirectionFigures { bytes, ops: 1, runtime_ns: ms * 1_000_000, ..DirectionFigures::default() };
            entry
        };
        let groups = of(&[entry(1_000, 10), entry(3_000, 20)]);
        let read = groups[&0].directions[0];
        assert_eq!((read.bytes, read.shortest_ns, read.longest_ns), (4_000, 10_000_000, 20_000_000));
        assert_eq!((read.slowest, read.fastest, read.bytes_per_s()), (100_000.0, 150_000.0, 200_000.0));
        assert_eq!(groups[&0].directions[1], Summary::default());
    }
}
