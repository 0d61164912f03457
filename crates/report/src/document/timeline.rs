//! A series of intervals as points: one per interval, until there are more than a chart can show; then neighbours are
//! joined, and a joined point keeps their min and max.

use metrics::{OpKind, SeriesPoint};
use serde::Serialize;

/// Mean, min and max of the intervals that a point covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ValueSpread {
    /// The mean over the intervals.
    pub mean: f64,
    /// The min over the intervals.
    pub low: f64,
    /// The max over the intervals.
    pub high: f64,
}

impl ValueSpread {
    /// A single interval's value.
    pub fn of(value: f64) -> Self {
        Self { mean: value, low: value, high: value }
    }

    /// Joins both, weighting the means by the number of intervals.
    fn joined(self, weight: u32, other: Self, other_weight: u32) -> Self {
        let (a, b) = (f64::from(weight), f64::from(other_weight));
        let mean = if a + b > 0.0 { (self.mean * a + other.mean * b) / (a + b) } else { 0.0 };
        Self { mean, low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// One interval, or several joined neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimelinePoint {
    /// Its start, in seconds since the measurement began; negative in the warm-up.
    pub start_s: f64,
    /// Its end, in seconds.
    pub end_s: f64,
    /// Intervals that it covers.
    pub intervals: u32,
    /// Intervals in which an operation succeeded; only they have latencies.
    pub busy: u32,
    /// Payload bytes per second.
    pub bytes_per_s: ValueSpread,
    /// Successful operations per second.
    pub ops_per_s: ValueSpread,
    /// Median response time of the intervals, in nanoseconds.
    pub p50_ns: ValueSpread,
    /// 99th percentile of the intervals' response times, in nanoseconds.
    pub p99_ns: ValueSpread,
    /// 99th percentile of the intervals' service times, in nanoseconds.
    pub service_p99_ns: ValueSpread,
    /// The max response time, in nanoseconds.
    pub max_ns: u64,
    /// Operations that failed.
    pub failed: u64,
}

impl TimelinePoint {
    /// Its x position in a chart: its middle, in seconds since the measurement began.
    pub fn middle_s(&self) -> f64 {
        (self.start_s + self.end_s) / 2.0
    }
}

impl TimelinePoint {
    /// A single interval, with its 99th percentile of service time in nanoseconds.
    pub fn of(point: &SeriesPoint, service_p99_ns: u64) -> Self {
        Self {
            start_s: point.start_s(),
            end_s: point.end_s(),
            intervals: 1,
            // A latency is never 0: 0 means that no operation ended.
            busy: u32::from(point.max_ns > 0),
            bytes_per_s: ValueSpread::of(point.bytes_per_s()),
            ops_per_s: ValueSpread::of(point.ops_per_s()),
            p50_ns: ValueSpread::of(point.p50_ns as f64),
            p99_ns: ValueSpread::of(point.p99_ns as f64),
            service_p99_ns: ValueSpread::of(service_p99_ns as f64),
            max_ns: point.max_ns,
            failed: point.failed,
        }
    }

    /// Joins this point with the next one.
    fn joined(self, next: Self) -> Self {
        let all = |a: ValueSpread, b: ValueSpread| a.joined(self.intervals, b, next.intervals);
        // An interval without completed operations has no latency: it must not pull a mean towards 0.
        let latency = |a: ValueSpread, b: ValueSpread| match (self.busy, next.busy) {
            (0, _) => b,
            (_, 0) => a,
            (mine, theirs) => a.joined(mine, b, theirs),
        };
        Self {
            start_s: self.start_s,
            end_s: next.end_s,
            intervals: self.intervals + next.intervals,
            busy: self.busy + next.busy,
            bytes_per_s: all(self.bytes_per_s, next.bytes_per_s),
            ops_per_s: all(self.ops_per_s, next.ops_per_s),
            p50_ns: latency(self.p50_ns, next.p50_ns),
            p99_ns: latency(self.p99_ns, next.p99_ns),
            service_p99_ns: latency(self.service_p99_ns, next.service_p99_ns),
            max_ns: self.max_ns.max(next.max_ns),
            failed: self.failed + next.failed,
        }
    }
}

/// A series over the measurement, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// In order of time.
    pub points: Vec<TimelinePoint>,
}

impl Timeline {
    /// Whether its points cover several intervals.
    pub fn is_thinned(&self) -> bool {
        self.points.iter().any(|point| point.intervals > 1)
    }
}

/// Incoming points, joined whenever there are twice as many as wanted.
#[derive(Clone, Debug)]
pub(super) struct Thinning {
    limit: usize,
    /// Intervals per full point: a power of two.
    each: u32,
    points: Vec<TimelinePoint>,
}

impl Thinning {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), each: 1, points: Vec::new() }
    }

    pub(super) fn push(&mut self, point: TimelinePoint) {
        match self.points.last_mut() {
            Some(last) if last.intervals < self.each => *last = last.joined(point),
            _ => {
                if self.points.len() >= self.limit {
                    self.halve();
                    return self.push(point);
                }
                self.points.push(point);
            }
        }
    }

    /// The same time spans, with no data.
    pub(super) fn emptied(&self) -> Self {
        let points = self
            .points
            .iter()
            .map(|point| TimelinePoint {
                start_s: point.start_s,
                end_s: point.end_s,
                intervals: point.intervals,
                ..TimelinePoint::default()
            })
            .collect();
        Self { points, ..*self }
    }

    fn halve(&mut self) {
        self.each *= 2;
        self.points = self
            .points
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => a.joined(*b),
                rest => rest[0],
            })
            .collect();
    }

    pub(super) fn finish(self) -> Vec<TimelinePoint> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(index: u32, rate: f64, latency: f64) -> TimelinePoint {
        TimelinePoint {
            start_s: f64::from(index),
            end_s: f64::from(index) + 1.0,
            intervals: 1,
            busy: u32::from(latency > 0.0),
            bytes_per_s: ValueSpread::of(rate),
            p99_ns: ValueSpread::of(latency),
            max_ns: latency as u64,
            ..TimelinePoint::default()
        }
    }

    #[test]
    fn an_interval_without_an_answer_has_no_latency() {
        let joined = point(0, 10.0, 500.0).joined(point(1, 0.0, 0.0));
        assert_eq!(joined.p99_ns, ValueSpread::of(500.0));
        assert_eq!(joined.bytes_per_s, ValueSpread { mean: 5.0, low: 0.0, high: 10.0 });
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_extremes_the_mean_and_the_time(
            rates in prop::collection::vec(0.0f64..1e9, 1..700), limit in 2usize..100
        ) {
            let mut thinning = Thinning::new(limit);
            for (index, rate) in rates.iter().enumerate() {
                thinning.push(point(index as u32, *rate, rate + 1.0));
            }
            let points = thinning.finish();
            prop_assert!(points.len() <= limit);
            prop_assert_eq!(points.iter().map(|p| p.intervals as usize).sum::<usize>(), rates.len());
            let most = rates.iter().copied().fold(f64::MIN, f64::max);
            let least = rates.iter().copied().fold(f64::MAX, f64::min);
            prop_assert_eq!(points.iter().map(|p| p.bytes_per_s.high).fold(f64::MIN, f64::max), most);
            prop_assert_eq!(points.iter().map(|p| p.bytes_per_s.low).fold(f64::MAX, f64::min), least);
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let kept = points.iter().map(|p| p.bytes_per_s.mean * f64::from(p.intervals)).sum::<f64>() / rates.len() as f64;
            prop_assert!((mean - kept).abs() <= 1e-6 * mean.max(1.0));
            prop_assert_eq!(points[0].start_s, 0.0);
            prop_assert_eq!(points.last().unwrap().end_s, rates.len() as f64);
            prop_assert!(points.windows(2).all(|pair| pair[0].end_s == pair[1].start_s));
        }
    }
}
