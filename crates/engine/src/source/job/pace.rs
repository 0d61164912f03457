//! When a job's operations are meant to start: a rate for each direction.

use experiment::{Directions, Rate};

use crate::access::spread;

/// The directions' schedules, on the worker's clock.
#[derive(Debug)]
pub(super) struct Pace {
    lines: [Option<Line>; 3],
    /// A direction that was drawn and waits.
    wanted: Option<usize>,
    /// What waits for its rate may let another direction go first.
    gives_way: bool,
}

/// The schedule of a direction.
#[derive(Debug)]
struct Line {
    bytes: bool,
    per_ns: f64,
    origin_ns: u64,
    /// Bytes or operations so far.
    moved: u64,
    /// Independent starts: the next, from the origin on, and the gaps.
    poisson: Option<(f64, fastrand::Rng)>,
}

/// What a direction's turn is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// It is meant to start at this moment, which has come.
    Go(usize, u64),
    /// Nothing before this moment.
    Wait(u64),
}

impl Pace {
    /// `None` when no direction has a rate.
    pub(super) fn new(
        rates: &Directions<Option<Rate>>,
        poisson: bool,
        origin_ns: u64,
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
                Line { bytes, per_ns: per_s / 1e9, origin_ns, moved: 0, poisson }
            })
        };
        let lines = [line(rates.read, 0), line(rates.write, 1), line(rates.trim, 2)];
        lines.iter().any(Option::is_some).then_some(Pace { lines, wanted: None, gives_way })
    }

    /// Which direction's turn it is: `drawn` says which by weight, and is asked only when weights decide.
    pub(super) fn turn(
        &mut self,
        now: u64,
        directions: impl Iterator<Item = usize> + Clone,
        drawn: impl FnOnce() -> usize,
    ) -> Turn {
        let due = |at: usize| self.lines[at].as_ref().map(Line::due);
        if self.gives_way && directions.clone().all(|at| self.lines[at].is_some()) {
            // The rates say what comes next.
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

    /// When an operation whose direction is given is meant to start.
    pub(super) fn of(&self, direction: usize, now: u64) -> u64 {
        self.lines[direction].as_ref().map_or(now, Line::due)
    }

    /// An operation of so many bytes was begun.
    pub(super) fn begun(&mut self, direction: usize, bytes: u64) {
        if let Some(line) = &mut self.lines[direction] {
            let amount = if line.bytes { bytes } else { 1 };
            line.moved += amount;
            if let Some((due, random)) = &mut line.poisson {
                // 1 - u lies above 0, so that the logarithm is finite.
                *due -= (1.0 - random.f64()).ln() * amount as f64 / line.per_ns;
            }
        }
    }

    /// The schedules stand still for so long.
    pub(super) fn shift(&mut self, by_ns: u64) {
        self.lines.iter_mut().flatten().for_each(|line| line.origin_ns += by_ns);
    }
}

impl Line {
    fn due(&self) -> u64 {
        let since = match &self.poisson {
            Some((due, _)) => *due,
            None => self.moved as f64 / self.per_ns,
        };
        self.origin_ns.saturating_add(since.round() as u64)
    }
}
