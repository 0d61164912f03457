//! Gates: conditions on a cell's result that decide whether the run succeeds.

use experiment::{Gate, GateMetric, GateOperator};
use stats::{OpFigures, WindowFigures};
use store::GateResult;

/// Evaluates each gate of a cell.
pub fn judge(gates: &[Gate], figures: &WindowFigures) -> Vec<GateResult> {
    gates.iter().map(|gate| judge_one(gate, of_op(gate, figures))).collect()
}

/// The figures that a gate applies to; `None` when no such operation occurred.
pub fn of_op<'a>(gate: &Gate, figures: &'a WindowFigures) -> Option<&'a OpFigures> {
    match gate.op {
        None => Some(&figures.total),
        Some(op) => figures.ops.iter().find(|candidate| candidate.summary.op == Some(op)),
    }
}

/// Evaluates one gate. If nothing was done, every gate fails except one on the error count.
pub fn judge_one(gate: &Gate, figure: Option<&OpFigures>) -> GateResult {
    let measured = figure.and_then(|figure| value(gate.metric, figure));
    GateResult {
        text: gate.text.clone(),
        measured: measured.unwrap_or(0.0),
        limit: gate.limit,
        passed: measured.is_some_and(|measured| holds(gate.comparison, measured, gate.limit)),
    }
}

/// Value of a metric for an operation; `None` when nothing was counted for it.
fn value(metric: GateMetric, figure: &OpFigures) -> Option<f64> {
    let op = &figure.summary;
    let latency = |nanos: f64| (op.response.count > 0).then_some(nanos);
    match metric {
        GateMetric::Bandwidth => (op.ok > 0).then_some(op.bytes_per_s.mean),
        GateMetric::Rate => (op.ok > 0).then_some(op.ops_per_s.mean),
        GateMetric::Mean => latency(op.response.mean_ns),
        GateMetric::Max => latency(op.response.max_ns as f64),
        GateMetric::Percentile(share) => latency(figure.response.quantile_ns(share) as f64),
        GateMetric::Errors => Some(op.failed as f64),
    }
}

/// Whether `measured` satisfies the comparison with `limit`.
pub fn holds(comparison: GateOperator, measured: f64, limit: f64) -> bool {
    match comparison {
        GateOperator::AtLeast => measured >= limit,
        GateOperator::AtMost => measured <= limit,
        GateOperator::Above => measured > limit,
        GateOperator::Below => measured < limit,
        GateOperator::Equal => measured == limit,
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;
    use crate::test_support::figure;

    fn gate(metric: GateMetric, comparison: GateOperator, limit: f64) -> Gate {
        Gate { text: "gate".into(), op: Some(OpKind::Read), metric, comparison, limit }
    }

    #[test]
    fn each_metric_is_the_one_that_is_named() {
        let figure = figure(OpKind::Read);
        let op = &figure.summary;
        for (metric, expected) in [
            (GateMetric::Bandwidth, op.bytes_per_s.mean),
            (GateMetric::Rate, op.ops_per_s.mean),
            (GateMetric::Mean, op.response.mean_ns),
            (GateMetric::Percentile(0.5), op.response.p50_ns as f64),
            (GateMetric::Percentile(0.97), figure.response.quantile_ns(0.97) as f64),
            (GateMetric::Percentile(0.999), op.response.p999_ns as f64),
            (GateMetric::Max, op.response.max_ns as f64),
            (GateMetric::Errors, 3.0),
        ] {
            let passes = |comparison| judge_one(&gate(metric, comparison, expected), Some(&figure)).passed;
            assert_eq!(value(metric, &figure), Some(expected), "{metric:?}");
            assert!(
                passes(GateOperator::Equal) && passes(GateOperator::AtLeast) && passes(GateOperator::AtMost)
            );
            assert!(!passes(GateOperator::Above) && !passes(GateOperator::Below));
        }
    }

    #[test]
    fn what_never_happened_passes_no_gate() {
        let at_most = gate(GateMetric::Percentile(0.99), GateOperator::AtMost, 1e9);
        assert!(!judge_one(&at_most, None).passed);
        let nothing = stats::WindowSums::default().finish(None).total;
        assert!(!judge_one(&at_most, Some(&nothing)).passed);
        assert!(!judge_one(&gate(GateMetric::Rate, GateOperator::AtMost, 1e9), Some(&nothing)).passed);
        assert!(judge_one(&gate(GateMetric::Errors, GateOperator::Equal, 0.0), Some(&nothing)).passed);
    }
}
