//! What hosts did while a cell was measured, kept for its verdict.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fleet::probe::HostSample;

/// Samples of each host that are kept; when there are more, every second goes and its time is the next one's.
const MOST: usize = 900;

/// Samples of every host, by its number.
#[derive(Debug, Default)]
pub struct Witness {
    hosts: Mutex<BTreeMap<usize, Seen>>,
}

#[derive(Debug)]
struct Seen {
    samples: Vec<HostSample>,
    /// One of so many that come is kept.
    every: usize,
    skipped: usize,
}

impl Witness {
    /// Keeps a sample.
    pub fn add(&self, member: usize, sample: &HostSample) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = hosts.entry(member).or_insert(Seen { samples: Vec::new(), every: 1, skipped: 0 });
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

    /// A host's samples; the first, in which the load began, is left out when there are others.
    pub fn of(&self, member: usize) -> Vec<HostSample> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = hosts.get(&member).map_or(&[][..], |seen| &seen.samples);
        samples[usize::from(samples.len() > 2)..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_beginning_is_left_out() {
        let witness = Witness::default();
        for at_ns in 0..10_000 {
            witness.add(1, &HostSample { at_ns, ..HostSample::default() });
        }
        let kept = witness.of(1);
        assert!(kept.len() < MOST && kept.len() > MOST / 4, "{}", kept.len());
        assert!(kept[0].at_ns > 0 && kept.last().unwrap().at_ns > 9000);
        assert!(witness.of(0).is_empty());
    }
}
