//! When a host is sampled during a stage.

use reactor::live::Scope;

use crate::probe::{HostSample, Prober};

/// Between two samples, in nanoseconds. A little less than an interval, so that each interval of a second brings one.
const EVERY_NS: u64 = 900_000_000;

/// Takes a sample about each second, when it is asked at the end of intervals. Stages that take no time have none.
#[derive(Debug)]
pub(crate) struct Sampling {
    prober: Option<Prober>,
    last_ns: u64,
}

impl Sampling {
    /// For a stage that begins now, of the run with this scope.
    pub(crate) fn begin(virtual_clock: bool, scope: Option<Scope>) -> Self {
        let prober = || Prober::new(scope);
        Sampling { prober: (!virtual_clock).then(prober), last_ns: reactor::clock::now_ns() }
    }

    /// A sample, if it is time for one.
    pub(crate) fn look(&mut self) -> Option<HostSample> {
        let now = reactor::clock::now_ns();
        if now.saturating_sub(self.last_ns) < EVERY_NS {
            return None;
        }
        self.last_ns = now;
        self.prober.as_mut().map(Prober::sample)
    }
}
