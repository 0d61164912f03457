//! When operations are meant to start: the [`Schedule`] of one worker.

use std::cell::Cell;

use crate::Schedule;

/// Hands the intended start times of one worker to whichever of its lanes is free.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Nanoseconds between two starts of all workers; 0 in a closed loop.
    gap_ns: f64,
    start_ns: u64,
    worker: u64,
    workers: u64,
    taken: Cell<u64>,
}

impl Pacer {
    /// The schedule of worker `worker` of `workers`, of a stage that begins at `start_ns`.
    pub(crate) fn new(schedule: &Schedule, start_ns: u64, worker: u32, workers: u32) -> Self {
        let gap_ns = match schedule {
            Schedule::Closed => 0.0,
            Schedule::Open { arrivals: experiment::Arrivals::Constant { ops_per_s }, .. } => 1e9 / ops_per_s,
            Schedule::Open { .. } => 0.0,
        };
        Pacer { gap_ns, start_ns, worker: worker.into(), workers: workers.into(), taken: Cell::new(0) }
    }

    /// The next intended start; `now` in a closed loop.
    #[inline]
    pub(crate) fn next(&self, now: u64) -> u64 {
        if self.gap_ns == 0.0 { now } else { self.take() }
    }

    /// True when starts are intended at given times, so that response time differs from service time.
    pub(crate) fn is_open(&self) -> bool {
        self.gap_ns != 0.0
    }

    fn take(&self) -> u64 {
        self.start_of(self.taken.replace(self.taken.get() + 1))
    }

    fn start_of(&self, number: u64) -> u64 {
        let overall = number * self.workers + self.worker;
        self.start_ns.saturating_add((overall as f64 * self.gap_ns).round() as u64)
    }

    /// Starts intended before `end_ns` that no lane was free for.
    pub(crate) fn missed_before(&self, end_ns: u64) -> u64 {
        if !self.is_open() || end_ns <= self.start_ns {
            return 0;
        }
        // The estimate may be one off by rounding; settle it by looking.
        let span = (end_ns - self.start_ns) as f64 / self.gap_ns;
        let mut intended = (span / self.workers as f64) as u64;
        while intended > 0 && self.start_of(intended - 1) >= end_ns {
            intended -= 1;
        }
        while self.start_of(intended) < end_ns {
            intended += 1;
        }
        intended.saturating_sub(self.taken.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_loop_starts_at_once() {
        let pacer = Pacer::new(&Schedule::Closed, 5, 0, 1);
        assert_eq!((pacer.next(17), pacer.next(18), pacer.is_open()), (17, 18, false));
        assert_eq!(pacer.missed_before(1_000_000), 0);
    }

    #[test]
    fn workers_share_a_rate_evenly() {
        let schedule = Schedule::rate(1000.0);
        let starts = |worker| {
            let pacer = Pacer::new(&schedule, 100, worker, 2);
            [pacer.next(0), pacer.next(0), pacer.next(0)]
        };
        assert_eq!(starts(0), [100, 2_000_100, 4_000_100]);
        assert_eq!(starts(1), [1_000_100, 3_000_100, 5_000_100]);
    }

    #[test]
    fn an_odd_rate_does_not_drift() {
        let pacer = Pacer::new(&Schedule::rate(3.0), 0, 0, 1);
        let last = (0..=3_000_000).map(|_| pacer.next(0)).last();
        assert_eq!(last, Some(1_000_000_000_000_000));
    }

    #[test]
    fn starts_that_nobody_was_free_for_are_counted() {
        let pacer = Pacer::new(&Schedule::rate(10.0), 1000, 0, 1);
        pacer.next(0);
        pacer.next(0);
        // Intended in the first second: 0, 100, .. 900 ms.
        assert_eq!(pacer.missed_before(1_000_001_000), 8);
        assert_eq!(pacer.missed_before(1_000_001_001), 9);
        assert_eq!(pacer.missed_before(0), 0);
    }
}
