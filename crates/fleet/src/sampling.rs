//! When a host is sampled during a stage.

use reactor::live::Scope;

use crate::probe::{HostSample, Prober};

/// Between two samples, in seconds. A little less than an interval, so that each interval of a second brings one.
const EVERY_S: f64 = 0.9;
/// And at most this share of a stage: a worker's and a path's figures need two looks.
const SHARE: f64 = 0.24;

/// Takes a sample about each second, when it is asked at the end of intervals, and four or so of a stage that is short. Stages that take
/// no time have none.
#[derive(Debug)]
pub(crate) struct Sampling {
    prober: Option<Prober>,
    last_ns: u64,
    every_ns: u64,
}

impl Sampling {
    /// For a stage of this length that begins now, of the run with this scope.
    pub(crate) fn begin(length_s: f64, virtual_clock: bool, scope: Option<Scope>) -> Self {
        let prober = || Prober::new(scope);
        let every_ns = (EVERY_S.min(SHARE * length_s.max(0.0)) * 1e9) as u64;
        Sampling { prober: (!virtual_clock).then(prober), last_ns: reactor::clock::now_ns(), every_ns }
    }

    /// A sample, if it is time for one.
    pub(crate) fn look(&mut self) -> Option<HostSample> {
        let now = reactor::clock::now_ns();
        if now.saturating_sub(self.last_ns) < self.every_ns {
            return None;
        }
        self.last_ns = now;
        self.prober.as_mut().map(Prober::sample)
    }
}
