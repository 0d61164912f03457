//! When operations should start: the [`Schedule`] of one worker, the queue of waiting starts, and their statistics.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::Schedule;
use crate::arrivals::Starts;

/// A start delayed by at least this many nanoseconds counts as late.
const LATE_NS: u64 = 1_000_000;
/// Initial capacity of the queue of waiting starts; it grows on demand, up to the limit.
const ROOM: u64 = 1 << 16;

/// Hands a worker's intended start times to its free lanes.
#[derive(Debug)]
pub(crate) struct Pacer {
    open: Option<RefCell<Open>>,
}

/// Outcome of a worker's intended starts, for any kind of schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScheduleStats {
    /// Starts intended inside the window: begun, shed or missed.
    pub offered: u64,
    /// The part that was shed because too many were waiting.
    pub shed: u64,
    /// The part that began late.
    pub late: u64,
    /// Maximum number waiting at once.
    pub deepest: u64,
    /// Still waiting at the end, whenever they were intended.
    pub missed: u64,
}

impl ScheduleStats {
    /// Counts a start intended at `intended` that began at `now`; the measured window begins at `window_ns`.
    #[inline]
    pub(crate) fn begun(&mut self, intended: u64, now: u64, window_ns: u64) {
        if intended >= window_ns {
            self.offered += 1;
            self.late += u64::from(now - intended > LATE_NS);
        }
    }

    /// Counts a start intended at `intended` that did not begin before the end.
    pub(crate) fn missed(&mut self, intended: u64, window_ns: u64) {
        self.missed += 1;
        self.offered += u64::from(intended >= window_ns);
    }

    /// Records that this many are waiting.
    #[inline]
    pub(crate) fn waiting(&mut self, depth: u64) {
        self.deepest = self.deepest.max(depth);
    }
}

/// An open loop.
#[derive(Debug)]
struct Open {
    /// Start of the stage and of its window, in nanoseconds.
    start_ns: u64,
    window_ns: u64,
    waiting: Waiting,
    seen: ScheduleStats,
}

/// Starts that are due and not yet taken, and the source of future ones.
#[derive(Debug)]
enum Waiting {
    /// Without a limit on waiting starts, none is stored: the source is read twice, once by lanes that take and once to
    /// count.
    Unlimited { take: Starts, next: u64, count: Starts, due: u64, depth: u64 },
    /// Starts that arrive while `limit` are waiting are shed. `next` has not arrived yet.
    Limited { starts: Starts, next: u64, queue: VecDeque<u64>, limit: u64 },
}

impl Pacer {
    /// The schedule of worker `worker` out of `workers`, for a stage that begins at `start_ns` and whose window begins
    /// at `window_ns`.
    pub(crate) fn new(schedule: &Schedule, start_ns: u64, window_ns: u64, worker: u32, workers: u32) -> Self {
        let Schedule::Open { arrivals, backlog_limit, seed } = schedule else { return Pacer { open: None } };
        let Some(mut starts) = Starts::new(arrivals, *seed, worker, workers) else {
            return Pacer { open: None };
        };
        let mut count = starts.clone();
        let next = starts.next();
        let waiting = if *backlog_limit == u64::MAX {
            let due = count.next();
            Waiting::Unlimited { take: starts, next, count, due, depth: 0 }
        } else {
            let limit = backlog_limit.div_ceil(workers.into());
            let queue = VecDeque::with_capacity(limit.min(ROOM) as usize);
            Waiting::Limited { starts, next, queue, limit }
        };
        let open = Open { start_ns, window_ns, waiting, seen: ScheduleStats::default() };
        Pacer { open: Some(RefCell::new(open)) }
    }

    /// The next intended start for a lane that is free at `now`: a waiting one, otherwise a future one; `now` in a
    /// closed loop.
    #[inline]
    pub(crate) fn next(&self, now: u64) -> u64 {
        match &self.open {
            None => now,
            Some(open) => open.borrow_mut().next(now),
        }
    }

    /// A lane begins at `now` what was intended at `intended`.
    #[inline]
    pub(crate) fn begun(&self, intended: u64, now: u64) {
        if let Some(open) = &self.open {
            let open = &mut *open.borrow_mut();
            open.seen.begun(intended, now, open.window_ns);
        }
    }

    /// A lane could not begin the start it had taken before the end at `end_ns`.
    pub(crate) fn given_back(&self, intended: u64, end_ns: u64) {
        if let Some(open) = &self.open
            && intended < end_ns
        {
            let open = &mut *open.borrow_mut();
            open.seen.missed(intended, open.window_ns);
        }
    }

    /// Outcome of all starts intended before `end_ns`.
    pub(crate) fn settle(self, end_ns: u64) -> ScheduleStats {
        self.open.map_or_else(ScheduleStats::default, |open| open.into_inner().settle(end_ns))
    }
}

impl Open {
    #[inline]
    fn next(&mut self, now: u64) -> u64 {
        self.arrive(now);
        let at = match &mut self.waiting {
            Waiting::Unlimited { take, next, depth, .. } => {
                // At zero, the start taken is in the future and will not be waiting when it becomes due.
                *depth = depth.wrapping_sub(1);
                std::mem::replace(next, take.next())
            }
            Waiting::Limited { starts, next, queue, .. } => {
                queue.pop_front().unwrap_or_else(|| std::mem::replace(next, starts.next()))
            }
        };
        self.start_ns.saturating_add(at)
    }

    /// Enqueues or sheds starts intended before `now`. One intended at exactly `now` comes after the lane that is free
    /// at `now`.
    fn arrive(&mut self, now: u64) {
        let age = now.saturating_sub(self.start_ns);
        let window = self.window_ns - self.start_ns;
        match &mut self.waiting {
            Waiting::Unlimited { count, due, depth, .. } => {
                while *due < age {
                    *due = count.next();
                    *depth = depth.wrapping_add(1);
                }
                // Negative if lanes have taken future starts.
                self.seen.waiting((*depth as i64).max(0) as u64);
            }
            Waiting::Limited { starts, next, queue, limit } => {
                while *next < age {
                    if (queue.len() as u64) < *limit {
                        queue.push_back(*next);
                    } else if *next >= window {
                        self.seen.shed += 1;
                        self.seen.offered += 1;
                    }
                    *next = starts.next();
                }
                self.seen.waiting(queue.len() as u64);
            }
        }
    }

    fn settle(mut self, end_ns: u64) -> ScheduleStats {
        self.arrive(end_ns);
        let start_ns = self.start_ns;
        let due = |at: u64| Some(start_ns.saturating_add(at)).filter(|at| *at < end_ns);
        while let Some(at) = self.peek().and_then(due) {
            self.seen.missed(at, self.window_ns);
            match &mut self.waiting {
                Waiting::Unlimited { take, next, .. } => *next = take.next(),
                Waiting::Limited { queue, .. } => drop(queue.pop_front()),
            }
        }
        self.seen
    }

    /// The first waiting start.
    fn peek(&self) -> Option<u64> {
        match &self.waiting {
            Waiting::Unlimited { next, .. } => Some(*next),
            Waiting::Limited { queue, .. } => queue.front().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use experiment::Arrivals;
    use proptest::prelude::*;

    use super::*;

    fn limited(ops_per_s: f64, backlog_limit: u64) -> Schedule {
        Schedule::Open { arrivals: Arrivals::Constant { ops_per_s }, backlog_limit, seed: 0 }
    }

    #[test]
    fn a_closed_loop_starts_at_once() {
        let pacer = Pacer::new(&Schedule::Closed, 5, 5, 0, 1);
        assert_eq!((pacer.next(17), pacer.next(18)), (17, 18));
        assert_eq!(pacer.settle(1_000_000), ScheduleStats::default());
    }

    #[test]
    fn starts_that_nobody_was_free_for_are_counted() {
        for schedule in [Schedule::rate(10.0), limited(10.0, 1000)] {
            // Intended in the first second: 0, 100, … 900 ms.
            for (end, missed) in [(1_000_001_000, 8), (1_000_001_001, 9), (1001, 0)] {
                let pacer = Pacer::new(&schedule, 1000, 1000, 0, 1);
                for expected in [1000, 100_001_000] {
                    let intended = pacer.next(1000);
                    assert_eq!(intended, expected);
                    pacer.begun(intended, intended);
                }
                let seen = pacer.settle(end);
                assert_eq!((seen.missed, seen.offered), (missed, missed + 2), "until {end}");
            }
        }
    }

    #[test]
    fn a_full_queue_sheds_what_comes_and_keeps_the_order() {
        let pacer = Pacer::new(&limited(1000.0, 3), 0, 0, 0, 1);
        let ms = |count: u64| count * 1_000_000;
        assert_eq!(pacer.next(0), 0);
        // At 10 ms those of 1, 2 and 3 ms are waiting, those of 4 to 9 ms were shed, and that of 10 ms is just
        // arriving.
        assert_eq!(pacer.next(ms(10)), ms(1));
        // One slot is free: 10 ms waits, 11 ms is shed.
        assert_eq!(pacer.next(ms(12)), ms(2));
        let rest: Vec<u64> = (0..4).map(|_| pacer.next(ms(12))).collect();
        assert_eq!(rest, [ms(3), ms(10), ms(12), ms(13)]);
        let seen = pacer.settle(ms(12));
        assert_eq!((seen.shed, seen.deepest), (7, 3));
    }

    #[test]
    fn without_a_queue_only_a_free_lane_helps() {
        let pacer = Pacer::new(&limited(1000.0, 0), 0, 0, 0, 1);
        assert_eq!([pacer.next(0), pacer.next(5_500_000)], [0, 6_000_000]);
        assert_eq!(pacer.settle(6_000_000).shed, 5);
    }

    proptest! {
        /// Every intended start is either begun once, shed or missed, whatever the lanes do; both kinds of queue agree.
        #[test]
        fn every_start_has_exactly_one_end(
            kind in 0..3,
            rate in 100.0..5000.0f64,
            limit in 0u64..50,
            busy in prop::collection::vec(0u64..40_000_000, 1..60),
            lanes in 1usize..4,
        ) {
            let arrivals = match kind {
                0 => Arrivals::Constant { ops_per_s: rate },
                1 => Arrivals::Poisson { ops_per_s: rate },
                _ => Arrivals::Ramp { from_ops_per_s: 0.0, to_ops_per_s: rate, over_s: 0.3 },
            };
            let end = 400_000_000;
            let mut all = Starts::new(&arrivals, 3, 0, 1).unwrap();
            let all: Vec<u64> = std::iter::from_fn(|| Some(all.next())).take_while(|at| *at < end).collect();
            for backlog_limit in [limit, u64::MAX, 1 << 40] {
                let schedule = Schedule::Open { arrivals: arrivals.clone(), backlog_limit, seed: 3 };
                let pacer = Pacer::new(&schedule, 0, 0, 0, 1);
                // Lanes, each with the time at which it becomes free.
                let mut free = vec![0u64; lanes];
                let mut begun = Vec::new();
                let mut busy = busy.iter().cycle();
                loop {
                    let lane = (0..lanes).min_by_key(|lane| free[*lane]).unwrap();
                    if free[lane] >= end {
                        break;
                    }
                    let intended = pacer.next(free[lane]);
                    let start = intended.max(free[lane]);
                    if start >= end {
                        pacer.given_back(intended, end);
                        free[lane] = u64::MAX;
                        continue;
                    }
                    pacer.begun(intended, start);
                    begun.push(intended);
                    free[lane] = start + busy.next().unwrap();
                }
                let seen = pacer.settle(end);
                prop_assert!(begun.windows(2).all(|pair| pair[0] <= pair[1]));
                prop_assert!(begun.iter().all(|at| all.binary_search(at).is_ok()));
                prop_assert_eq!(seen.offered, all.len() as u64);
                prop_assert_eq!(begun.len() as u64 + seen.shed + seen.missed, all.len() as u64);
                prop_assert!(backlog_limit != limit || seen.deepest <= limit);
                if backlog_limit > limit {
                    prop_assert_eq!(seen.shed, 0);
                }
            }
        }
    }
}
