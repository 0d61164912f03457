//! From intervals to what is reported: counts, rates with their uncertainty, percentiles.
//!
//! One pass over the window's intervals, which are read back one by one: memory does not grow with the
//! length of the measurement but for a few numbers an interval.

use metrics::{Histogram, Interval, OpKind, OpStats};
use stats::{Estimate, Measure, SteadyOutcome};
use store::{Latency, OpResult};

/// One kind of operation over a window, or all together.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is kept of it.
    pub result: OpResult,
    /// Response times, for percentiles that are not kept.
    pub response: Histogram,
}

/// All that is reported of a window.
#[derive(Clone, Debug)]
pub struct Figures {
    /// All operations together.
    pub total: Figure,
    /// Each kind that occurred, in the order of [`OpKind`].
    pub ops: Vec<Figure>,
}

/// Adds up a window.
#[derive(Debug, Default)]
pub struct Sums {
    sum: Interval,
    length_ns: u64,
    /// What each whole interval had, all operations together first.
    series: Vec<(Option<OpKind>, Series)>,
    intervals: usize,
    /// Length of the first interval: shorter ones at the end are no samples.
    whole_ns: u64,
}

#[derive(Debug, Default)]
struct Series {
    ops_per_s: Vec<f64>,
    bytes_per_s: Vec<f64>,
    p99_ns: Vec<f64>,
}

impl Sums {
    /// Takes one interval in.
    pub fn add(&mut self, interval: &Interval) {
        self.sum.merge(interval);
        self.length_ns += interval.length_ns;
        if self.whole_ns == 0 {
            self.whole_ns = interval.length_ns;
        }
        // What was cut off by the end of the measurement is counted, but is no sample of its own.
        if interval.length_ns == 0 || interval.length_ns * 2 < self.whole_ns {
            return;
        }
        let seconds = interval.length_ns as f64 / 1e9;
        let p99 = together(interval).map_or(0, |all| all.response().quantile_ns(0.99));
        self.push(None, interval.ok() as f64 / seconds, interval.bytes() as f64 / seconds, p99);
        for (kind, stats) in &interval.ops {
            let p99 = stats.response().quantile_ns(0.99);
            self.push(Some(*kind), stats.ok as f64 / seconds, stats.bytes as f64 / seconds, p99);
        }
        self.intervals += 1;
    }

    /// A kind that was missing in earlier intervals did nothing there.
    fn push(&mut self, op: Option<OpKind>, ops_per_s: f64, bytes_per_s: f64, p99_ns: u64) {
        let at = self.series.iter().position(|(known, _)| *known == op).unwrap_or_else(|| {
            self.series.push((op, Series::default()));
            self.series.len() - 1
        });
        let series = &mut self.series[at].1;
        series.ops_per_s.resize(self.intervals, 0.0);
        series.bytes_per_s.resize(self.intervals, 0.0);
        series.ops_per_s.push(ops_per_s);
        series.bytes_per_s.push(bytes_per_s);
        // Without an operation there is no latency: such an interval says nothing of it.
        if p99_ns > 0 {
            series.p99_ns.push(p99_ns as f64);
        }
    }

    /// The figures; estimates are the rule's own where it made them.
    pub fn finish(mut self, steady: Option<&SteadyOutcome>) -> Figures {
        let all = together(&self.sum).unwrap_or_default();
        let total = self.figure(None, &all, steady);
        self.sum.ops.sort_by_key(|(kind, _)| *kind);
        let occurred = self.sum.ops.iter().filter(|(_, stats)| !stats.is_empty());
        let ops = occurred.map(|(kind, stats)| self.figure(Some(*kind), stats, steady)).collect();
        Figures { total, ops }
    }

    fn figure(&self, op: Option<OpKind>, stats: &OpStats, steady: Option<&SteadyOutcome>) -> Figure {
        let empty = Series::default();
        let series = self.series.iter().find(|(known, _)| *known == op).map_or(&empty, |(_, series)| series);
        let of = |measure: Measure, values: &[f64], overall: f64| {
            let ruled = steady.and_then(|steady| {
                let series = steady.series.iter().find(|series| series.op == op && series.measure == measure);
                series.map(|series| series.estimate)
            });
            ruled.unwrap_or_else(|| estimate(values, overall))
        };
        let seconds = self.length_ns as f64 / 1e9;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let p99 = stats.response().quantile_ns(0.99) as f64;
        let errors = metrics::ErrorKind::ALL.iter().zip(stats.errors).filter(|(_, count)| *count > 0);
        let result = OpResult {
            op,
            ok: stats.ok,
            failed: stats.failed(),
            errors: errors.map(|(kind, count)| (*kind, count)).collect(),
            bytes: stats.bytes,
            rpcs: stats.rpcs,
            retries: stats.retries,
            bytes_per_s: of(Measure::BytesPerS, &series.bytes_per_s, rate(stats.bytes)),
            ops_per_s: of(Measure::OpsPerS, &series.ops_per_s, rate(stats.ok)),
            service: Latency::of(&stats.service),
            response: Latency::of(stats.response()),
            p99_ns: of(Measure::P99Ns, &series.p99_ns, p99),
        };
        Figure { result, response: stats.response().clone() }
    }
}

/// All kinds of operations of an interval as one; `None` when it counted nothing at all.
pub fn together(interval: &Interval) -> Option<OpStats> {
    let mut kinds = interval.ops.iter().map(|(_, stats)| stats);
    let mut all = kinds.next()?.clone();
    kinds.for_each(|stats| all.merge(stats));
    Some(all)
}

/// The mean of a series with its interval; of fewer than two values the figure over all, with no interval.
fn estimate(values: &[f64], overall: f64) -> Estimate {
    if values.len() >= 2 {
        return stats::estimate(values);
    }
    Estimate {
        mean: overall,
        low: overall,
        high: overall,
        deviation: 0.0,
        samples: values.len() as u64,
        effective_samples: values.len() as f64,
        autocorrelation: 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_support::interval;

    #[test]
    fn a_window_is_added_up_over_kinds_and_intervals() {
        let mut sums = Sums::default();
        sums.add(&interval(0, &[(OpKind::Read, 100, 4096, 1_000_000)]));
        sums.add(&interval(1, &[(OpKind::Read, 200, 4096, 2_000_000), (OpKind::Write, 50, 1024, 5_000_000)]));
        let figures = sums.finish(None);
        assert_eq!(figures.ops.len(), 2);
        let (read, write, total) = (&figures.ops[0].result, &figures.ops[1].result, &figures.total.result);
        assert_eq!((read.ok, write.ok, total.ok), (300, 50, 350));
        assert_eq!(total.bytes, 300 * 4096 + 50 * 1024);
        assert!((read.ops_per_s.mean - 150.0).abs() < 1e-9, "{:?}", read.ops_per_s);
        // Nothing was written in the first second: that belongs to the mean.
        assert!((write.ops_per_s.mean - 25.0).abs() < 1e-9, "{:?}", write.ops_per_s);
        assert!((total.ops_per_s.mean - 175.0).abs() < 1e-9, "{:?}", total.ops_per_s);
        assert_eq!(total.response.count, 350);
        assert!(total.response.max_ns.abs_diff(5_000_000) < 50_000, "{:?}", total.response);
        assert!(read.ops_per_s.low <= 150.0 && read.ops_per_s.high >= 150.0);
    }

    #[test]
    fn what_is_cut_off_is_counted_but_is_no_sample() {
        let mut sums = Sums::default();
        for index in 0..4 {
            sums.add(&interval(index, &[(OpKind::Read, 100, 1, 1000)]));
        }
        let mut cut = interval(4, &[(OpKind::Read, 1, 1, 1000)]);
        cut.length_ns = 10_000_000;
        sums.add(&cut);
        let figures = sums.finish(None);
        assert_eq!(figures.total.result.ok, 401);
        assert!((figures.total.result.ops_per_s.mean - 100.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_gives_zeros_and_no_fault() {
        let figures = Sums::default().finish(None);
        assert_eq!(figures.total.result.ok, 0);
        assert_eq!(figures.total.result.response, Latency::default());
        assert!(figures.ops.is_empty());
    }
}
