//! Throughput of each direction over time, in samples of half a second.

use metrics::{Interval, OpKind};

use crate::fio::outcome::{Samples, Series};

/// The shortest sample: fio's usual `bwavgtime` and `iopsavgtime`.
const SAMPLE_NS: u64 = 500_000_000;

/// Puts intervals together until they make a sample.
#[derive(Debug, Default)]
pub struct Sampler {
    samples: Samples,
    length_ns: u64,
    /// Operations and bytes of each direction since the last sample.
    counts: [(u64, u64); 3],
}

impl Sampler {
    /// Takes an interval in.
    pub fn add(&mut self, interval: &Interval) {
        self.length_ns += interval.length_ns;
        for (kind, stats) in &interval.ops {
            let direction = match kind {
                OpKind::Read | OpKind::Get => 0,
                OpKind::Write | OpKind::Put => 1,
                OpKind::Trim | OpKind::Delete => 2,
                _ => continue,
            };
            let (ops, bytes) = &mut self.counts[direction];
            *ops += stats.ok;
            *bytes += stats.bytes;
        }
        if self.length_ns < SAMPLE_NS {
            return;
        }
        let seconds = self.length_ns as f64 / 1e9;
        let counts = std::mem::take(&mut self.counts);
        self.length_ns = 0;
        let series = [&mut self.samples.read, &mut self.samples.write, &mut self.samples.trim];
        for (series, (ops, bytes)) in series.into_iter().zip(counts) {
            take(series, ops as f64 / seconds, bytes as f64 / seconds);
        }
    }

    /// All samples so far; what is shorter than one is none.
    pub fn samples(self) -> Samples {
        self.samples
    }
}

/// A direction that has done nothing yet has no samples.
fn take(series: &mut Series, ops_per_s: f64, bytes_per_s: f64) {
    if ops_per_s > 0.0 || series.ops_per_s.count > 0 {
        series.ops_per_s.add(ops_per_s);
        series.bytes_per_s.add(bytes_per_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::figures::tests::interval;

    #[test]
    fn intervals_make_samples_of_half_a_second() {
        let mut sampler = Sampler::default();
        for index in 0..11 {
            let mut part = interval(index, &[(OpKind::Read, 10 * (1 + u64::from(index / 5)), 4096, 1000)]);
            part.length_ns = 100_000_000;
            sampler.add(&part);
        }
        let samples = sampler.samples();
        let read = samples.read.ops_per_s;
        assert_eq!((read.count, read.min, read.max, read.mean), (2, 100.0, 200.0, 150.0));
        assert_eq!(samples.read.bytes_per_s.max, 200.0 * 4096.0);
        assert_eq!(samples.write.ops_per_s.count, 0);
    }
}
