//! Response times in fixed buckets: the classic histogram of Prometheus.

use metrics::Histogram;

/// Steps within a factor of ten; each is about a third above the one before, so that an interpolated percentile is off
/// by a sixth at most.
const STEPS: [u64; 8] = [100, 130, 180, 240, 320, 420, 560, 750];
/// Factors of ten that are covered, from 100 ns.
const DECADES: usize = 9;
/// Number of bounds: 100 ns to 100 s.
pub(crate) const BOUNDS: usize = STEPS.len() * DECADES + 1;

/// Maximum count of a bucket: hosts can report anything, and the sum of all buckets must be a number.
const MAX_COUNT: u64 = u64::MAX / (BOUNDS + 1) as u64;

/// Counts per bucket, and their sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LatencyBuckets {
    /// Of values up to each bound, and above the bound before it; at last those above all bounds.
    counts: [u64; BOUNDS + 1],
    sum_ns: f64,
}

impl Default for LatencyBuckets {
    fn default() -> Self {
        Self { counts: [0; BOUNDS + 1], sum_ns: 0.0 }
    }
}

/// A bound in nanoseconds.
fn bound_ns(index: usize) -> u64 {
    STEPS[index % STEPS.len()] * 10_u64.pow((index / STEPS.len()) as u32)
}

impl LatencyBuckets {
    /// Adds everything that a histogram counted.
    pub(crate) fn add(&mut self, histogram: &Histogram) {
        let mut bucket = 0;
        for (value_ns, count) in histogram.counts() {
            // The values ascend.
            while bucket < BOUNDS && value_ns > bound_ns(bucket) {
                bucket += 1;
            }
            self.counts[bucket] = self.counts[bucket].saturating_add(count).min(MAX_COUNT);
        }
        self.sum_ns += histogram.mean_ns() * histogram.count() as f64;
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all values, in seconds.
    pub(crate) fn sum_s(&self) -> f64 {
        self.sum_ns / 1e9
    }

    /// Upper bounds in seconds, each with the number of values in its bucket alone; infinity for no bound.
    pub(crate) fn in_seconds(&self) -> Vec<(f64, u64)> {
        let bound = |index| if index < BOUNDS { bound_ns(index) as f64 / 1e9 } else { f64::INFINITY };
        self.counts.iter().enumerate().map(|(index, count)| (bound(index), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_ascend_from_100_ns_to_100_s() {
        let bounds: Vec<u64> = (0..BOUNDS).map(bound_ns).collect();
        assert_eq!((bounds[0], bounds[BOUNDS - 1]), (100, 100_000_000_000));
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1] && pair[1] as f64 / pair[0] as f64 <= 1.4));
    }

    #[test]
    fn every_value_is_in_one_bucket() {
        let mut histogram = Histogram::new();
        [1, 100, 101, 1_000_000, 99_000_000_000, 3_600_000_000_000]
            .iter()
            .for_each(|ns| histogram.record(*ns));
        let mut buckets = LatencyBuckets::default();
        buckets.add(&histogram);
        buckets.add(&histogram);
        assert_eq!(buckets.count(), 12);
        assert_eq!(&buckets.counts[..2], [4, 2]);
        assert_eq!(buckets.counts[BOUNDS], 2, "an hour is above all bounds");
        let sum_s = 2.0 * 3_699.001_000_202;
        assert!((buckets.sum_s() / sum_s - 1.0).abs() < 1e-3, "{}", buckets.sum_s());
        let seconds = buckets.in_seconds();
        assert_eq!((seconds[0].0, seconds[BOUNDS].0), (1e-7, f64::INFINITY));
    }
}
