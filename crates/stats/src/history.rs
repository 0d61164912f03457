//! What is kept of the intervals: a few numbers each, on a grid of bounded size.
//!
//! Counts and bytes are kept per interval and operation. Percentiles need enough operations, so an operation's
//! histograms are merged until they hold [`ENOUGH`] latencies, and each such group of intervals gives one point. At
//! [`LONGEST`] points (4.5 hours at one per second), neighbours are merged in pairs and each point spans twice as long
//! from then on. Memory stays below about 1.5 MB per operation kind, however long the run.

use metrics::{Histogram, Interval, OpKind};

use crate::Window;

/// Maximum number of points in a series.
pub(crate) const LONGEST: usize = 16_384;
/// Minimum number of latencies per percentile: two of 200 lie beyond the 99th.
pub(crate) const ENOUGH: u64 = 200;

/// Which intervals each point of a series spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    spans: Vec<(u32, u32)>,
}

impl Grid {
    /// One point per interval, from 0.
    #[cfg(test)]
    pub(crate) fn plain(n: u32) -> Self {
        Self { spans: (0..n).map(|i| (i, i + 1)).collect() }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// First interval of a point.
    pub(crate) fn first(&self, point: usize) -> u32 {
        self.spans.get(point).map_or_else(|| self.spans.last().map_or(0, |s| s.1), |s| s.0)
    }

    /// One past the last interval of a point.
    pub(crate) fn end(&self, point: usize) -> u32 {
        self.spans.get(point).map_or(0, |s| s.1)
    }

    /// The first point that begins at or after an interval.
    pub(crate) fn point_from(&self, interval: u32) -> usize {
        self.spans.partition_point(|s| s.0 < interval)
    }

    fn push(&mut self, first: u32, end: u32) {
        self.spans.push((first, end));
    }

    fn pair(&mut self) {
        self.spans = self.spans.chunks(2).map(|p| (p[0].0, p[p.len() - 1].1)).collect();
    }
}

/// Counts of one kind of operation, one value per point of the grid.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pub kind: OpKind,
    pub ok: Vec<f64>,
    pub bytes: Vec<f64>,
    /// Sum of response times in nanoseconds.
    pub waited: Vec<f64>,
}

/// Percentiles of one kind of operation, or of all together, on a grid of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    pub grid: Grid,
    pub p50: Vec<f64>,
    pub p99: Vec<f64>,
    /// Intervals were merged to collect enough latencies.
    pub merged: bool,
    pending: Box<Histogram>,
    pending_from: Option<u32>,
}

/// Everything that is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub grid: Grid,
    /// Length of each point in seconds.
    pub seconds: Vec<f64>,
    pub counts: Vec<Counts>,
    pub latencies: Vec<(OpKind, Latencies)>,
    pub elapsed_s: f64,
    pub bytes: u64,
    /// Points of the grid were merged to bound memory.
    pub halved: u32,
    /// The load itself leaves gaps, which could look like stalls.
    pub uneven: bool,
    /// Nominal length of an interval: that of the first.
    nominal_s: f64,
    /// Intervals still to be added to the next point, once points were merged.
    open: u32,
}

impl History {
    /// Adds the next interval. Returns false if it has no length and was skipped.
    pub(crate) fn push(&mut self, interval: &Interval) -> bool {
        let seconds = interval.length_ns as f64 / 1e9;
        if interval.length_ns == 0 {
            return false;
        }
        self.elapsed_s += seconds;
        self.bytes = self.bytes.saturating_add(interval.bytes());
        if self.grid.len() == 0 {
            self.nominal_s = seconds;
        }
        // The remainder at the end of a window is too short to be a point of its own.
        let stump = seconds < 0.5 * self.nominal_s;
        let join = self.grid.len() > 0 && (stump || self.open > 0);
        if join {
            let last = self.grid.len() - 1;
            self.grid.spans[last].1 = interval.index + 1;
            self.seconds[last] += seconds;
            self.open = self.open.saturating_sub(u32::from(!stump));
        } else {
            self.grid.push(interval.index, interval.index + 1);
            self.seconds.push(seconds);
            self.open = (1u32 << self.halved.min(30)) - 1;
        }
        self.count(interval, join);
        self.take_latencies(interval);
        if self.grid.len() >= LONGEST && self.open == 0 {
            self.halve();
        }
        true
    }

    /// Length of a window, in seconds.
    pub(crate) fn seconds_in(&self, window: Window) -> f64 {
        let points = self.grid.point_from(window.first)..self.grid.point_from(window.end);
        self.seconds.get(points).map_or(0.0, |seconds| seconds.iter().sum())
    }

    fn count(&mut self, interval: &Interval, join: bool) {
        let points = self.grid.len();
        for (kind, _) in interval.ops.iter().filter(|(_, stats)| !stats.is_empty()) {
            if !self.counts.iter().any(|c| c.kind == *kind) {
                let before = vec![0.0; points - usize::from(!join)];
                self.counts.push(Counts {
                    kind: *kind,
                    ok: before.clone(),
                    bytes: before.clone(),
                    waited: before,
                });
            }
        }
        for counts in &mut self.counts {
            let (mut ok, mut bytes, mut waited) = (0.0, 0.0, 0.0);
            if let Some(stats) = interval.op(counts.kind) {
                ok = stats.ok as f64;
                bytes = stats.bytes as f64;
                waited = stats.response().mean_ns() * stats.response().count() as f64;
            }
            for (series, value) in
                [(&mut counts.ok, ok), (&mut counts.bytes, bytes), (&mut counts.waited, waited)]
            {
                match (join, series.last_mut()) {
                    (true, Some(last)) => *last += value,
                    _ => series.push(value),
                }
            }
        }
    }

    fn take_latencies(&mut self, interval: &Interval) {
        for (kind, stats) in &interval.ops {
            let response = stats.response();
            if response.count() == 0 {
                continue;
            }
            let at = match self.latencies.iter().position(|(known, _)| known == kind) {
                Some(at) => at,
                None => {
                    self.latencies.push((*kind, Latencies::default()));
                    self.latencies.len() - 1
                }
            };
            self.latencies[at].1.push(interval.index, response);
        }
    }

    fn halve(&mut self) {
        self.halved += 1;
        self.grid.pair();
        pair(&mut self.seconds, 1.0);
        for counts in &mut self.counts {
            pair(&mut counts.ok, 1.0);
            pair(&mut counts.bytes, 1.0);
            pair(&mut counts.waited, 1.0);
        }
    }
}

impl Latencies {
    /// Adds the response times of the next interval.
    pub(crate) fn push(&mut self, index: u32, response: &Histogram) {
        if response.count() == 0 {
            return;
        }
        if self.pending_from.is_none() && response.count() >= ENOUGH {
            self.point(index, index + 1, response.quantile_ns(0.5), response.quantile_ns(0.99));
            return;
        }
        let from = *self.pending_from.get_or_insert(index);
        self.pending.merge(response);
        if self.pending.count() >= ENOUGH {
            let (p50, p99) = (self.pending.quantile_ns(0.5), self.pending.quantile_ns(0.99));
            self.pending.clear();
            self.pending_from = None;
            self.merged = true;
            self.point(from, index + 1, p50, p99);
        }
    }

    fn point(&mut self, first: u32, end: u32, p50: u64, p99: u64) {
        self.grid.push(first, end);
        self.p50.push(p50 as f64);
        self.p99.push(p99 as f64);
        if self.p99.len() >= LONGEST {
            // The mean of two neighbouring percentiles, consistent with how the series' mean is formed.
            self.grid.pair();
            pair(&mut self.p50, 0.5);
            pair(&mut self.p99, 0.5);
        }
    }
}

/// Adds neighbours in pairs and multiplies by `factor`; the length is even.
fn pair(values: &mut Vec<f64>, factor: f64) {
    *values = values.chunks(2).map(|p| if p.len() == 2 { (p[0] + p[1]) * factor } else { p[0] }).collect();
}
