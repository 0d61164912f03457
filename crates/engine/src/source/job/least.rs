//! The minimum rate of a direction.

use experiment::{Directions, Rate};

/// Settling time after the start, during which nothing is judged.
const SETTLE_NS: u64 = 2_000_000_000;

/// Counts what moves within a cycle.
#[derive(Debug)]
pub(super) struct Least {
    rates: [Option<Rate>; 3],
    cycle_ns: u64,
    start_ns: u64,
    from_ns: u64,
    bytes: [u64; 3],
    ops: [u64; 3],
}

impl Least {
    /// `None` if no minimum is set.
    pub(super) fn new(rates: &Directions<Option<Rate>>, cycle_s: f64, start_ns: u64) -> Option<Least> {
        let rates = [rates.read, rates.write, rates.trim];
        let cycle_s = if cycle_s > 0.0 { cycle_s } else { 1.0 };
        rates.iter().any(Option::is_some).then(|| Least {
            rates,
            cycle_ns: (cycle_s * 1e9).round() as u64,
            start_ns,
            from_ns: start_ns,
            bytes: [0; 3],
            ops: [0; 3],
        })
    }

    /// Counts the end of an operation; returns a direction that was too slow, with its actual and its required rate, if
    /// there is one.
    pub(super) fn ended(&mut self, now: u64, direction: usize, bytes: u64) -> Option<(usize, f64, f64)> {
        self.bytes[direction] += bytes;
        self.ops[direction] += 1;
        let since = now.saturating_sub(self.from_ns);
        if since < self.cycle_ns || now.saturating_sub(self.start_ns) < SETTLE_NS {
            return None;
        }
        let seconds = since as f64 / 1e9;
        let below = |at: usize| {
            let (had, wanted) = match self.rates[at]? {
                Rate::BytesPerS(wanted) => (self.bytes[at] as f64 / seconds, wanted),
                Rate::OpsPerS(wanted) => (self.ops[at] as f64 / seconds, wanted),
            };
            (had < wanted).then_some((at, had, wanted))
        };
        let found = (0..3).find_map(below);
        (self.from_ns, self.bytes, self.ops) = (now, [0; 3], [0; 3]);
        found
    }
}
