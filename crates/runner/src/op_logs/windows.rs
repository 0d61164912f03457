//! Time windows of equal length, filled by several workers and released when all workers have passed them.

use std::collections::BTreeMap;

/// Maximum windows that wait for a worker; beyond that the oldest is released without it.
const MAX_WAITING: usize = 64;

/// Time windows with their counts.
#[derive(Debug)]
pub(super) struct Windows<T> {
    length_ns: u64,
    /// The window that each worker is in.
    reached: Vec<u64>,
    waiting: BTreeMap<u64, T>,
    /// Time of the last count.
    last_ns: u64,
}

/// A complete window.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complete<T> {
    /// Its end, in nanoseconds; the last one ends with the last operation.
    pub end_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Its counts.
    pub counted: T,
}

impl<T: Default> Windows<T> {
    /// Windows of this length, filled by this many workers.
    pub(super) fn new(length_ms: u64, workers: u32) -> Self {
        Windows {
            length_ns: length_ms.max(1) * 1_000_000,
            reached: vec![0; workers.max(1) as usize],
            waiting: BTreeMap::new(),
            last_ns: 0,
        }
    }

    /// The counts for an operation that ended at this time. A worker's times never go back.
    pub(super) fn at(&mut self, worker: u32, end_ns: u64) -> &mut T {
        // An operation that ends with a window belongs to it.
        let number = end_ns.saturating_sub(1) / self.length_ns;
        if let Some(reached) = self.reached.get_mut(worker as usize) {
            *reached = (*reached).max(number);
        }
        self.last_ns = self.last_ns.max(end_ns);
        self.waiting.entry(number).or_default()
    }

    /// The next window that all workers have passed; with `all`, the next one there is.
    pub(super) fn next(&mut self, all: bool) -> Option<Complete<T>> {
        let past = self.reached.iter().copied().min().unwrap_or(0);
        let first = *self.waiting.first_key_value()?.0;
        if first >= past && self.waiting.len() <= MAX_WAITING && !all {
            return None;
        }
        let counted = self.waiting.remove(&first)?;
        let start = first * self.length_ns;
        let last = all && self.waiting.is_empty();
        // Rounded to whole milliseconds, the unit of the logs.
        let end_ns = match last {
            true => self.last_ns.max(start + 1).next_multiple_of(1_000_000).min(start + self.length_ns),
            false => start + self.length_ns,
        };
        Some(Complete { end_ns, length_ns: end_ns - start, counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_shown_when_all_workers_are_past_it() {
        let mut windows = Windows::<u64>::new(1, 2);
        *windows.at(0, 500_000) += 1;
        *windows.at(0, 1_500_000) += 1;
        assert_eq!(windows.next(false), None);
        *windows.at(1, 999_999) += 1;
        *windows.at(1, 2_250_000) += 1;
        assert_eq!(
            windows.next(false),
            Some(Complete { end_ns: 1_000_000, length_ns: 1_000_000, counted: 2 })
        );
        assert_eq!(windows.next(false), None);
        assert_eq!(windows.next(true).map(|span| span.end_ns), Some(2_000_000));
        // The last one ends with its last count.
        assert_eq!(
            windows.next(true),
            Some(Complete { end_ns: 3_000_000, length_ns: 1_000_000, counted: 1 })
        );
        assert_eq!(windows.next(true), None);
    }

    #[test]
    fn a_worker_that_hangs_does_not_make_memory_grow() {
        let mut windows = Windows::<u64>::new(1, 2);
        for ms in 0..1_000 {
            *windows.at(0, ms * 1_000_000) += 1;
            while windows.next(false).is_some() {}
            assert!(windows.waiting.len() <= MAX_WAITING);
        }
    }
}
