//! The metrics that can be compared: every figure stored with an interval.

use std::fmt;
use std::str::FromStr;

use metrics::OpKind;
use stats::{Better, Estimate, Measure};
use store::{CellResult, OpSummary};
use thiserror::Error;

use super::matching::RepeatedPoint;
use crate::figures::FigureUnit;

/// A figure of one operation, or of all operations together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// The figure.
    pub figure: Figure,
}

/// A figure that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// One that is stored with its interval.
    Of(Measure),
    /// Entries listed per second: of the operation that lists, which need not be named if there is only one.
    Entries,
}

/// The text names no metric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no metric; write bandwidth, rate, entries, p50, p99 or mean, with an operation before it if one is meant: read.p99"
)]
pub struct MetricError(String);

impl Metric {
    /// The metrics of a point unless others are asked for: its main one, and the entries of each operation that lists.
    pub(super) fn usual(group: &RepeatedPoint<'_>) -> Vec<Self> {
        let lists = |op: &OpKind| {
            let mut ops = group.results.iter().flat_map(|result| &result.ops);
            ops.any(|summary| summary.op == Some(*op) && entries_per_s(summary).is_some())
        };
        let listing = OpKind::ALL.iter().copied().filter(lists);
        let entries = listing.map(|op| Self { op: Some(op), figure: Figure::Entries });
        std::iter::once(Self::main(group)).chain(entries).collect()
    }

    /// The main metric of a point: for a search or sweep the rate it reached; with a given rate the latency at that
    /// rate; otherwise the throughput.
    fn main(group: &RepeatedPoint<'_>) -> Self {
        let open = group.results.iter().any(|result| result.open_loop.is_some());
        let bytes = group.results.iter().any(|result| result.total.bytes > 0);
        let measure = match (group.planned.study.is_some(), open, bytes) {
            (true, ..) => Measure::OpsPerS,
            (_, true, _) => Measure::P99Ns,
            (_, _, true) => Measure::BytesPerS,
            _ => Measure::OpsPerS,
        };
        Self { op: None, figure: Figure::Of(measure) }
    }

    /// The figure in each repetition that measured it.
    pub(super) fn estimates(self, point: &RepeatedPoint<'_>) -> Vec<Estimate> {
        point.results.iter().filter_map(|result| self.estimate(result)).collect()
    }

    /// The figure in a result; `None` when it was not measured.
    pub fn estimate(self, result: &CellResult) -> Option<Estimate> {
        if let Figure::Of(measure @ (Measure::P50Ns | Measure::MeanNs)) = self.figure {
            let same = |series: &&stats::SeriesEstimate| series.op == self.op && series.measure == measure;
            return result.steady.series.iter().find(same).map(|series| series.estimate);
        }
        self.of(&result.total, &result.ops)
    }

    /// The figure from these summaries, such as a host's; `None` if it was not measured, or is stored only for the
    /// combined result (median and mean).
    pub(super) fn of(self, total: &OpSummary, ops: &[OpSummary]) -> Option<Estimate> {
        let named = |op| ops.iter().find(|result| result.op == Some(op));
        let Figure::Of(measure) = self.figure else {
            return entries(match self.op {
                Some(op) => named(op)?,
                None => only_listing(ops)?,
            });
        };
        let of: &OpSummary = match self.op {
            None => total,
            Some(op) => named(op)?,
        };
        match measure {
            Measure::BytesPerS => Some(of.bytes_per_s),
            Measure::OpsPerS => Some(of.ops_per_s),
            Measure::P99Ns => (of.response.count > 0).then_some(of.p99_ns),
            Measure::P50Ns | Measure::MeanNs => None,
        }
    }

    /// Whether higher or lower values are better.
    pub fn better(self) -> Better {
        match self.figure {
            Figure::Entries | Figure::Of(Measure::BytesPerS | Measure::OpsPerS) => Better::Higher,
            Figure::Of(Measure::P50Ns | Measure::P99Ns | Measure::MeanNs) => Better::Lower,
        }
    }

    /// The unit of its figures.
    pub(crate) fn unit(self) -> FigureUnit {
        match self.figure {
            Figure::Of(Measure::BytesPerS) => FigureUnit::BytesPerS,
            Figure::Entries | Figure::Of(Measure::OpsPerS) => FigureUnit::OpsPerS,
            Figure::Of(Measure::P50Ns | Measure::P99Ns | Measure::MeanNs) => FigureUnit::Ns,
        }
    }
}

/// Entries per second that an operation listed; `None` if it does not list.
fn entries_per_s(summary: &OpSummary) -> Option<f64> {
    let listings = summary.procedures.iter().filter_map(|procedure| procedure.listing);
    listings.map(|listing| listing.entries_per_s).reduce(|a, b| a + b)
}

/// The same with its interval: that of the operations per second, of as many entries each as they had on average.
fn entries(summary: &OpSummary) -> Option<Estimate> {
    let (per_s, ops) = (entries_per_s(summary)?, summary.ops_per_s);
    (ops.mean > 0.0).then(|| ops.scaled(per_s / ops.mean))
}

/// The operation that lists, if there is exactly one.
fn only_listing(ops: &[OpSummary]) -> Option<&OpSummary> {
    let mut listing = ops.iter().filter(|summary| entries_per_s(summary).is_some());
    let first = listing.next()?;
    listing.next().is_none().then_some(first)
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = self.op {
            write!(f, "{op}.")?;
        }
        f.write_str(match self.figure {
            Figure::Entries => "entries",
            Figure::Of(Measure::BytesPerS) => "bandwidth",
            Figure::Of(Measure::OpsPerS) => "rate",
            Figure::Of(Measure::P50Ns) => "p50",
            Figure::Of(Measure::P99Ns) => "p99",
            Figure::Of(Measure::MeanNs) => "mean",
        })
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, MetricError> {
        let wrong = || MetricError(text.chars().take(60).collect());
        let (op, name) = match text.split_once('.') {
            None | Some(("total", _)) => (None, text.strip_prefix("total.").unwrap_or(text)),
            Some((op, name)) => {
                let found = OpKind::ALL.iter().find(|kind| kind.name() == op);
                (Some(*found.ok_or_else(wrong)?), name)
            }
        };
        let figure = match name {
            "bandwidth" | "throughput" => Figure::Of(Measure::BytesPerS),
            "rate" | "iops" => Figure::Of(Measure::OpsPerS),
            "entries" => Figure::Entries,
            "p50" => Figure::Of(Measure::P50Ns),
            "p99" => Figure::Of(Measure::P99Ns),
            "mean" => Figure::Of(Measure::MeanNs),
            _ => return Err(wrong()),
        };
        Ok(Self { op, figure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_in_gates() {
        for text in [
            "bandwidth",
            "rate",
            "entries",
            "readdir.entries",
            "p50",
            "p99",
            "mean",
            "read.p99",
            "put.bandwidth",
        ] {
            assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
        }
        assert_eq!("iops".parse::<Metric>().unwrap().to_string(), "rate");
        assert_eq!("total.p99".parse::<Metric>().unwrap().to_string(), "p99");
        for text in ["", "p98", "frob.p99", "read.", "read.p99.x"] {
            assert!(
                text.parse::<Metric>().unwrap_err().to_string().contains("is no metric; write"),
                "{text}"
            );
        }
    }
}
