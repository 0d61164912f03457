//! Samples of what hosts did during a measurement, kept for its verdict.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fleet::probe::HostSample;

/// Maximum samples kept per host. Beyond that every second one is dropped and its time is added to the next.
const MOST: usize = 900;

/// Samples of every host, by host number.
#[derive(Debug, Default)]
pub struct HostEvidence {
    hosts: Mutex<BTreeMap<usize, Seen>>,
}

#[derive(Debug)]
struct Seen {
    samples: Vec<HostSample>,
    latest: HostSample,
    /// Keeps one sample out of this many.
    every: usize,
    skipped: usize,
}

impl Seen {
    fn new() -> Self {
        Self { samples: Vec::new(), latest: HostSample::default(), every: 1, skipped: 0 }
    }
}

impl HostEvidence {
    /// Keeps a sample.
    pub fn add(&self, member: usize, sample: &HostSample) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = hosts.entry(member).or_insert_with(Seen::new);
        seen.latest = sample.clone();
        seen.skipped += 1;
        if seen.skipped < seen.every {
            return;
        }
        seen.skipped = 0;
        if seen.samples.len() == MOST {
            let mut keep = false;
            seen.samples.retain(|_| {
                keep = !keep;
                keep
            });
            seen.every *= 2;
        }
        seen.samples.push(sample.clone());
    }

    /// A host's latest sample.
    pub fn latest(&self, member: usize) -> Option<HostSample> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.get(&member).map(|seen| seen.latest.clone())
    }

    /// A host's samples. With more than two, drops the first, in which the load started, and the last if the load had
    /// ended before it was taken.
    pub fn of(&self, member: usize) -> Vec<HostSample> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = hosts.get(&member).map_or(&[][..], |seen| &seen.samples);
        let [_, within @ .., before, last] = samples else { return samples.to_vec() };
        let over = last.workers.len() < before.workers.len() || last.paths.len() < before.paths.len();
        let kept = samples.len() - 1 - usize::from(over && !within.is_empty());
        samples[1..=kept].to_vec()
    }

    /// A host's samples that lie within a span of its clock; if none do, those that overlap it.
    pub fn within(&self, member: usize, begin_ns: u64, end_ns: u64) -> Vec<HostSample> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = hosts.get(&member).map_or(&[][..], |seen| &seen.samples);
        let began = |sample: &HostSample| sample.at_ns.saturating_sub(sample.length_ns);
        let inside = |sample: &&HostSample| began(sample) >= begin_ns && sample.at_ns <= end_ns;
        let beside = |sample: &&HostSample| began(sample) < end_ns && sample.at_ns > begin_ns;
        let found: Vec<HostSample> = samples.iter().filter(inside).cloned().collect();
        if found.is_empty() { samples.iter().filter(beside).cloned().collect() } else { found }
    }
}

#[cfg(test)]
mod tests {
    use fleet::probe::WorkerSample;

    use super::*;

    #[test]
    fn memory_is_bounded_and_the_beginning_is_left_out() {
        let witness = HostEvidence::default();
        for at_ns in 0..10_000 {
            witness.add(1, &HostSample { at_ns, ..HostSample::default() });
        }
        let kept = witness.of(1);
        assert!(kept.len() < MOST && kept.len() > MOST / 4, "{}", kept.len());
        assert!(kept[0].at_ns > 0 && kept.last().unwrap().at_ns > 9000);
        let at =
            |begin, end| witness.within(1, begin, end).iter().map(|sample| sample.at_ns).collect::<Vec<_>>();
        assert!(
            at(5000, 6000).iter().all(|at_ns| (5000..=6000).contains(at_ns)) && at(5000, 6000).len() > 50
        );
        assert_eq!(witness.latest(1).map(|sample| sample.at_ns), Some(9999));
        assert!(witness.of(0).is_empty() && witness.latest(0).is_none());
    }

    #[test]
    fn a_sample_that_came_too_late_is_left_out() {
        let worker = WorkerSample { worker: 0, ran: 0.5, waited: 0.0 };
        let kept = |workers: &[usize]| {
            let witness = HostEvidence::default();
            for (at_ns, many) in (1..).zip(workers) {
                witness.add(
                    0,
                    &HostSample { at_ns, workers: vec![worker.clone(); *many], ..HostSample::default() },
                );
            }
            witness.of(0).iter().map(|sample| sample.at_ns).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[0]), [1]);
        assert_eq!(kept(&[0, 2]), [1, 2]);
        assert_eq!(kept(&[0, 2, 0]), [2, 3], "there would be too few");
        assert_eq!(kept(&[0, 2, 2, 0]), [2, 3]);
        assert_eq!(kept(&[0, 2, 2, 2]), [2, 3, 4]);
    }

    #[test]
    fn samples_are_those_of_a_span() {
        let witness = HostEvidence::default();
        for at_ns in [100, 200, 300, 400] {
            witness.add(0, &HostSample { at_ns, length_ns: 100, ..HostSample::default() });
        }
        let at =
            |begin, end| witness.within(0, begin, end).iter().map(|sample| sample.at_ns).collect::<Vec<_>>();
        assert_eq!(at(100, 350), [200, 300]);
        assert_eq!(at(250, 310), [300, 400], "none lies within");
        assert!(at(500, 600).is_empty());
    }
}
