//! The metrics and their values.

use metrics::SeriesPoint;
use stats::limit::Confidence;
use store::Validity;

/// A figure of an operation in the current interval.
pub(super) struct Figure {
    pub name: &'static str,
    pub help: &'static str,
    pub of: fn(&SeriesPoint) -> f64,
}

/// Those of all hosts together.
pub(super) const FIGURES: [Figure; 4] = [
    Figure {
        name: "operations_per_second",
        help: "Successful operations in the current interval, per second",
        of: SeriesPoint::ops_per_s,
    },
    Figure {
        name: "bytes_per_second",
        help: "Payload bytes acknowledged in the current interval, per second",
        of: SeriesPoint::bytes_per_s,
    },
    Figure {
        name: "interval_failed_operations",
        help: "Operations that failed in the current interval",
        of: |point| point.failed as f64,
    },
    Figure {
        name: "interval_retries",
        help: "Retransmitted requests in the current interval",
        of: |point| point.retries as f64,
    },
];

/// Those of one host. They have names of their own, so that sums over a metric count nothing twice.
pub(super) const HOST_FIGURES: [Figure; 3] = [
    Figure {
        name: "host_operations_per_second",
        help: "Successful operations of one host in the current interval, per second",
        of: SeriesPoint::ops_per_s,
    },
    Figure {
        name: "host_bytes_per_second",
        help: "Payload bytes of one host in the current interval, per second",
        of: SeriesPoint::bytes_per_s,
    },
    Figure {
        name: "host_response_time_p99_seconds",
        help: "99th percentile of one host's response times in the current interval",
        of: |point| point.p99_ns as f64 / 1e9,
    },
];

/// A quantile as labelled, and its value in nanoseconds.
pub(super) type Quantile = (&'static str, fn(&SeriesPoint) -> u64);

/// Quantiles of the response time in the current interval, within 0.1 %.
pub(super) const QUANTILES: [Quantile; 4] = [
    ("0.5", |point| point.p50_ns),
    ("0.99", |point| point.p99_ns),
    ("0.999", |point| point.p999_ns),
    ("1", |point| point.max_ns),
];

/// A verdict as a number.
pub(super) fn verdict(validity: Validity) -> f64 {
    match validity {
        Validity::Valid => 2.0,
        Validity::Warn => 1.0,
        Validity::Invalid => 0.0,
    }
}

/// A confidence as a number.
pub(super) fn confidence(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::High => 3.0,
        Confidence::Medium => 2.0,
        Confidence::Low => 1.0,
    }
}
