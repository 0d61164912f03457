//! The series that rules look at, made from what is kept.

use std::borrow::Cow;

use metrics::OpKind;

use crate::history::{Counts, Grid, History, Latencies};
use crate::numbers::median;
use crate::stalls::{self, Stalls};
use crate::{Measure, Window};

/// An operation that makes up less than this share of operations and of bytes is not judged.
const RARE: f64 = 0.01;
/// Operations an interval that an operation's p99 needs on average; with fewer, the points of its series would span
/// more than four intervals each.
pub(crate) const FEWEST_FOR_P99: f64 = 50.0;

/// Operations that end in a point in the median, for stalls to be told from chance: of independent ones fewer than half
/// of 50 come once in thirty thousand points.
const FEWEST_FOR_STALLS: f64 = 50.0;

/// One series of values over the points of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Series<'a> {
    pub op: Option<OpKind>,
    pub measure: Measure,
    pub values: Cow<'a, [f64]>,
    /// The values as if there had been no stalls, where there were any.
    pub undisturbed: Option<Vec<f64>>,
    pub grid: &'a Grid,
    /// It takes part in the decision; otherwise it is only reported.
    pub judged: bool,
}

impl Series<'_> {
    /// Its name for people: `read p99`, `ops/s`.
    pub(crate) fn name(&self) -> String {
        name(self.op, self.measure)
    }

    /// What warm-up, levels and drift are looked for in: the values without stalls.
    pub(crate) fn level(&self) -> &[f64] {
        self.undisturbed.as_deref().unwrap_or(&self.values)
    }

    /// It is a latency.
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

/// A series' name for people.
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

    /// Bandwidth and operations a second, of all together and of each operation.
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
            // The only operation is the same as all together.
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

    /// The points of each stall of total throughput. None of an uneven load, and none where so few operations end in a second that
    /// chance alone halves their number now and then.
    fn stall_points(&self, total: &Series<'_>) -> Vec<std::ops::Range<usize>> {
        let mut counts: Vec<f64> =
            (0..self.grid.len()).map(|at| self.counts.iter().map(|counts| counts.ok[at]).sum()).collect();
        if self.uneven || median(&mut counts) < FEWEST_FOR_STALLS {
            return Vec::new();
        }
        stalls::find(&total.values, &self.seconds)
    }

    /// The stalls of total throughput, and what those within a window cost.
    pub(crate) fn stalls(&self, window: Window) -> Option<Stalls> {
        let total = self.headline();
        let found = self.stall_points(&total);
        stalls::sum_up(&total.values, &self.seconds, &found, total.within(window))
    }

    /// p99 and p50 of each operation; the only one stands for all together too.
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

    /// An operation is common, and frequent enough for its p99 to be judged.
    pub(crate) fn judges_p99(&self, counts: &Counts) -> bool {
        self.is_common(counts) && self.an_interval(counts) >= FEWEST_FOR_P99
    }

    /// How often an operation ended well in an interval, on average.
    pub(crate) fn an_interval(&self, counts: &Counts) -> f64 {
        counts.ok.iter().sum::<f64>() / f64::from(self.intervals().max(1))
    }

    /// How many intervals there were.
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

    /// Mean response time of each operation; the only one stands for all together too. A point without operations repeats the one before.
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

    /// What the shape of a run is judged by: bandwidth when bytes moved, operations a second otherwise.
    pub(crate) fn headline(&self) -> Series<'_> {
        self.throughput().swap_remove(0)
    }

    /// Complete spans of at least `length_s` seconds, as ranges of points of the grid.
    pub(crate) fn rounds(&self, length_s: f64) -> Vec<std::ops::Range<usize>> {
        let mut rounds = Vec::new();
        let (mut from, mut elapsed) = (0, 0.0);
        for (at, seconds) in self.seconds.iter().enumerate() {
            elapsed += seconds;
            // A hundredth of an interval is measurement of time, not of work.
            if elapsed + 0.01 * seconds >= length_s * (rounds.len() + 1) as f64 {
                rounds.push(from..at + 1);
                from = at + 1;
            }
        }
        rounds
    }

    /// Mean over each round of a series that is on the grid.
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
