//! The hosts of a fleet over time, with a few hundred points each.

use serde::Serialize;
use store::SeriesPoint;

use super::timeline::{Thinning, TimelinePoint};

/// One host over time, all operations together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostLine {
    /// The host.
    pub name: String,
    /// In order of time.
    pub points: Vec<TimelinePoint>,
}

/// Collects the intervals of a host, in constant memory.
#[derive(Debug)]
pub struct HostLineBuilder {
    name: String,
    thinning: Thinning,
    /// The interval being summed: what its operations moved, without latencies.
    open: Option<SeriesPoint>,
}

impl HostLineBuilder {
    /// An empty builder for a host, with at most `limit` points.
    pub fn new(name: &str, limit: usize) -> Self {
        Self { name: name.to_owned(), thinning: Thinning::new(limit), open: None }
    }

    /// Adds the next operation, of the same interval or the next.
    pub fn push(&mut self, of: &SeriesPoint) {
        if of.length_ns == 0 {
            return;
        }
        if let Some(point) = self.open.as_mut().filter(|open| open.interval == of.interval) {
            point.ok += of.ok;
            point.bytes += of.bytes;
            point.failed += of.failed;
            return;
        }
        self.close();
        let SeriesPoint { interval, start_ns, length_ns, ok, failed, bytes, .. } = *of;
        let moved =
            SeriesPoint { interval, start_ns, length_ns, ok, failed, bytes, ..SeriesPoint::default() };
        self.open = Some(moved);
    }

    fn close(&mut self) {
        if let Some(point) = self.open.take() {
            self.thinning.push(TimelinePoint::of(&point, 0));
        }
    }

    /// The finished line.
    pub fn finish(mut self) -> HostLine {
        self.close();
        HostLine { name: self.name, points: self.thinning.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::OpKind;

    fn series(interval: u32, op: OpKind, ok: u64) -> SeriesPoint {
        SeriesPoint {
            interval,
            start_ns: u64::from(interval) * 500_000_000,
            length_ns: 500_000_000,
            op: Some(op),
            ok,
            failed: 1,
            bytes: ok * 10,
            rpcs: ok,
            retries: 0,
            mean_ns: 1.0,
            p50_ns: 1,
            p99_ns: 1,
            p999_ns: 1,
            max_ns: 1,
        }
    }

    #[test]
    fn operations_of_an_interval_are_one_point() {
        let mut builder = HostLineBuilder::new("db1", 100);
        for interval in 0..3 {
            builder.push(&series(interval, OpKind::Read, 7));
            builder.push(&series(interval, OpKind::Write, 3));
        }
        let line = builder.finish();
        assert_eq!(line.points.len(), 3);
        assert_eq!((line.points[2].ops_per_s.mean, line.points[2].bytes_per_s.mean), (20.0, 200.0));
        assert_eq!((line.points[2].start_s, line.points[2].end_s, line.points[2].failed), (1.0, 1.5, 2));
    }
}
