//! `/metrics`: the current intervals of the runs under way, as OpenMetrics text.
//!
//! Ended runs leave, and what is kept of a run is bounded, so the number of series is bounded by the runs under way.

mod families;
mod sampled;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::buckets::LatencyBuckets;
use crate::current::CurrentRun;
pub(crate) use families::{FamilySink, write_all};
pub(crate) use sampled::{Labels, Sampled, Since};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The runs under way when a scrape asks.
type Source = dyn Fn() -> Vec<Arc<CurrentRun>> + Send + Sync;

/// Reads the runs when it is scraped.
struct RunsCollector(Box<Source>);

impl fmt::Debug for RunsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunsCollector")
    }
}

/// A registry, with the prefix `manometer`, of the runs that `source` returns when it is scraped.
pub fn registry(source: impl Fn() -> Vec<Arc<CurrentRun>> + Send + Sync + 'static) -> Registry {
    let mut registry = Registry::with_prefix("manometer");
    registry.register_collector(Box::new(RunsCollector(Box::new(source))));
    registry
}

/// The text of a scrape.
///
/// # Errors
/// A value cannot be written as text.
pub fn text(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry)?;
    Ok(text)
}

impl Collector for RunsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let runs: Vec<Sampled> = (self.0)().into_iter().map(Sampled::of).collect();
        write_all(&runs, &mut OpenMetrics(&mut encoder))
    }
}

/// Writes families as text.
struct OpenMetrics<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl OpenMetrics<'_, '_> {
    fn family(
        &mut self,
        (name, help, metric_type): (&str, &str, MetricType),
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, None, metric_type)?)
    }
}

impl FamilySink for OpenMetrics<'_, '_> {
    type Error = fmt::Error;

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        mut values: impl Iterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        self.family((name, help, MetricType::Gauge), |metric| {
            values
                .try_for_each(|(labels, value)| ConstGauge::new(value).encode(metric.encode_family(&labels)?))
        })
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        mut values: impl Iterator<Item = (Since, u64)>,
    ) -> fmt::Result {
        self.family((name, help, MetricType::Counter), |metric| {
            values.try_for_each(|(since, value)| {
                ConstCounter::new(value).encode(metric.encode_family(&since.labels)?)
            })
        })
    }

    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        mut values: impl Iterator<Item = (Since, &'a LatencyBuckets)>,
    ) -> fmt::Result {
        self.family((name, help, MetricType::Histogram), |metric| {
            values.try_for_each(|(since, latencies)| {
                let buckets = latencies.in_seconds();
                metric.encode_family(&since.labels)?.encode_histogram::<NoLabelSet>(
                    latencies.sum_s(),
                    latencies.count(),
                    &buckets,
                    None,
                )
            })
        })
    }
}
