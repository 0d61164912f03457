//! The script of a scripted target.

use std::collections::BTreeMap;

use metrics::{ErrorKind, OpKind};

use crate::DriverError;

/// How long the target takes for an operation, in nanoseconds. Nothing takes less than one.
#[derive(Clone, Debug, PartialEq)]
pub enum SimLatency {
    /// Always the same.
    Fixed(u64),
    /// One after the other, in the order in which a worker's operations start; then again from the front.
    List(Vec<u64>),
    /// Equally likely from the first to the last, both included.
    Uniform(u64, u64),
    /// Exponentially distributed around a mean.
    Exponential(u64),
}

/// A span in which the target answers nothing; what would be answered within is answered at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start, in nanoseconds since the session was opened.
    pub from_ns: u64,
    /// End, likewise.
    pub until_ns: u64,
}

/// Spans without an answer that come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periodic {
    /// Start of the first, in nanoseconds since the session was opened.
    pub first_ns: u64,
    /// From the start of one to the start of the next.
    pub every_ns: u64,
    /// How long each lasts; less than `every_ns`.
    pub for_ns: u64,
}

impl Periodic {
    /// Stalls of `for_ns` every `every_ns`, the first in the middle of the first period, so that each period holds
    /// a whole stall and what comes of it.
    pub const fn new(for_ns: u64, every_ns: u64) -> Self {
        Periodic { first_ns: every_ns / 2, every_ns, for_ns }
    }

    /// The end of the stall that this moment, in nanoseconds since the session was opened, falls into.
    pub(super) fn end_of_stall_at(&self, at_ns: u64) -> Option<u64> {
        let since = at_ns.checked_sub(self.first_ns)?;
        let within = since % self.every_ns.max(1);
        (within < self.for_ns).then(|| at_ns - within + self.for_ns)
    }
}

/// Noise with a memory: at the end of each step the latency's factor is drawn anew around 1, correlated with the last
/// (a first-order autoregressive process). The same in all workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation of the factor's logarithm: about the relative deviation of the throughput.
    pub deviation: f64,
    /// Correlation of a step with the one before, 0 to less than 1.
    pub correlation: f64,
    /// Length of a step in nanoseconds, usually a second.
    pub step_ns: u64,
}

/// A target that slows down for good, as a flash device does when its cache is full.
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
    /// Latency at the beginning is `1 + extra` times the later one; a negative one begins fast, as a cache does.
    pub extra: f64,
    /// After each this many nanoseconds a `1 / e` of the extra is left.
    pub decay_ns: u64,
}

/// What the target does.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Seed of everything random; worker `n` uses `seed + n`.
    pub seed: u64,
    /// How long an operation takes, unless `latency_of` says otherwise.
    pub latency: SimLatency,
    /// How long operations of a kind take.
    pub latency_of: BTreeMap<OpKind, SimLatency>,
    /// Payload passes one operation after the other through a pipe of this many bytes a second, before the latency.
    pub bytes_per_s: Option<u64>,
    /// Spans without an answer.
    pub stalls: Vec<Stall>,
    /// Spans without an answer, again and again.
    pub stall_every: Option<Periodic>,
    /// The share by which latency grows each second, linearly: 0.001 is 0.1 % of the first latency a second.
    pub drift_per_s: f64,
    /// Slow noise.
    pub noise: Option<Noise>,
    /// A change for the worse after some bytes.
    pub cliff: Option<Cliff>,
    /// A beginning that is not like the rest.
    pub warm_up: Option<WarmUp>,
    /// Every n-th operation of a worker fails so: `(10, Busy)` fails the 10th, the 20th and so on.
    pub errors: Vec<(u64, ErrorKind)>,
    /// Every n-th operation of a worker takes this many nanoseconds instead: `(1000, 70_000_000_000)` lets the 1000th, the
    /// 2000th and so on take 70 s.
    pub slow: Option<(u64, u64)>,
    /// From this operation of a worker on (the first is 0) none is ever answered, not even at its deadline.
    pub hang_from: Option<u64>,
    /// The session cannot be opened.
    pub refuse: Option<DriverError>,
    /// Run on a virtual clock; otherwise waiting is real.
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
