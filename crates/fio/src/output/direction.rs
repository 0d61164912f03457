//! One direction of an entry: reads, writes, trims, or all combined.

use metrics::{ErrorKind, Histogram, OpStats};

use runner::{SampleSeries, SampleSummary};

/// The figures of a direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionFigures {
    /// Payload bytes acknowledged.
    pub bytes: u64,
    /// Successful operations.
    pub ops: u64,
    /// Operations that moved fewer bytes than requested.
    pub short: u64,
    /// Its duration in nanoseconds; 0 if nothing succeeded.
    pub runtime_ns: u64,
    /// Latency from the actual start.
    pub service: Histogram,
    /// Latency from the intended start.
    pub response: Histogram,
    /// Bytes per second over time.
    pub bandwidth: RateSamples,
    /// Operations per second over time.
    pub rate: RateSamples,
}

impl DirectionFigures {
    /// Adds the counts of one operation in a stage of length `window_ns`.
    pub fn add_stage(&mut self, stats: &OpStats, window_ns: u64) {
        if stats.is_empty() {
            return;
        }
        self.bytes += stats.bytes;
        self.ops += stats.ok;
        self.short += stats.errors[ErrorKind::Length as usize];
        if stats.ok > 0 {
            self.runtime_ns = self.runtime_ns.max(window_ns);
        }
        self.service.merge(&stats.service);
        self.response.merge(stats.response());
    }

    /// Adds the samples of a job.
    pub fn add_series(&mut self, series: &SampleSeries) {
        self.bandwidth.add(&RateSamples::of(&series.bytes_per_s));
        self.rate.add(&RateSamples::of(&series.ops_per_s));
    }

    /// Adds the figures of a concurrent job, or of another direction.
    pub fn merge(&mut self, other: &DirectionFigures) {
        self.bytes += other.bytes;
        self.ops += other.ops;
        self.short += other.short;
        self.runtime_ns = self.runtime_ns.max(other.runtime_ns);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.bandwidth.add(&other.bandwidth);
        self.rate.add(&other.rate);
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        per_second(self.bytes, self.runtime_ns)
    }

    /// Operations per second.
    pub fn ops_per_s(&self) -> f64 {
        per_second(self.ops, self.runtime_ns)
    }

    /// Duration in milliseconds, rounded; at least 1 if anything was done.
    pub fn runtime_ms(&self) -> u64 {
        match self.runtime_ns {
            0 => 0,
            ns => ((ns + 500_000) / 1_000_000).max(1),
        }
    }
}

fn per_second(count: u64, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { count as f64 * 1e9 / ns as f64 }
}

/// A rate over time, of one job or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSamples {
    /// The min; for several jobs, the sum of theirs.
    pub min: f64,
    /// The max; for several jobs, the sum of theirs.
    pub max: f64,
    /// The mean; for several jobs, the sum of theirs.
    pub mean: f64,
    /// Number of samples of all jobs.
    pub count: u64,
    /// Sum of squared deviations of each job's samples from its mean.
    squares: f64,
}

impl RateSamples {
    /// From one job's summary.
    pub fn of(summary: &SampleSummary) -> RateSamples {
        let SampleSummary { min, max, mean, deviation, count, .. } = *summary;
        RateSamples { min, max, mean, count, squares: deviation * deviation * count.saturating_sub(1) as f64 }
    }

    /// Adds another job's rate.
    pub fn add(&mut self, other: &RateSamples) {
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.count += other.count;
        self.squares += other.squares;
    }

    /// The samples' standard deviation; 0 with fewer than two.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> SampleSummary {
        let mut summary = SampleSummary::default();
        values.iter().for_each(|value| summary.add(*value));
        summary
    }

    #[test]
    fn kinds_and_jobs_at_the_same_time_add_up() {
        let mut stats = OpStats { ok: 10, bytes: 40_960, ..OpStats::default() };
        (0..10).for_each(|_| stats.service.record(1_000));
        let mut job = DirectionFigures::default();
        job.add_stage(&stats, 2_000_000);
        job.add_stage(&stats, 2_000_000);
        job.add_stage(&OpStats::default(), 5_000_000);
        assert_eq!((job.ops, job.runtime_ns, job.runtime_ms()), (20, 2_000_000, 2));
        assert_eq!(job.ops_per_s(), 10_000.0);
        let mut both = job.clone();
        both.merge(&job);
        assert_eq!(
            (both.ops, both.bytes, both.runtime_ns, both.service.count()),
            (40, 163_840, 2_000_000, 40)
        );
        assert_eq!(both.bytes_per_s(), 81_920_000.0);
    }

    #[test]
    fn samples_of_a_group_are_sums() {
        let mut samples = RateSamples::of(&summary(&[1.0, 3.0]));
        samples.add(&RateSamples::of(&summary(&[10.0, 14.0])));
        assert_eq!((samples.min, samples.max, samples.mean, samples.count), (11.0, 17.0, 14.0, 4));
        assert!((samples.deviation() - (10.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
