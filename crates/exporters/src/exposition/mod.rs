//! `/metrics`: the current intervals of the runs under way, as OpenMetrics text.
//!
//! Ended runs leave, and what is kept of a run is bounded, so the number of series is bounded by the runs under way.

mod families;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use metrics::{OpKind, SeriesPoint};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use serde::Serialize;
use stats::limit::Bottleneck;

use crate::current::{CurrentRun, EndedCell, RunState, StageTotals};
use families::{FIGURES, HOST_FIGURES, QUANTILES, confidence, verdict};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The labels of a series, in order.
type Labels = Vec<(&'static str, String)>;

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

/// A run at the time of a scrape.
struct Sampled {
    run: Arc<CurrentRun>,
    state: RunState,
}

impl Sampled {
    fn run_labels(&self) -> Labels {
        vec![("run", self.run.id.clone()), ("experiment", self.run.name.clone())]
    }

    fn cell_labels(&self, cell: u32) -> Labels {
        let mut labels = self.run_labels();
        labels.push(("cell", cell.to_string()));
        labels.push((
            "target",
            self.run.planned(cell).map(|planned| planned.target.clone()).unwrap_or_default(),
        ));
        labels
    }

    fn op_labels(&self, cell: u32, stage: &str, op: Option<OpKind>) -> Labels {
        let mut labels = self.cell_labels(cell);
        labels.push(("stage", stage.to_owned()));
        labels.push(("operation", report::op_name(op).to_owned()));
        labels
    }

    fn points(&self) -> impl Iterator<Item = (Labels, &SeriesPoint)> {
        self.state.cells.iter().flat_map(|(cell, current)| {
            current.points.iter().map(|point| (self.op_labels(*cell, &current.stage, point.op), point))
        })
    }

    fn host_points(&self) -> impl Iterator<Item = (Labels, &SeriesPoint)> {
        self.state.cells.iter().flat_map(move |(cell, current)| {
            current.hosts.iter().flat_map(move |(host, points)| {
                points.iter().map(move |point| {
                    let mut labels = self.op_labels(*cell, &current.stage, point.op);
                    labels.push(("host", host.clone()));
                    (labels, point)
                })
            })
        })
    }

    fn totals(&self) -> impl Iterator<Item = (Labels, &StageTotals)> {
        self.state.cells.iter().flat_map(|(cell, current)| {
            let totals = current.totals.iter();
            totals.map(|(op, totals)| (self.op_labels(*cell, &current.stage, Some(*op)), totals))
        })
    }

    fn ended(&self) -> impl Iterator<Item = (Labels, &EndedCell)> {
        self.state.ended.iter().map(|ended| (self.cell_labels(ended.cell), ended))
    }

    fn limits(&self) -> impl Iterator<Item = (Labels, &Bottleneck)> {
        self.ended().filter_map(|(mut labels, ended)| {
            let limit = ended.limit.as_deref()?;
            labels.push(("bound", name(&limit.bound)));
            labels.push(("cause", name(&limit.cause)));
            labels.push(("place", limit.place.clone()));
            Some((labels, limit))
        })
    }

    /// The cells that other series name.
    fn cells(&self) -> impl Iterator<Item = Labels> {
        let cells = self.state.cells.keys().copied().chain(self.state.ended.iter().map(|ended| ended.cell));
        cells.filter_map(|cell| {
            let planned = self.run.planned(cell)?;
            let mut labels = self.cell_labels(cell);
            labels.push(("workload", planned.workload.clone()));
            labels.push(("name", planned.name.clone()));
            Some(labels)
        })
    }
}

/// A value of an enumeration as results name it.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

impl Collector for RunsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let runs: Vec<Sampled> =
            (self.0)().into_iter().map(|run| Sampled { state: run.state(), run }).collect();
        let mut out = Families(&mut encoder);
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
        out.histograms(runs.iter().flat_map(Sampled::totals))?;
        out.counters("payload_bytes", "Payload bytes acknowledged since the stage began", &runs, |totals| {
            totals.bytes
        })?;
        out.counters("failed_operations", "Operations that failed since the stage began", &runs, |totals| {
            totals.failed
        })?;
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
        encode_outcomes(&mut out, &runs)
    }
}

/// The cells that ended, and the names of all.
fn encode_outcomes(out: &mut Families<'_, '_>, runs: &[Sampled]) -> Result<(), fmt::Error> {
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

/// Writes families of series.
struct Families<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Families<'_, '_> {
    fn family(
        &mut self,
        (name, help, metric_type): (&str, &str, MetricType),
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, None, metric_type)?)
    }

    fn gauges(&mut self, name: &str, help: &str, values: impl Iterator<Item = (Labels, f64)>) -> fmt::Result {
        self.family((name, help, MetricType::Gauge), |metric| {
            let mut values = values;
            values
                .try_for_each(|(labels, value)| ConstGauge::new(value).encode(metric.encode_family(&labels)?))
        })
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        runs: &[Sampled],
        of: fn(&StageTotals) -> u64,
    ) -> fmt::Result {
        self.family((name, help, MetricType::Counter), |metric| {
            runs.iter().flat_map(Sampled::totals).try_for_each(|(labels, totals)| {
                ConstCounter::new(of(totals)).encode(metric.encode_family(&labels)?)
            })
        })
    }

    fn histograms<'s>(&mut self, totals: impl Iterator<Item = (Labels, &'s StageTotals)>) -> fmt::Result {
        let help = "Response times of successful operations since the stage began";
        self.family(("response_time_seconds", help, MetricType::Histogram), |metric| {
            let mut totals = totals;
            totals.try_for_each(|(labels, totals)| {
                let response = &totals.response;
                let buckets = response.in_seconds();
                metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                    response.sum_s(),
                    response.count(),
                    &buckets,
                    None,
                )
            })
        })
    }
}
