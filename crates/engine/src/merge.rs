//! Merges intervals of several workers or hosts: each is shown once all have delivered their parts.

use std::collections::VecDeque;

use metrics::Interval;

/// Collects the parts of each interval and shows the merged ones in order. Its memory grows with the lag between parts.
#[derive(Debug)]
pub struct Merger {
    /// Number of the interval that each worker delivers next; `u32::MAX` if it delivers no more.
    next: Vec<u32>,
    /// Incomplete intervals, in ascending order.
    waiting: VecDeque<Interval>,
    /// Emptied buffers.
    spare: Vec<Interval>,
}

impl Merger {
    /// A merger for this many workers.
    pub fn new(workers: usize) -> Self {
        Merger { next: vec![0; workers], waiting: VecDeque::new(), spare: Vec::new() }
    }

    /// Adds a worker's part, and shows the intervals it completes. Workers deliver parts in order and may skip some.
    pub fn add(&mut self, worker: u32, part: &Interval, observer: &mut dyn FnMut(&Interval)) {
        self.next[worker as usize] = part.index.saturating_add(1);
        let at = self.waiting.partition_point(|waiting| waiting.index < part.index);
        if self.waiting.get(at).is_none_or(|waiting| waiting.index != part.index) {
            let mut whole = self.spare.pop().unwrap_or_default();
            (whole.index, whole.start_ns) = (part.index, part.start_ns);
            self.waiting.insert(at, whole);
        }
        let whole = &mut self.waiting[at];
        whole.length_ns = whole.length_ns.max(part.length_ns);
        whole.merge(part);
        self.show(observer);
    }

    /// Number of incomplete intervals.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Shows the first incomplete interval with the parts available. Parts that arrive for it later must not be added.
    pub fn show_first(&mut self, observer: &mut dyn FnMut(&Interval)) {
        let Some(first) = self.waiting.front().map(|waiting| waiting.index) else { return };
        for next in &mut self.next {
            *next = (*next).max(first + 1);
        }
        self.show(observer);
    }

    /// Marks a worker as finished: it delivers no more.
    pub fn finish(&mut self, worker: u32, observer: &mut dyn FnMut(&Interval)) {
        self.next[worker as usize] = u32::MAX;
        self.show(observer);
    }

    fn show(&mut self, observer: &mut dyn FnMut(&Interval)) {
        let complete = self.next.iter().copied().min().unwrap_or(u32::MAX);
        while self.waiting.front().is_some_and(|waiting| waiting.index < complete) {
            let Some(mut whole) = self.waiting.pop_front() else { return };
            observer(&whole);
            whole.clear();
            self.spare.push(whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;

    fn part(index: u32, ok: u64) -> Interval {
        let mut part =
            Interval { index, start_ns: u64::from(index) * 10, length_ns: 10, ..Interval::default() };
        part.op_mut(OpKind::Read).ok = ok;
        part
    }

    #[test]
    fn an_interval_is_shown_when_all_parts_are_there_in_order() {
        let mut seen = Vec::new();
        let mut merger = Merger::new(2);
        for (worker, index, ok) in [(0, 0, 1), (0, 1, 2), (1, 0, 10), (0, 2, 3), (1, 2, 30)] {
            merger.add(worker, &part(index, ok), &mut |i| seen.push((i.index, i.start_ns, i.ok())));
        }
        // Worker 1 skipped its interval 1: it is shown with the parts available.
        assert_eq!(seen, [(0, 0, 11), (1, 10, 2), (2, 20, 33)]);
    }

    #[test]
    fn nobody_need_be_waited_for_for_ever() {
        let mut seen = Vec::new();
        let mut merger = Merger::new(2);
        for index in 0..3 {
            merger.add(0, &part(index, 1), &mut |i| seen.push((i.index, i.ok())));
        }
        assert_eq!((seen.len(), merger.waiting()), (0, 3));
        merger.show_first(&mut |i| seen.push((i.index, i.ok())));
        merger.add(1, &part(1, 10), &mut |i| seen.push((i.index, i.ok())));
        assert_eq!(seen, [(0, 1), (1, 11)]);
    }

    #[test]
    fn a_worker_that_has_finished_holds_nobody_up() {
        let mut seen = Vec::new();
        let mut merger = Merger::new(2);
        merger.add(0, &part(0, 1), &mut |i| seen.push(i.ok()));
        merger.finish(1, &mut |i| seen.push(i.ok()));
        merger.add(0, &part(1, 2), &mut |i| seen.push(i.ok()));
        assert_eq!(seen, [1, 2]);
        assert!(merger.waiting.is_empty());
    }
}
