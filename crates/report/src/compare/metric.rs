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
    pub measure: Measure,
}

/// The text names no metric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no metric; write bandwidth, rate, p50, p99 or mean, with an operation before it if one is meant: read.p99"
)]
pub struct MetricError(String);

impl Metric {
    /// The main metric of a point: for a search or sweep the rate it reached; with a given rate the latency at that
    /// rate; otherwise the throughput.
    pub(super) fn usual(group: &RepeatedPoint<'_>) -> Self {
        let open = group.results.iter().any(|result| result.open_loop.is_some());
        let bytes = group.results.iter().any(|result| result.total.bytes > 0);
        let measure = match (group.planned.study.is_some(), open, bytes) {
            (true, ..) => Measure::OpsPerS,
            (_, true, _) => Measure::P99Ns,
            (_, _, true) => Measure::BytesPerS,
            _ => Measure::OpsPerS,
        };
        Self { op: None, measure }
    }

    /// The figure in each repetition that measured it.
    pub(super) fn estimates(self, point: &RepeatedPoint<'_>) -> Vec<Estimate> {
        point.results.iter().filter_map(|result| self.estimate(result)).collect()
    }

    /// The figure in a result; `None` when it was not measured.
    pub fn estimate(self, result: &CellResult) -> Option<Estimate> {
        if let Measure::P50Ns | Measure::MeanNs = self.measure {
            let same =
                |series: &&stats::SeriesEstimate| series.op == self.op && series.measure == self.measure;
            return result.steady.series.iter().find(same).map(|series| series.estimate);
        }
        self.of(&result.total, &result.ops)
    }

    /// The figure from these summaries, such as a host's; `None` if it was not measured, or is stored only for the
    /// combined result (median and mean).
    pub(super) fn of(self, total: &OpSummary, ops: &[OpSummary]) -> Option<Estimate> {
        let of: &OpSummary = match self.op {
            None => total,
            Some(op) => ops.iter().find(|result| result.op == Some(op))?,
        };
        match self.measure {
            Measure::BytesPerS => Some(of.bytes_per_s),
            Measure::OpsPerS => Some(of.ops_per_s),
            Measure::P99Ns => (of.response.count > 0).then_some(of.p99_ns),
            Measure::P50Ns | Measure::MeanNs => None,
        }
    }

    /// Whether higher or lower values are better.
    pub fn better(self) -> Better {
        match self.measure {
            Measure::BytesPerS | Measure::OpsPerS => Better::Higher,
            Measure::P50Ns | Measure::P99Ns | Measure::MeanNs => Better::Lower,
        }
    }

    /// The unit of its figures.
    pub(crate) fn unit(self) -> FigureUnit {
        match self.measure {
            Measure::BytesPerS => FigureUnit::BytesPerS,
            Measure::OpsPerS => FigureUnit::OpsPerS,
            Measure::P50Ns | Measure::P99Ns | Measure::MeanNs => FigureUnit::Ns,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = self.op {
            write!(f, "{op}.")?;
        }
        f.write_str(match self.measure {
            Measure::BytesPerS => "bandwidth",
            Measure::OpsPerS => "rate",
            Measure::P50Ns => "p50",
            Measure::P99Ns => "p99",
            Measure::MeanNs => "mean",
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
        let measure = match name {
            "bandwidth" | "throughput" => Measure::BytesPerS,
            "rate" | "iops" => Measure::OpsPerS,
            "p50" => Measure::P50Ns,
            "p99" => Measure::P99Ns,
            "mean" => Measure::MeanNs,
            _ => return Err(wrong()),
        };
        Ok(Self { op, measure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_in_gates() {
        for text in ["bandwidth", "rate", "p50", "p99", "mean", "read.p99", "put.bandwidth"] {
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
