//! The series that rules look at, derived from the history.

use std::borrow::Cow;

use metrics::OpKind;

use crate::history::{Counts, Grid, History, Latencies};
use crate::numbers::median;
use crate::stalls::{self, Stalls};
use crate::{Measure, Window};

/// An operation with less than this share of operations and of bytes is not judged.
const RARE: f64 = 0.01;
/// Minimum average operations per interval for an operation's p99; with fewer, the points of its series would span more
/// than four intervals each.
pub(crate) const FEWEST_FOR_P99: f64 = 50.0;

/// Minimum median of operations per point for telling stalls from random variation: with independent operations, fewer
/// than half of 50 occur once in thirty thousand points.
const FEWEST_FOR_STALLS: f64 = 50.0;

/// One series of values over the points of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    pub op: Option<OpKind>,
    pub measure: Measure,
    pub values: Cow<'a, [f64]>,
    /// The values with stalls removed, if there were any.
    pub undisturbed: Option<Vec<f64>>,
    pub grid: &'a Grid,
    /// The series takes part in the decision; otherwise it is only reported.
    pub judged: bool,
}

impl Series<'_> {
    /// Human-readable name: `read p99`, `ops/s`.
    pub(crate) fn name(&self) -> String {
        name(self.op, self.measure)
    }

    /// The input for warm-up, levels and drift: the values without stalls.
    pub(crate) fn level(&self) -> &[f64] {
        self.undisturbed.as_deref().unwrap_or(&self.values)
    }

    /// Whether it is a latency.
    pub(crate) fn is_latency(&self) -> bool {
        matches!(self.measure, Measure::P50Ns | Measure::P99Ns | Measure::MeanNs)
    }

    /// Its points within a window of intervals.
    pub(crate) fn within(&self, window: Window) -> std::ops::Range<usize> {
        let first = self.grid.point_from(window.first).min(self.values.len());
        let end = self.grid.point_from(window.end).min(self.values.len());
        first..end.max(first)
    }
}

/// Human-readable name of a series.
pub(crate) fn name(op: Option<OpKind>, measure: Measure) -> String {
    let measure = match measure {
        Measure::BytesPerS => "bandwidth",
        Measure::OpsPerS => "ops/s",
        Measure::P50Ns => "p50",
        Measure::P99Ns => "p99",
        Measure::MeanNs => "mean latency",
    };
    op.map_or_else(|| measure.to_owned(), |op| format!("{op} {measure}"))
}

impl Latencies {
    /// p99, which may be judged, and p50, which is not.
    pub(crate) fn series(&self, op: Option<OpKind>, judged: bool) -> [Series<'_>; 2] {
        [(Measure::P99Ns, &self.p99, judged), (Measure::P50Ns, &self.p50, false)].map(
            |(measure, values, judged)| {
                let values = Cow::Borrowed(values.as_slice());
                Series { op, measure, values, undisturbed: None, grid: &self.grid, judged }
            },
        )
    }
}

impl History {
    /// Whether an operation is common enough to be judged.
    pub(crate) fn is_common(&self, counts: &Counts) -> bool {
        let all = |pick: fn(&Counts) -> &Vec<f64>| self.counts.iter().flat_map(pick).sum::<f64>();
        counts.ok.iter().sum::<f64>() >= RARE * all(|c| &c.ok).max(f64::MIN_POSITIVE)
            || counts.bytes.iter().sum::<f64>() >= RARE * all(|c| &c.bytes).max(f64::MIN_POSITIVE)
    }

    /// Bandwidth and operations per second, of all together and of each operation.
    pub(crate) fn throughput(&self) -> Vec<Series<'_>> {
        let n = self.grid.len();
        let single = self.counts.len() == 1;
        let mut out = Vec::new();
        let mut add = |op: Option<OpKind>, measure, totals: &[f64], judged| {
            let moved = totals.iter().any(|v| *v > 0.0);
            if measure == Measure::OpsPerS && op.is_none() || moved {
                let values = totals.iter().zip(&self.seconds).map(|(v, s)| v / s).collect();
                let values = Cow::Owned(values);
                out.push(Series { op, measure, values, undisturbed: None, grid: &self.grid, judged });
            }
        };
        let total = |pick: fn(&Counts) -> &Vec<f64>| {
            let mut sums = vec![0.0; n];
            for counts in &self.counts {
                sums.iter_mut().zip(pick(counts)).for_each(|(sum, v)| *sum += v);
            }
            sums
        };
        add(None, Measure::BytesPerS, &total(|c| &c.bytes), true);
        add(None, Measure::OpsPerS, &total(|c| &c.ok), true);
        for counts in &self.counts {
            // The only operation equals the total.
            let judged = !single && self.is_common(counts);
            add(Some(counts.kind), Measure::BytesPerS, &counts.bytes, judged);
            add(Some(counts.kind), Measure::OpsPerS, &counts.ok, judged);
        }
        let stalls = out.first().map_or_else(Vec::new, |total| self.stall_points(total));
        if !stalls.is_empty() {
            for series in &mut out {
                series.undisturbed = Some(stalls::without(&series.values, &stalls).into_owned());
            }
        }
        out
    }

    /// The points of each stall of total throughput. Empty for an uneven load, and if so few operations end in a second
    /// that their number occasionally halves at random.
    fn stall_points(&self, total: &Series<'_>) -> Vec<std::ops::Range<usize>> {
        let mut counts: Vec<f64> =
            (0..self.grid.len()).map(|at| self.counts.iter().map(|counts| counts.ok[at]).sum()).collect();
        if self.uneven || median(&mut counts) < FEWEST_FOR_STALLS {
            return Vec::new();
        }
        stalls::find(&total.values, &self.seconds)
    }

    /// The stalls of total throughput, and the cost of those within a window.
    pub(crate) fn stalls(&self, window: Window) -> Option<Stalls> {
        let total = self.headline();
        let found = self.stall_points(&total);
        stalls::sum_up(&total.values, &self.seconds, &found, total.within(window))
    }

    /// p99 and p50 of each operation; an only operation also stands for the total.
    pub(crate) fn percentiles(&self) -> Vec<Series<'_>> {
        let mut out = Vec::new();
        for (kind, latencies) in &self.latencies {
            let judged = self.counts.iter().any(|c| c.kind == *kind && self.judges_p99(c));
            for series in latencies.series(Some(*kind), judged) {
                if self.latencies.len() == 1 {
                    out.push(Series { op: None, judged: false, ..series.clone() });
                }
                out.push(series);
            }
        }
        out
    }

    /// Whether an operation is common, and frequent enough for its p99 to be judged.
    pub(crate) fn judges_p99(&self, counts: &Counts) -> bool {
        self.is_common(counts) && self.an_interval(counts) >= FEWEST_FOR_P99
    }

    /// Mean number of successful operations per interval.
    pub(crate) fn an_interval(&self, counts: &Counts) -> f64 {
        counts.ok.iter().sum::<f64>() / f64::from(self.intervals().max(1))
    }

    /// Number of intervals.
    pub(crate) fn intervals(&self) -> u32 {
        self.everything().len()
    }

    /// The window of all intervals.
    pub(crate) fn everything(&self) -> Window {
        match self.grid.len() {
            0 => Window { first: 0, end: 0 },
            n => Window { first: self.grid.first(0), end: self.grid.end(n - 1) },
        }
    }

    /// Mean response time of each operation; an only operation also stands for the total. A point without operations
    /// repeats the previous one.
    pub(crate) fn mean_latencies(&self) -> Vec<Series<'_>> {
        let of = |counts: &Counts| {
            let mut last = 0.0;
            let values = counts.waited.iter().zip(&counts.ok);
            values
                .map(|(waited, ok)| {
                    if *ok > 0.0 {
                        last = waited / ok;
                    }
                    last
                })
                .collect()
        };
        let mut out = Vec::new();
        let timed: Vec<&Counts> = self.counts.iter().filter(|c| c.waited.iter().any(|w| *w > 0.0)).collect();
        for counts in &timed {
            let (op, measure, values) = (Some(counts.kind), Measure::MeanNs, Cow::Owned(of(counts)));
            let judged = self.is_common(counts);
            let series = Series { op, measure, values, undisturbed: None, grid: &self.grid, judged };
            if timed.len() == 1 {
                out.push(Series { op: None, judged: false, ..series.clone() });
            }
            out.push(series);
        }
        out
    }

    /// The series that determines the shape of a run: bandwidth if bytes moved, otherwise operations per second.
    pub(crate) fn headline(&self) -> Series<'_> {
        self.throughput().swap_remove(0)
    }

    /// Complete rounds of at least `length_s` seconds, as ranges of grid points.
    pub(crate) fn rounds(&self, length_s: f64) -> Vec<std::ops::Range<usize>> {
        let mut rounds = Vec::new();
        let (mut from, mut elapsed) = (0, 0.0);
        for (at, seconds) in self.seconds.iter().enumerate() {
            elapsed += seconds;
            // A hundredth of an interval is timing error, not work.
            if elapsed + 0.01 * seconds >= length_s * (rounds.len() + 1) as f64 {
                rounds.push(from..at + 1);
                from = at + 1;
            }
        }
        rounds
    }

    /// Mean over each round of a series on the grid.
    pub(crate) fn per_round(&self, series: &Series<'_>, rounds: &[std::ops::Range<usize>]) -> Vec<f64> {
        rounds
            .iter()
            .map(|round| {
                let seconds: f64 = self.seconds[round.clone()].iter().sum();
                let sum: f64 = series.values[round.clone()]
                    .iter()
                    .zip(&self.seconds[round.clone()])
                    .map(|(v, s)| v * s)
                    .sum();
                sum / seconds
            })
            .collect()
    }
}
