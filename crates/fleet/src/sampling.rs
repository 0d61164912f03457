//! When to sample a host: during a stage, and when asked.

use std::sync::{Mutex, PoisonError};

use reactor::live::Scope;

use crate::order::{Act, Reply};
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

/// Samples of a host that is observed and need not generate load: taken when asked.
#[derive(Debug, Default)]
pub(crate) struct HostSamples {
    prober: Mutex<Option<Prober>>,
}

impl HostSamples {
    /// Carries out the acts that are about samples; `None` for others. A sample without a beginning is the beginning.
    pub(crate) fn act(&self, act: &Act, scope: Option<Scope>) -> Option<Reply> {
        if !matches!(act, Act::BeginSamples | Act::Sample) {
            return None;
        }
        let mut prober = self.prober.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match (act, prober.as_mut()) {
            (Act::Sample, Some(prober)) => Reply::Sampled(Box::new(prober.sample())),
            _ => {
                *prober = Some(Prober::new(scope));
                Reply::Done
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_covers_the_time_since_the_one_before() {
        let samples = HostSamples::default();
        assert_eq!(samples.act(&Act::Look, None), None);
        assert_eq!(samples.act(&Act::Sample, None), Some(Reply::Done), "nothing to compare with");
        let sampled = || match samples.act(&Act::Sample, None) {
            Some(Reply::Sampled(sample)) => sample,
            other => panic!("{other:?}"),
        };
        let (first, second) = (sampled(), sampled());
        assert_eq!(second.at_ns - second.length_ns, first.at_ns);
        assert_eq!(samples.act(&Act::BeginSamples, None), Some(Reply::Done));
        let third = sampled();
        assert!(
            third.at_ns - third.length_ns >= second.at_ns,
            "the time before the beginning does not count"
        );
    }
}
