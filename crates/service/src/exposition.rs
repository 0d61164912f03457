//! `/metrics`: the queue and the current intervals of the runs under way, as OpenMetrics text. Ended runs leave, so that
//! the number of series is bounded by the runs under way.

use std::fmt;
use std::sync::{Arc, Weak};

use metrics::SeriesPoint;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use store::Validity;

use crate::queue::{RunQueue, Sampled};

/// The media type of the text.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A figure of an operation in the current interval.
struct Figure {
    name: &'static str,
    help: &'static str,
    of: fn(&SeriesPoint) -> f64,
}

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

/// A quantile as labelled, and its value in nanoseconds.
type Quantile = (&'static str, fn(&SeriesPoint) -> u64);

/// Quantiles of the response time.
const QUANTILES: [Quantile; 4] = [
    ("0.5", |point| point.p50_ns),
    ("0.99", |point| point.p99_ns),
    ("0.999", |point| point.p999_ns),
    ("1", |point| point.max_ns),
];

/// Reads snapshots of a queue when it is scraped.
struct QueueCollector(Weak<RunQueue>);

impl fmt::Debug for QueueCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueCollector")
    }
}

/// A registry that samples this queue.
pub(crate) fn registry(queue: &Arc<RunQueue>) -> Registry {
    let mut registry = Registry::with_prefix("manometer");
    registry.register_collector(Box::new(QueueCollector(Arc::downgrade(queue))));
    registry
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(queue) = self.0.upgrade() else { return Ok(()) };
        let Sampled { queued, runs } = queue.sample();
        let mut single = |name: &str, help: &str, value: f64| {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(metric)
        };
        single("queue_length", "Runs that wait for their hosts", queued as f64)?;
        single("running_runs", "Runs under way", runs.len() as f64)?;
        for figure in FIGURES {
            let mut metric = encoder.encode_descriptor(figure.name, figure.help, None, MetricType::Gauge)?;
            for run in &runs {
                for (cell, stage, point) in run.points() {
                    let labels = labels(&run.id, &run.name, *cell, stage, point);
                    value(&mut metric, &labels, (figure.of)(point))?;
                }
            }
        }
        let help = "Response time in the current interval, by quantile";
        let mut metric = encoder.encode_descriptor("response_time_seconds", help, None, MetricType::Gauge)?;
        for run in &runs {
            for (cell, stage, point) in run.points() {
                for (quantile, of) in QUANTILES {
                    let mut labels = labels(&run.id, &run.name, *cell, stage, point);
                    labels.push(("quantile", quantile.to_owned()));
                    value(&mut metric, &labels, of(point) as f64 / 1e9)?;
                }
            }
        }
        let help = "Verdict of the cell that ended last: 2 VALID, 1 WARN, 0 INVALID";
        let mut metric = encoder.encode_descriptor("cell_verdict", help, None, MetricType::Gauge)?;
        for run in &runs {
            let Some((cell, validity)) = run.ended else { continue };
            let verdict = match validity {
                Validity::Valid => 2.0,
                Validity::Warn => 1.0,
                Validity::Invalid => 0.0,
            };
            let labels =
                vec![("run", run.id.clone()), ("experiment", run.name.clone()), ("cell", cell.to_string())];
            value(&mut metric, &labels, verdict)?;
        }
        Ok(())
    }
}

fn labels(
    run: &str,
    experiment: &str,
    cell: u32,
    stage: &str,
    point: &SeriesPoint,
) -> Vec<(&'static str, String)> {
    vec![
        ("run", run.to_owned()),
        ("experiment", experiment.to_owned()),
        ("cell", cell.to_string()),
        ("stage", stage.to_owned()),
        ("operation", report::op_name(point.op).to_owned()),
    ]
}

fn value(
    metric: &mut MetricEncoder<'_>,
    labels: &Vec<(&'static str, String)>,
    value: f64,
) -> Result<(), fmt::Error> {
    ConstGauge::new(value).encode(metric.encode_family(labels)?)
}
