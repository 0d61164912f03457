//! When to sample a host during a stage.

use reactor::live::Scope;

use crate::probe::{HostSample, Prober};

/// Between two samples, in seconds. Slightly less than an interval, so that each one-second interval brings one.
const EVERY_S: f64 = 0.9;
/// At most this share of a stage: figures of a worker and a path need two samples.
const SHARE: f64 = 0.24;

/// Takes a sample about every second, when polled at the end of intervals, and about four in a short stage. Stages on a
/// virtual clock have none.
#[derive(Debug)]
pub(crate) struct Sampling {
    prober: Option<Prober>,
    last_ns: u64,
    every_ns: u64,
}

impl Sampling {
    /// For a stage of this length that starts now, of the run with this scope.
    pub(crate) fn begin(length_s: f64, virtual_clock: bool, scope: Option<Scope>) -> Self {
        let prober = || Prober::new(scope);
        let every_ns = (EVERY_S.min(SHARE * length_s.max(0.0)) * 1e9) as u64;
        Sampling { prober: (!virtual_clock).then(prober), last_ns: reactor::clock::now_ns(), every_ns }
    }

    /// A sample, if one is due.
    pub(crate) fn look(&mut self) -> Option<HostSample> {
        let now = reactor::clock::now_ns();
        if now.saturating_sub(self.last_ns) < self.every_ns {
            return None;
        }
        self.last_ns = now;
        self.prober.as_mut().map(Prober::sample)
    }
}
