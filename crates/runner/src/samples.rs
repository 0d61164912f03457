//! Throughput of each direction over time, in samples of half a second unless the job says otherwise.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use experiment::Reporting;
use metrics::Interval;

use crate::job_outcome::{SampleSeries, SampleSummary, Samples};

/// fio's default `bwavgtime` and `iopsavgtime`, in milliseconds.
const USUAL_MS: u32 = 500;

/// Combines intervals into samples of bytes and of operations.
#[derive(Clone, Debug)]
pub struct Sampler {
    samples: Samples,
    bytes: Span,
    ops: Span,
}

/// The same for every host separately, by host number.
#[derive(Debug)]
pub struct HostSamplers {
    report: Reporting,
    hosts: Mutex<BTreeMap<usize, Sampler>>,
}

impl HostSamplers {
    /// Uses the sample lengths that a job asks for.
    pub fn new(report: &Reporting) -> Self {
        Self { report: report.clone(), hosts: Mutex::default() }
    }

    /// Adds an interval of a host.
    pub fn add(&self, member: usize, interval: &Interval) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.entry(member).or_insert_with(|| Sampler::new(&self.report)).add(interval);
    }

    /// All samples so far, of each host.
    pub fn samples(self) -> BTreeMap<usize, Samples> {
        let hosts = self.hosts.into_inner().unwrap_or_else(PoisonError::into_inner);
        hosts.into_iter().map(|(member, sampler)| (member, sampler.samples())).collect()
    }
}

/// Counts since the last sample.
#[derive(Clone, Debug)]
struct Span {
    /// Minimum length of a sample.
    least_ns: u64,
    length_ns: u64,
    /// Per direction.
    counts: [u64; 3],
}

impl Sampler {
    /// Uses the sample lengths that a job asks for.
    pub fn new(report: &Reporting) -> Self {
        Sampler {
            samples: Samples::default(),
            bytes: Span::new(report.bandwidth_sample_ms),
            ops: Span::new(report.operations_sample_ms),
        }
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        for (kind, stats) in &interval.ops {
            let Some(direction) = kind.traits().direction.map(|direction| direction as usize) else {
                continue;
            };
            self.bytes.counts[direction] += stats.bytes;
            self.ops.counts[direction] += stats.ok;
        }
        let Samples { read, write, trim } = &mut self.samples;
        self.bytes.pass(interval.length_ns, [read, write, trim], |series| &mut series.bytes_per_s);
        let Samples { read, write, trim } = &mut self.samples;
        self.ops.pass(interval.length_ns, [read, write, trim], |series| &mut series.ops_per_s);
    }

    /// All samples so far; a rest shorter than a sample is dropped.
    pub fn samples(self) -> Samples {
        self.samples
    }
}

impl Span {
    fn new(least_ms: u32) -> Self {
        let least_ms = if least_ms == 0 { USUAL_MS } else { least_ms };
        Span { least_ns: u64::from(least_ms) * 1_000_000, length_ns: 0, counts: [0; 3] }
    }

    /// Advances time. When that completes a sample, every direction gets it except those that have done nothing yet.
    fn pass(
        &mut self,
        ns: u64,
        series: [&mut SampleSeries; 3],
        pick: fn(&mut SampleSeries) -> &mut SampleSummary,
    ) {
        self.length_ns += ns;
        if self.length_ns < self.least_ns {
            return;
        }
        let seconds = self.length_ns as f64 / 1e9;
        self.length_ns = 0;
        for (series, count) in series.into_iter().zip(std::mem::take(&mut self.counts)) {
            let summary = pick(series);
            if count > 0 || summary.count > 0 {
                summary.add(count as f64 / seconds);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::test_support::interval;

    #[test]
    fn intervals_make_samples_of_the_length_that_is_wanted() {
        let mut sampler = Sampler::new(&Reporting { operations_sample_ms: 200, ..Reporting::default() });
        for index in 0..11 {
            let mut part = interval(index, &[(OpKind::Read, 10 * (1 + u64::from(index / 5)), 4096, 1000)]);
            part.length_ns = 100_000_000;
            sampler.add(&part);
        }
        let samples = sampler.samples();
        let read = samples.read.bytes_per_s;
        let block = 4096.0;
        assert_eq!(
            (read.count, read.min, read.max, read.mean),
            (2, 100.0 * block, 200.0 * block, 150.0 * block)
        );
        // Over 0.2 s each: 100 100 150 200 200 per second; the last 0.1 s make no sample.
        let ops = samples.read.ops_per_s;
        assert_eq!((ops.count, ops.min, ops.max, ops.mean), (5, 100.0, 200.0, 150.0));
        assert_eq!(samples.write.ops_per_s.count, 0);
    }
}
