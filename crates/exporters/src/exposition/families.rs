//! The metrics and their values.

use metrics::SeriesPoint;
use stats::limit::Confidence;
use store::Validity;

use super::sampled::{Labels, Sampled, Since};
use crate::buckets::LatencyBuckets;

/// Where the metrics are written, a family at a time.
pub(crate) trait FamilySink {
    /// Why a family cannot be written.
    type Error;

    /// Values of this moment.
    ///
    /// # Errors
    /// They cannot be written.
    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Labels, f64)>,
    ) -> Result<(), Self::Error>;

    /// Counts since a stage began.
    ///
    /// # Errors
    /// They cannot be written.
    fn counters(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Since, u64)>,
    ) -> Result<(), Self::Error>;

    /// Latencies since a stage began, in seconds.
    ///
    /// # Errors
    /// They cannot be written.
    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Since, &'a LatencyBuckets)>,
    ) -> Result<(), Self::Error>;
}

/// A figure of an operation in the current interval.
struct Figure {
    name: &'static str,
    help: &'static str,
    of: fn(&SeriesPoint) -> f64,
}

/// Those of all hosts together.
const FIGURES: [Figure; 4] = [
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
const HOST_FIGURES: [Figure; 3] = [
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
fn verdict(validity: Validity) -> f64 {
    match validity {
        Validity::Valid => 2.0,
        Validity::Warn => 1.0,
        Validity::Invalid => 0.0,
    }
}

/// A confidence as a number.
fn confidence(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::High => 3.0,
        Confidence::Medium => 2.0,
        Confidence::Low => 1.0,
    }
}

/// Writes all metrics of the runs.
pub(crate) fn write_all<S: FamilySink>(runs: &[Sampled], out: &mut S) -> Result<(), S::Error> {
    for figure in FIGURES {
        let points = runs.iter().flat_map(Sampled::points);
        out.gauges(figure.name, figure.help, points.map(|(labels, point)| (labels, (figure.of)(point))))?;
    }
    let help = "Response time in the current interval, by quantile";
    let points = runs.iter().flat_map(Sampled::points).filter(|(_, point)| point.ok > 0);
    let quantiles = points.flat_map(|(labels, point)| {
        QUANTILES.map(|(quantile, of)| {
            let mut labels = labels.clone();
            labels.push(("quantile", quantile.to_owned()));
            (labels, of(point) as f64 / 1e9)
        })
    });
    out.gauges("interval_response_time_seconds", help, quantiles)?;
    let help = "Response times of successful operations since the stage began";
    let totals = || runs.iter().flat_map(Sampled::totals);
    out.histograms("response_time_seconds", help, totals().map(|(since, totals)| (since, &totals.response)))?;
    let help = "Payload bytes acknowledged since the stage began";
    out.counters("payload_bytes", help, totals().map(|(since, totals)| (since, totals.bytes)))?;
    let help = "Operations that failed since the stage began";
    out.counters("failed_operations", help, totals().map(|(since, totals)| (since, totals.failed)))?;
    for figure in HOST_FIGURES {
        let points = runs.iter().flat_map(Sampled::host_points);
        out.gauges(figure.name, figure.help, points.map(|(labels, point)| (labels, (figure.of)(point))))?;
    }
    let help = "Utilisation of what may be limiting the run now, from 0 to 1";
    let limits = runs.iter().flat_map(|sampled| {
        sampled.run.limits().into_iter().map(|limit| {
            let mut labels = sampled.run_labels();
            labels.push(("limit", limit.name));
            (labels, limit.share)
        })
    });
    out.gauges("limit_utilisation", help, limits)?;
    write_outcomes(runs, out)
}

/// The cells that ended, and the names of all.
fn write_outcomes<S: FamilySink>(runs: &[Sampled], out: &mut S) -> Result<(), S::Error> {
    let help = "Verdict of a cell that has ended: 2 VALID, 1 WARN, 0 INVALID";
    let ended = || runs.iter().flat_map(Sampled::ended);
    out.gauges("cell_verdict", help, ended().map(|(labels, ended)| (labels, verdict(ended.validity))))?;
    let help = "What limited a cell that has ended, and how sure that is: 3 high, 2 medium, 1 low";
    let limits = || runs.iter().flat_map(Sampled::limits);
    out.gauges("cell_limit", help, limits().map(|(labels, limit)| (labels, confidence(limit.confidence))))?;
    let help = "Utilisation of what limited a cell that has ended, from 0 to 1, where it is known";
    let known = limits().filter_map(|(labels, limit)| Some((labels, limit.share?)));
    out.gauges("cell_limit_utilisation", help, known)?;
    let help = "Evidence about the client while a cell was measured, as shares from 0 to 1 or as counts";
    let evidence = ended().flat_map(|(labels, ended)| {
        ended.evidence.iter().map(move |(name, value)| {
            let mut labels = labels.clone();
            labels.push(("evidence", name.clone()));
            (labels, *value)
        })
    });
    out.gauges("cell_evidence", help, evidence)?;
    let help = "Cells under way or ended, with their workload and parameters; always 1";
    out.gauges("cell", help, runs.iter().flat_map(Sampled::cells).map(|labels| (labels, 1.0)))?;
    let help = "Intervals that are not exported because too many cells are under way";
    let left_out = runs.iter().map(|sampled| (sampled.run_labels(), sampled.state.left_out as f64));
    out.gauges("intervals_left_out", help, left_out)
}
