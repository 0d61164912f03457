//! From intervals to the report: counts, rates with their uncertainty, percentiles.
//!
//! One pass over the window's intervals. The series are the ones the rules use ([`History`]), so memory is bounded
//! whatever the length of the measurement.

use metrics::{Histogram, Interval, LatencySummary, OpKind, OpStats};

use crate::history::{History, Latencies};
use crate::series::Series;
use crate::{Estimate, Measure, OpSummary, ProcedureSummary, SteadyOutcome};

/// One kind of operation over a window, or all together.
#[derive(Clone, Debug)]
pub struct OpFigures {
    /// The part that is stored.
    pub summary: OpSummary,
    /// Response times, for percentiles that are not stored.
    pub response: Histogram,
}

/// The complete report on a window.
#[derive(Clone, Debug)]
pub struct WindowFigures {
    /// All operations together.
    pub total: OpFigures,
    /// Each kind that occurred, in the order of [`OpKind`].
    pub ops: Vec<OpFigures>,
}

/// Accumulates a window.
#[derive(Clone, Debug, Default)]
pub struct WindowSums {
    sum: Interval,
    length_ns: u64,
    history: History,
    /// Percentiles of all operations together; [`History`] has those of each kind.
    all: Latencies,
}

impl WindowSums {
    /// Adds the next interval.
    pub fn add(&mut self, interval: &Interval) {
        self.sum.merge(interval);
        self.length_ns += interval.length_ns;
        if self.history.push(interval) {
            self.all.push(interval.index, interval.all_ops().response());
        }
    }

    /// The figures, with the rule's own estimates where it made some.
    pub fn finish(mut self, steady: Option<&SteadyOutcome>) -> WindowFigures {
        self.sum.ops.sort_by_key(|(kind, _)| *kind);
        let mut series = self.history.throughput();
        series.extend(self.all.series(None, false));
        series.extend(self.history.percentiles().into_iter().filter(|series| series.op.is_some()));
        let figures = |op, stats: &OpStats| self.figures(op, stats, &series, steady);
        let occurred = self.sum.ops.iter().filter(|(_, stats)| !stats.is_empty());
        WindowFigures {
            total: figures(None, &self.sum.all_ops()),
            ops: occurred.map(|(kind, stats)| figures(Some(*kind), stats)).collect(),
        }
    }

    fn figures(
        &self,
        op: Option<OpKind>,
        stats: &OpStats,
        series: &[Series<'_>],
        steady: Option<&SteadyOutcome>,
    ) -> OpFigures {
        let of = |measure: Measure, overall: f64| {
            let ruled = steady.and_then(|steady| {
                let series = steady.series.iter().find(|series| series.op == op && series.measure == measure);
                series.map(|series| series.estimate)
            });
            ruled.unwrap_or_else(|| {
                let series = series.iter().find(|series| series.op == op && series.measure == measure);
                match series {
                    Some(series) => estimate(&series.values, overall),
                    // A rate that was 0 throughout has no series; neither has a latency with too few samples.
                    None if measure == Measure::P99Ns => estimate(&[], overall),
                    None => estimate(&vec![0.0; self.history.grid.len()], overall),
                }
            })
        };
        let seconds = self.length_ns as f64 / 1e9;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        let p99 = stats.response().quantile_ns(0.99) as f64;
        let summary = OpSummary {
            op,
            ok: stats.ok,
            failed: stats.failed(),
            errors: stats.errors_by_kind(),
            bytes: stats.bytes,
            rpcs: stats.rpcs,
            retries: stats.retries,
            procedures: ProcedureSummary::of(&stats.procedures, stats.ok + stats.failed(), seconds),
            bytes_per_s: of(Measure::BytesPerS, rate(stats.bytes)),
            ops_per_s: of(Measure::OpsPerS, rate(stats.ok)),
            service: LatencySummary::of(&stats.service),
            response: LatencySummary::of(stats.response()),
            p99_ns: of(Measure::P99Ns, p99),
        };
        OpFigures { summary, response: stats.response().clone() }
    }
}

/// The mean of a series with its interval; with fewer than two values, the overall figure without an interval.
fn estimate(values: &[f64], overall: f64) -> Estimate {
    if values.len() >= 2 {
        return crate::estimate(values);
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

    /// An interval of one second with `count` operations of each kind, each of `bytes` and `latency_ns`.
    fn interval(index: u32, kinds: &[(OpKind, u64, u64, u64)]) -> Interval {
        let (start_ns, length_ns) = (u64::from(index) * 1_000_000_000, 1_000_000_000);
        let mut interval = Interval { index, start_ns, length_ns, ..Interval::default() };
        for (kind, count, bytes, latency_ns) in kinds {
            let stats = interval.op_mut(*kind);
            (stats.ok, stats.bytes) = (*count, count * bytes);
            (0..*count).for_each(|_| stats.service.record(*latency_ns));
        }
        interval
    }

    #[test]
    fn a_window_is_added_up_over_kinds_and_intervals() {
        let mut sums = WindowSums::default();
        sums.add(&interval(0, &[(OpKind::Read, 100, 4096, 1_000_000)]));
        sums.add(&interval(1, &[(OpKind::Read, 200, 4096, 2_000_000), (OpKind::Write, 50, 1024, 5_000_000)]));
        let figures = sums.finish(None);
        assert_eq!(figures.ops.len(), 2);
        let (read, write, total) = (&figures.ops[0].summary, &figures.ops[1].summary, &figures.total.summary);
        assert_eq!((read.ok, write.ok, total.ok), (300, 50, 350));
        assert_eq!(total.bytes, 300 * 4096 + 50 * 1024);
        assert!((read.ops_per_s.mean - 150.0).abs() < 1e-9, "{:?}", read.ops_per_s);
        // Nothing was written in the first second; the mean includes that.
        assert!((write.ops_per_s.mean - 25.0).abs() < 1e-9, "{:?}", write.ops_per_s);
        assert!((total.ops_per_s.mean - 175.0).abs() < 1e-9, "{:?}", total.ops_per_s);
        assert_eq!(total.response.count, 350);
        assert!(total.response.max_ns.abs_diff(5_000_000) < 50_000, "{:?}", total.response);
        assert!(read.ops_per_s.low <= 150.0 && read.ops_per_s.high >= 150.0);
    }

    #[test]
    fn what_is_cut_off_is_counted_but_is_no_sample() {
        let mut sums = WindowSums::default();
        for index in 0..4 {
            sums.add(&interval(index, &[(OpKind::Read, 100, 1, 1000)]));
        }
        let mut cut = interval(4, &[(OpKind::Read, 1, 1, 1000)]);
        cut.length_ns = 10_000_000;
        sums.add(&cut);
        let figures = sums.finish(None);
        assert_eq!(figures.total.summary.ok, 401);
        assert!((figures.total.summary.ops_per_s.mean - 100.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_gives_zeros_and_no_fault() {
        let figures = WindowSums::default().finish(None);
        assert_eq!(figures.total.summary.ok, 0);
        assert_eq!(figures.total.summary.response, LatencySummary::default());
        assert!(figures.ops.is_empty());
    }

    #[test]
    fn a_percentile_of_all_operations_has_an_interval_too() {
        let mut sums = WindowSums::default();
        for index in 0..10 {
            let slow = 1_000_000 + u64::from(index) * 100_000;
            sums.add(&interval(index, &[(OpKind::Read, 150, 1, slow), (OpKind::Write, 150, 1, slow / 2)]));
        }
        let figures = sums.finish(None);
        let p99 = figures.total.summary.p99_ns;
        assert_eq!(p99.samples, 10);
        assert!((p99.mean - 1_450_000.0).abs() < 2_000.0 && p99.low < p99.mean, "{p99:?}");
        // 150 per second are too few for a percentile: two seconds make a value.
        assert_eq!(figures.ops[0].summary.p99_ns.samples, 5);
    }
}
