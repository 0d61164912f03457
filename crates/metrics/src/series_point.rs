//! One interval in a few numbers: a point of a time series.

use crate::{Interval, OpKind, OpStats};

/// One kind of operation, or all together, in one interval, without histograms. Latencies are response times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Number of the interval in its stage.
    pub interval: u32,
    /// Start, in nanoseconds since the measured window began.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// Successful operations.
    pub ok: u64,
    /// Failed operations.
    pub failed: u64,
    /// Payload bytes acknowledged.
    pub bytes: u64,
    /// RPCs, retransmits included.
    pub rpcs: u64,
    /// Retransmitted RPCs.
    pub retries: u64,
    /// Mean response time in nanoseconds.
    pub mean_ns: f64,
    /// Median response time in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the response time, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile of the response time, in nanoseconds.
    pub p999_ns: u64,
    /// Maximum response time in nanoseconds.
    pub max_ns: u64,
}

impl SeriesPoint {
    /// The point of `interval` for `op` from its `stats`, which cover all operations if `op` is `None`.
    pub fn of(interval: &Interval, op: Option<OpKind>, stats: &OpStats) -> Self {
        let response = stats.response();
        Self {
            interval: interval.index,
            start_ns: interval.start_ns,
            length_ns: interval.length_ns,
            op,
            ok: stats.ok,
            failed: stats.failed(),
            bytes: stats.bytes,
            rpcs: stats.rpcs,
            retries: stats.retries,
            mean_ns: response.mean_ns(),
            p50_ns: response.quantile_ns(0.5),
            p99_ns: response.quantile_ns(0.99),
            p999_ns: response.quantile_ns(0.999),
            max_ns: response.max_ns(),
        }
    }

    /// Whether nothing was counted, as in [`OpStats::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed == 0 && self.retries == 0
    }

    /// Successful operations per second; 0 in an interval of zero length.
    pub fn ops_per_s(&self) -> f64 {
        self.per_second(self.ok)
    }

    /// Payload bytes per second; 0 in an interval of zero length.
    pub fn bytes_per_s(&self) -> f64 {
        self.per_second(self.bytes)
    }

    /// Start, in seconds since the measured window began.
    pub fn start_s(&self) -> f64 {
        self.start_ns as f64 / 1e9
    }

    /// End, in seconds since the measured window began.
    pub fn end_s(&self) -> f64 {
        self.start_ns.saturating_add(self.length_ns) as f64 / 1e9
    }

    /// Length in seconds.
    pub fn length_s(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.length_ns == 0 { 0.0 } else { count as f64 / self.length_s() }
    }
}
