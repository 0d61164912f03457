//! When a job's operations should start: a rate per direction, and the outcome of those starts.

use experiment::{Directions, Rate};

use crate::access::spread;
use crate::pacer::ScheduleStats;

/// The directions' schedules, on the worker's clock.
#[derive(Debug)]
pub(super) struct Pace {
    lines: [Option<Line>; 3],
    /// A drawn direction that is waiting.
    wanted: Option<usize>,
    /// Whether a direction that waits for its rate may let another go first.
    gives_way: bool,
    /// Start of the measured window.
    window_ns: u64,
    seen: ScheduleStats,
}

/// The schedule of a direction.
#[derive(Debug)]
struct Line {
    bytes: bool,
    per_ns: f64,
    origin_ns: u64,
    /// Bytes or operations so far.
    moved: u64,
    /// Operations so far.
    begun: u64,
    /// Independent starts: the next one relative to the origin, and the generator of gaps.
    poisson: Option<(f64, fastrand::Rng)>,
}

/// Result of asking whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// This direction, with its intended start, which has been reached.
    Go(usize, u64),
    /// Nothing before this time.
    Wait(u64),
}

impl Pace {
    /// `None` if no direction has a rate.
    pub(super) fn new(
        rates: &Directions<Option<Rate>>,
        poisson: bool,
        (origin_ns, window_ns): (u64, u64),
        seed: u64,
        gives_way: bool,
    ) -> Option<Pace> {
        let line = |rate: Option<Rate>, salt: u64| {
            rate.map(|rate| {
                let (bytes, per_s) = match rate {
                    Rate::BytesPerS(rate) => (true, rate),
                    Rate::OpsPerS(rate) => (false, rate),
                };
                let poisson =
                    poisson.then(|| (0.0, fastrand::Rng::with_seed(spread(seed ^ 0x7061_6365, salt))));
                Line { bytes, per_ns: per_s / 1e9, origin_ns, moved: 0, begun: 0, poisson }
            })
        };
        let lines = [line(rates.read, 0), line(rates.write, 1), line(rates.trim, 2)];
        lines.iter().any(Option::is_some).then_some(Pace {
            lines,
            wanted: None,
            gives_way,
            window_ns,
            seen: ScheduleStats::default(),
        })
    }

    /// The direction whose turn it is; `drawn` draws one by weight, and is only called if weights decide.
    pub(super) fn turn(
        &mut self,
        now: u64,
        directions: impl Iterator<Item = usize> + Clone,
        drawn: impl FnOnce() -> usize,
    ) -> Turn {
        let due = |at: usize| self.lines[at].as_ref().map(Line::due);
        if self.gives_way && directions.clone().all(|at| self.lines[at].is_some()) {
            // The rates decide what comes next.
            let first = directions.filter_map(|at| due(at).map(|due| (due, at))).min();
            let (due, at) = first.expect("every direction has a rate");
            return if due > now { Turn::Wait(due) } else { Turn::Go(at, due) };
        }
        let wanted = self.wanted.unwrap_or_else(drawn);
        let turn = match due(wanted) {
            None => Turn::Go(wanted, now),
            Some(due) if due <= now => Turn::Go(wanted, due),
            Some(due) => {
                let free = directions.clone().find(|at| self.lines[*at].is_none());
                match free.filter(|_| self.gives_way) {
                    Some(free) => Turn::Go(free, now),
                    None => Turn::Wait(due),
                }
            }
        };
        self.wanted = matches!(turn, Turn::Wait(_)).then_some(wanted);
        turn
    }

    /// The intended start of an operation in the given direction.
    pub(super) fn of(&self, direction: usize, now: u64) -> u64 {
        self.lines[direction].as_ref().map_or(now, Line::due)
    }

    /// Counts the start of an operation of this many bytes.
    pub(super) fn begun(&mut self, direction: usize, bytes: u64) {
        if let Some(line) = &mut self.lines[direction] {
            let amount = if line.bytes { bytes } else { 1 };
            line.moved += amount;
            line.begun += 1;
            if let Some((due, random)) = &mut line.poisson {
                // 1 - u is above 0, so the logarithm is finite.
                *due -= (1.0 - random.f64()).ln() * amount as f64 / line.per_ns;
            }
        }
    }

    /// That operation starts now.
    #[inline]
    pub(super) fn started(&mut self, direction: usize, intended: u64, now: u64) {
        let Some(line) = &self.lines[direction] else { return };
        let others = self.lines.iter().enumerate().filter(|(at, _)| *at != direction);
        let behind = others.filter_map(|(_, line)| line.as_ref()).map(|line| line.behind(now));
        self.seen.waiting(line.due_in(now - intended) + behind.sum::<u64>());
        self.seen.begun(intended, now, self.window_ns);
    }

    /// Outcome of all starts intended before `end_ns`; `held` is one that was drawn and has not started.
    pub(super) fn settle(mut self, end_ns: u64, held: Option<(usize, u64)>) -> ScheduleStats {
        if let Some((direction, intended)) = held
            && self.lines[direction].is_some()
            && intended < end_ns
        {
            self.seen.missed(intended, self.window_ns);
        }
        for line in self.lines.iter_mut().flatten() {
            line.settle(&mut self.seen, self.window_ns, end_ns);
        }
        self.seen.waiting(self.seen.missed);
        self.seen
    }

    /// Delays the schedules by this much.
    pub(super) fn shift(&mut self, by_ns: u64) {
        self.lines.iter_mut().flatten().for_each(|line| line.origin_ns += by_ns);
    }
}

impl Line {
    /// Mean bytes, or operations, per operation so far.
    fn amount(&self) -> f64 {
        if self.bytes && self.begun > 0 { self.moved as f64 / self.begun as f64 } else { 1.0 }
    }

    /// Mean number of operations that become due in a time span; the first is due at its start.
    #[inline]
    fn due_in(&self, span_ns: u64) -> u64 {
        // Rounding must not add an operation at the end of the span.
        (span_ns as f64 * self.per_ns / self.amount() - 1e-6).ceil().max(0.0) as u64
    }

    /// Operations due at `now` that have not begun.
    #[inline]
    fn behind(&self, now: u64) -> u64 {
        self.due_in(now.saturating_sub(self.due()))
    }

    /// Counts starts that were due before the end but did not happen.
    fn settle(&mut self, seen: &mut ScheduleStats, window_ns: u64, end_ns: u64) {
        if self.poisson.is_none() {
            let due = self.due();
            let missed = self.behind(end_ns);
            seen.missed += missed;
            seen.offered += missed - self.due_in(window_ns.saturating_sub(due)).min(missed);
            return;
        }
        let (amount, per_ns) = (self.amount(), self.per_ns);
        loop {
            let due = self.due();
            let Some((at, random)) = self.poisson.as_mut().filter(|_| due < end_ns) else { return };
            seen.missed(due, window_ns);
            *at -= (1.0 - random.f64()).ln() * amount / per_ns;
        }
    }

    fn due(&self) -> u64 {
        let since = match &self.poisson {
            Some((due, _)) => *due,
            None => self.moved as f64 / self.per_ns,
        };
        self.origin_ns.saturating_add(since.round() as u64)
    }
}
