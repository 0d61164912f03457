//! Runs at one time as a message of OTLP, the OpenTelemetry protocol (its `metrics.proto`, version 1).

use std::convert::Infallible;

use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::buckets::LatencyBuckets;
use crate::exposition::{FamilySink, Labels, Sampled, Since, write_all};

/// The message of all metrics of these runs, measured by this host.
pub(super) fn message(runs: &[Sampled], host: &str, now: Timestamp) -> ExportMetricsServiceRequest {
    let mut families = Families { metrics: Vec::new(), now_ns: nanoseconds(now) };
    let Ok(()) = write_all(runs, &mut families);
    let resource =
        [("service.name", "manometer"), ("service.version", env!("CARGO_PKG_VERSION")), ("host.name", host)];
    let scope = InstrumentationScope {
        name: "manometer".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: resource.map(|(key, value)| attribute(key, value.to_owned())).to_vec(),
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: families.metrics,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

/// Nanoseconds since 1970; 0, which means unknown, before that.
fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}

fn attribute(key: &str, value: String) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(Value::StringValue(value)) }),
        ..KeyValue::default()
    }
}

fn attributes(labels: Labels) -> Vec<KeyValue> {
    labels.into_iter().map(|(key, value)| attribute(key, value)).collect()
}

/// The metrics so far.
struct Families {
    metrics: Vec<Metric>,
    now_ns: u64,
}

impl Families {
    /// A value now; `start_time_unix_nano` is when its count began, or 0.
    fn number(&self, labels: Labels, start_time_unix_nano: u64, value: Number) -> NumberDataPoint {
        NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano,
            time_unix_nano: self.now_ns,
            value: Some(value),
            ..NumberDataPoint::default()
        }
    }

    /// Adds a metric under the name that `/metrics` has for it, so that dashboards need not care how it came.
    fn add(&mut self, name: &str, help: &str, data: Data) {
        // UCUM's names of units.
        let unit = match name {
            name if name.ends_with("_seconds") => "s",
            name if name.ends_with("_bytes") => "By",
            _ => "",
        };
        self.metrics.push(Metric {
            name: format!("manometer_{name}"),
            description: help.to_owned(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        });
    }
}

impl FamilySink for Families {
    type Error = Infallible;

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Labels, f64)>,
    ) -> Result<(), Infallible> {
        let points = values.map(|(labels, value)| self.number(labels, 0, Number::AsDouble(value)));
        let data_points: Vec<NumberDataPoint> = points.collect();
        if !data_points.is_empty() {
            self.add(name, help, Data::Gauge(Gauge { data_points }));
        }
        Ok(())
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Since, u64)>,
    ) -> Result<(), Infallible> {
        let points = values.map(|(Since { labels, began }, value)| {
            self.number(labels, nanoseconds(began), Number::AsInt(i64::try_from(value).unwrap_or(i64::MAX)))
        });
        let data_points: Vec<NumberDataPoint> = points.collect();
        if !data_points.is_empty() {
            let aggregation_temporality = AggregationTemporality::Cumulative.into();
            self.add(name, help, Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true }));
        }
        Ok(())
    }

    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = (Since, &'a LatencyBuckets)>,
    ) -> Result<(), Infallible> {
        let time_unix_nano = self.now_ns;
        let data_points: Vec<HistogramDataPoint> = values
            .map(|(since, latencies)| {
                let buckets = latencies.in_seconds();
                HistogramDataPoint {
                    attributes: attributes(since.labels),
                    start_time_unix_nano: nanoseconds(since.began),
                    time_unix_nano,
                    count: latencies.count(),
                    sum: Some(latencies.sum_s()),
                    bucket_counts: buckets.iter().map(|(_, count)| *count).collect(),
                    // The last bucket has no bound.
                    explicit_bounds: buckets
                        .iter()
                        .map(|(bound, _)| *bound)
                        .filter(|bound| bound.is_finite())
                        .collect(),
                    ..HistogramDataPoint::default()
                }
            })
            .collect();
        if !data_points.is_empty() {
            let aggregation_temporality = AggregationTemporality::Cumulative.into();
            self.add(name, help, Data::Histogram(Histogram { data_points, aggregation_temporality }));
        }
        Ok(())
    }
}
