//! The script of a simulated target.

use std::collections::BTreeMap;

use metrics::{ErrorKind, OpKind};

use crate::DriverError;

/// The latency of an operation, in nanoseconds; at least one.
#[derive(Clone, Debug, PartialEq)]
pub enum SimLatency {
    /// Always the same.
    Fixed(u64),
    /// One after another, in the order in which a worker's operations start, then repeated from the start.
    List(Vec<u64>),
    /// Uniformly distributed from the first to the last, both included.
    Uniform(u64, u64),
    /// Exponentially distributed with this mean.
    Exponential(u64),
}

/// A period in which the target does not respond; responses due within it come at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start, in nanoseconds since the session was opened.
    pub from_ns: u64,
    /// End, likewise.
    pub until_ns: u64,
}

/// Recurring periods without responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    /// Start of the first, in nanoseconds since the session was opened.
    pub first_ns: u64,
    /// Interval from the start of one to the start of the next.
    pub every_ns: u64,
    /// Duration of each; less than `every_ns`.
    pub for_ns: u64,
}

impl Periodic {
    /// Stalls of `for_ns` every `every_ns`, the first in the middle of the first period, so that each period contains a
    /// whole stall and its consequences.
    pub const fn new(for_ns: u64, every_ns: u64) -> Self {
        Periodic { first_ns: every_ns / 2, every_ns, for_ns }
    }

    /// The end of the stall that contains this moment, in nanoseconds since the session was opened.
    pub(super) fn end_of_stall_at(&self, at_ns: u64) -> Option<u64> {
        let since = at_ns.checked_sub(self.first_ns)?;
        let within = since % self.every_ns.max(1);
        (within < self.for_ns).then(|| at_ns - within + self.for_ns)
    }
}

/// Autocorrelated noise: at the end of each step a new latency factor is drawn around 1, correlated with the last (a
/// first-order autoregressive process). The same in all workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation of the factor's logarithm: about the relative deviation of the throughput.
    pub deviation: f64,
    /// Correlation of a step with the previous one, 0 to less than 1.
    pub correlation: f64,
    /// Length of a step in nanoseconds, usually a second.
    pub step_ns: u64,
}

/// A target that slows down permanently, like a flash device whose cache is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Payload bytes that a worker's session has moved when it happens.
    pub after_bytes: u64,
    /// The factor on latency, and on the time in the pipe, from then on.
    pub factor: f64,
}

/// A target that is slow at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// Latency at the start is `1 + extra` times the later one; a negative value starts fast, like a cache.
    pub extra: f64,
    /// The extra decays to `1 / e` in each interval of this many nanoseconds.
    pub decay_ns: u64,
}

/// The target's behaviour.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Seed of all randomness; worker `n` uses `seed + n`.
    pub seed: u64,
    /// Latency of an operation, unless `latency_of` overrides it.
    pub latency: SimLatency,
    /// Latency by kind of operation.
    pub latency_of: BTreeMap<OpKind, SimLatency>,
    /// Before the latency, payload passes through a pipe of this many bytes per second, one operation at a time.
    pub bytes_per_s: Option<u64>,
    /// Periods without responses.
    pub stalls: Vec<Stall>,
    /// Recurring periods without responses.
    pub stall_every: Option<Periodic>,
    /// Linear growth of latency per second, as a share: 0.001 is 0.1 % of the initial latency per second.
    pub drift_per_s: f64,
    /// Slow noise.
    pub noise: Option<Noise>,
    /// A permanent slowdown after a number of bytes.
    pub cliff: Option<Cliff>,
    /// A start that differs from the rest.
    pub warm_up: Option<WarmUp>,
    /// Every n-th operation of a worker fails with this error: `(10, Busy)` fails the 10th, the 20th and so on.
    pub errors: Vec<(u64, ErrorKind)>,
    /// Every n-th operation of a worker takes this many nanoseconds instead: `(1000, 70_000_000_000)` makes the 1000th,
    /// the 2000th and so on take 70 s.
    pub slow: Option<(u64, u64)>,
    /// From this operation of a worker on (the first is 0), none is ever answered, not even at its deadline.
    pub hang_from: Option<u64>,
    /// The session cannot be opened.
    pub refuse: Option<DriverError>,
    /// Run on a virtual clock; otherwise waits are real.
    pub virtual_clock: bool,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            latency: SimLatency::Fixed(1_000_000),
            latency_of: BTreeMap::new(),
            bytes_per_s: None,
            stalls: Vec::new(),
            stall_every: None,
            drift_per_s: 0.0,
            noise: None,
            cliff: None,
            warm_up: None,
            errors: Vec::new(),
            slow: None,
            hang_from: None,
            refuse: None,
            virtual_clock: true,
        }
    }
}
