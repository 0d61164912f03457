//! The tables of a cell.

use std::fmt::Write;

use experiment::{Cell, GateMetric, GateOperator};
use metrics::ErrorKind;
use stats::Measure;
use store::{CellResult, OpSummary};

use super::escape;
use super::figure::Figures;
use crate::figures::FigureUnit;
use crate::op_name;

/// Headers of text columns.
const LEFT: [&str; 13] = [
    "",
    "examples",
    "operation",
    "procedure",
    "kind",
    "host",
    "server",
    "path",
    "looked at",
    "finding",
    "held back by",
    "seen",
    "limit from",
];

/// A table with a caption; empty without rows. The first column is the row header.
pub(super) fn table(caption: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("<div class=\"scroll\"><table><caption>{}</caption><thead><tr>", escape(caption));
    for head in heads {
        // Headers of text columns are left-aligned, like their text.
        let left = if LEFT.contains(head) { " class=\"left\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{left}>{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            match index {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            }
            .expect("writing to memory cannot fail");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

pub(super) fn text(value: &str) -> String {
    format!("<span class=\"text\">{}</span>", escape(value))
}

/// Path, name and figures of each operation: all together first. With a single operation, only the total.
fn each_op<'a>(path: &str, result: &'a CellResult) -> Vec<(String, &'static str, &'a OpSummary)> {
    let all = (format!("{path}/total"), name_of_all(result), &result.total);
    let each = result.ops.iter().enumerate().filter(|_| result.ops.len() > 1);
    std::iter::once(all).chain(each.map(|(n, op)| (format!("{path}/ops/{n}"), op_name(op.op), op))).collect()
}

fn name_of_all(result: &CellResult) -> &'static str {
    match result.ops.as_slice() {
        [only] => op_name(only.op),
        _ => op_name(None),
    }
}

/// Maximum columns of the latency table beside the timelines.
const BESIDE: usize = 3;

/// Whether the latency table fits beside the timelines.
pub fn latencies_fit_beside(result: &CellResult) -> bool {
    each_op("", result).len() * if result.open_loop.is_some() { 2 } else { 1 } <= BESIDE
}

/// Percentiles, from the intended start and, with a rate, from the actual start.
pub fn latencies(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    const PERCENTILES: [(&str, &str); 9] = [
        ("min", "min_ns"),
        ("mean", "mean_ns"),
        ("p50", "p50_ns"),
        ("p90", "p90_ns"),
        ("p95", "p95_ns"),
        ("p99", "p99_ns"),
        ("p99.9", "p999_ns"),
        ("p99.99", "p9999_ns"),
        ("max", "max_ns"),
    ];
    let open = result.open_loop.is_some();
    let mut heads = vec!["".to_owned()];
    let mut columns = Vec::new();
    for (at, name, _) in each_op(path, result) {
        heads.push(if open { format!("{name}, response") } else { name.into() });
        columns.push(format!("{at}/response"));
        if open {
            heads.push(format!("{name}, service"));
            columns.push(format!("{at}/service"));
        }
    }
    let rows: Vec<Vec<String>> = PERCENTILES
        .iter()
        .map(|(name, field)| {
            let mut row = vec![(*name).to_owned()];
            row.extend(columns.iter().map(|column| figures.latency(column, field)));
            row
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table("Latency over the reported window", &heads, &rows)
}

/// Counts and rates of each operation.
pub fn operations(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = each_op(path, result)
        .into_iter()
        .map(|(at, name, _)| {
            let count = |name: &str, unit| figures.get(&format!("{at}/{name}"), unit);
            vec![
                name.into(),
                figures.estimate(&format!("{at}/bytes_per_s"), FigureUnit::BytesPerS),
                figures.estimate(&format!("{at}/ops_per_s"), FigureUnit::OpsPerS),
                count("ok", FigureUnit::Count),
                count("failed", FigureUnit::Count),
                count("bytes", FigureUnit::Bytes),
                count("rpcs", FigureUnit::Count),
                count("retries", FigureUnit::Count),
            ]
        })
        .collect();
    let heads = ["operation", "throughput", "IOPS", "ok", "failed", "payload", "RPCs", "retries"];
    table("Operations over the reported window", &heads, &rows)
}

/// How well a rate was kept.
pub fn open_loop(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    if result.open_loop.is_none() {
        return String::new();
    }
    let get = |name: &str, unit| figures.get(&format!("{path}/open_loop/{name}"), unit);
    let rows = [
        vec!["offered".to_owned(), get("offered_ops_per_s", FigureUnit::OpsPerS)],
        vec!["begun more than 1 ms late".to_owned(), get("late_starts", FigureUnit::Count)],
        vec!["deepest backlog".to_owned(), get("deepest_backlog", FigureUnit::Count)],
        vec!["given up, backlog full".to_owned(), get("shed", FigureUnit::Count)],
        vec!["not begun at the end".to_owned(), get("missed_starts", FigureUnit::Count)],
    ];
    table("Schedule of the open loop", &["", ""], &rows)
}

/// The rule's criteria.
pub fn criteria(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = result
        .steady
        .criteria
        .iter()
        .enumerate()
        .map(|(n, criterion)| {
            let at = format!("{path}/steady/criteria/{n}");
            vec![
                text(&criterion.name),
                figures.get(&format!("{at}/value"), of_criterion(criterion.unit)),
                format!(
                    "{} {}",
                    if criterion.at_most { "≤" } else { "≥" },
                    figures.get(&format!("{at}/limit"), of_criterion(criterion.unit))
                ),
                met(criterion.met),
            ]
        })
        .collect();
    let caption = format!("Steady state by the rule “{}”", result.steady.rule);
    table(&caption, &["condition", "measured", "required", ""], &rows)
}

fn of_criterion(unit: stats::CriterionUnit) -> FigureUnit {
    match unit {
        stats::CriterionUnit::Share => FigureUnit::Percent,
        stats::CriterionUnit::Count => FigureUnit::Plain,
        stats::CriterionUnit::Seconds => FigureUnit::Seconds,
        stats::CriterionUnit::Bytes => FigureUnit::Bytes,
        stats::CriterionUnit::BytesPerS => FigureUnit::BytesPerS,
        stats::CriterionUnit::OpsPerS => FigureUnit::OpsPerS,
        stats::CriterionUnit::Nanoseconds => FigureUnit::Ns,
    }
}

fn of_measure(measure: Measure) -> (&'static str, FigureUnit) {
    match measure {
        Measure::BytesPerS => ("throughput", FigureUnit::BytesPerS),
        Measure::OpsPerS => ("IOPS", FigureUnit::OpsPerS),
        Measure::P50Ns => ("p50 of intervals", FigureUnit::Ns),
        Measure::P99Ns => ("p99 of intervals", FigureUnit::Ns),
        Measure::MeanNs => ("mean latency", FigureUnit::Ns),
    }
}

/// The SNIA PTS criteria, if that rule decided.
pub fn pts(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = result
        .steady
        .pts
        .iter()
        .enumerate()
        .map(|(n, statement)| {
            let at = format!("{path}/steady/pts/{n}");
            let (name, unit) = of_measure(statement.measure);
            let get = |field: &str| figures.get(&format!("{at}/{field}"), unit);
            vec![
                format!("{}, {name}", op_name(statement.op)),
                format!(
                    "{} – {}",
                    figures.get(&format!("{at}/first_round"), FigureUnit::Count),
                    figures.get(&format!("{at}/last_round"), FigureUnit::Count)
                ),
                get("average"),
                format!("{} of {}", get("measured_data_excursion"), get("allowed_data_excursion")),
                format!("{} of {}", get("measured_slope_excursion"), get("allowed_slope_excursion")),
                format!("{} a round from {}", get("slope"), get("intercept")),
            ]
        })
        .collect();
    let heads = ["tracked variable", "rounds", "average", "data excursion", "slope excursion", "fitted line"];
    table("Steady-state statement of the SNIA SSS PTS", &heads, &rows)
}

fn met(yes: bool) -> String {
    if yes {
        "<span class=\"yes\">✓ met</span>".into()
    } else {
        "<span class=\"no\">✕ not met</span>".into()
    }
}

/// The estimates, each with its interval and drift.
pub fn series(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = result
        .steady
        .series
        .iter()
        .enumerate()
        // With a single operation the total is the same: once is enough.
        .filter(|(_, series)| result.ops.len() != 1 || series.op.is_none())
        .map(|(n, series)| {
            let at = format!("{path}/steady/series/{n}");
            let (name, unit) = of_measure(series.measure);
            let op = series.op.map_or_else(|| name_of_all(result), |op| op_name(Some(op)));
            vec![
                format!("{op}, {name}"),
                figures.estimate(&format!("{at}/estimate"), unit),
                figures.get(&format!("{at}/estimate/samples"), FigureUnit::Count),
                figures.get(&format!("{at}/estimate/effective_samples"), FigureUnit::Plain),
                figures.get(&format!("{at}/drift"), FigureUnit::Percent),
                figures.get(&format!("{at}/drift_bound"), FigureUnit::Percent),
            ]
        })
        .collect();
    let heads = ["series", "mean ± 95 % interval", "intervals", "effective samples", "drift", "drift bound"];
    table("Confidence", &heads, &rows)
}

/// The failed operations.
pub fn errors(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let mut rows = Vec::new();
    for (at, name, op) in each_op(path, result) {
        // With several operations, their own rows are more specific than the total.
        if op.op.is_none() && result.ops.len() > 1 {
            continue;
        }
        for kind in op.errors.keys() {
            let samples: Vec<String> = result
                .error_samples
                .iter()
                .filter(|sample| sample.kind == *kind)
                .map(|sample| escape(&sample.detail))
                .collect();
            rows.push(vec![
                text(ErrorKind::name(*kind)),
                text(name),
                figures.get(&format!("{at}/errors/{}", kind.name()), FigureUnit::Count),
                format!("<span class=\"text\">{}</span>", samples.join("<br>")),
            ]);
        }
    }
    if rows.is_empty() {
        // Errors outside the window leave only samples.
        rows = result
            .error_samples
            .iter()
            .map(|sample| vec![text(sample.kind.name()), String::new(), String::new(), text(&sample.detail)])
            .collect();
    }
    table("Errors", &["kind", "operation", "count", "examples"], &rows)
}

/// The gates.
pub fn gates(path: &str, result: &CellResult, figures: &Figures<'_>, planned: Option<&Cell>) -> String {
    let rows: Vec<Vec<String>> = result
        .gates
        .iter()
        .enumerate()
        .map(|(n, gate)| {
            let spec = planned.and_then(|cell| cell.gates.iter().find(|spec| spec.text == gate.text));
            let unit = spec.map_or(FigureUnit::Plain, |spec| gate_unit(spec.metric));
            vec![
                text(&gate.text),
                figures.get(&format!("{path}/gates/{n}/measured"), unit),
                format!(
                    "{} {}",
                    spec.map_or("", |spec| sign(spec.comparison)),
                    figures.get(&format!("{path}/gates/{n}/limit"), unit)
                ),
                met(gate.passed),
            ]
        })
        .collect();
    table("Gates", &["gate", "measured", "limit", ""], &rows)
}

/// The unit of a gate's limit.
pub fn gate_unit(metric: GateMetric) -> FigureUnit {
    match metric {
        GateMetric::Bandwidth => FigureUnit::BytesPerS,
        GateMetric::Rate => FigureUnit::OpsPerS,
        GateMetric::Mean | GateMetric::Percentile(_) | GateMetric::Max => FigureUnit::Ns,
        GateMetric::Errors => FigureUnit::Count,
    }
}

fn sign(comparison: GateOperator) -> &'static str {
    match comparison {
        GateOperator::AtLeast => "≥",
        GateOperator::AtMost => "≤",
        GateOperator::Above => "&gt;",
        GateOperator::Below => "&lt;",
        GateOperator::Equal => "=",
    }
}

/// The stages.
pub fn stages(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = result
        .stages
        .iter()
        .enumerate()
        .map(|(n, stage)| {
            let get = |name: &str, unit| figures.get(&format!("{path}/stages/{n}/{name}"), unit);
            vec![
                text(&stage.name),
                get("seconds", FigureUnit::Seconds),
                get("ok", FigureUnit::Count),
                get("failed", FigureUnit::Count),
                get("bytes", FigureUnit::Bytes),
                text(stage.note.as_deref().unwrap_or("")),
            ]
        })
        .collect();
    table("Stages", &["stage", "time", "ok", "failed", "payload", ""], &rows)
}

/// The points of a sweep or a search.
pub fn study(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let rows: Vec<Vec<String>> = result
        .points
        .iter()
        .enumerate()
        .map(|(n, point)| {
            let at = format!("{path}/points/{n}");
            let response = format!("{at}/response");
            let offered = match point.offered_ops_per_s > 0.0 {
                true => figures.get(&format!("{at}/offered_ops_per_s"), FigureUnit::OpsPerS),
                false => "closed loop".into(),
            };
            vec![
                offered,
                figures.get(&format!("{at}/ops_per_s"), FigureUnit::OpsPerS),
                figures.get(&format!("{at}/bytes_per_s"), FigureUnit::BytesPerS),
                figures.latency(&response, "p50_ns"),
                figures.latency(&response, "p99_ns"),
                figures.latency(&response, "p999_ns"),
                figures.get(&format!("{at}/deepest_backlog"), FigureUnit::Count),
                met(point.held),
            ]
        })
        .collect();
    let heads = ["offered", "done", "throughput", "p50", "p99", "p99.9", "deepest backlog", "goal"];
    table("Rates that were tried", &heads, &rows)
}
