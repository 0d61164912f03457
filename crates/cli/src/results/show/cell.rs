//! One cell as text.

use std::fmt::Write;

use experiment::{Cell, GateMetric};
use metrics::OpKind;
use store::{CellRecord, CellResult, Event, GateResult, OpSummary, StageRecord, StudyPoint};
use units::Size;

use super::{hosts, procedures};
use crate::results::words;

/// The cell: a headline and indented lines. `all` adds details that explain a figure: client, target, criteria.
pub fn block(record: &CellRecord, planned: Option<&Cell>, all: bool, width: usize) -> String {
    let name = planned.map_or("", |cell| &cell.name);
    let verdict = record.result.as_ref().map(|result| result.verdict.validity);
    let judged = match verdict {
        Some(validity) => words::verdict(Some(validity)),
        None => words::state(record.state),
    };
    let mut out = format!("Cell {}  {}  {judged}\n", number(record.index), words::plain(name));
    let mut say = |text: String| out.push_str(&words::wrapped(&text, width));
    if let Some(failure) = &record.failure {
        say(format!("failed: {}", words::plain(failure)));
    }
    let Some(result) = &record.result else { return out };
    if verdict.is_some() && record.state != store::State::Finished {
        say(format!("{} before its end", words::state(record.state)));
    }
    result.verdict.reasons.iter().for_each(|reason| say(words::plain(reason)));
    say(steady(result));
    report::steadiness(&result.steady).into_iter().for_each(&mut say);
    out.push_str(&hosts::limit(result, all, width));
    out.push_str(&figures(result, width));
    out.push_str(&procedures::procedures(result, all, width));
    out.push_str(&procedures::listings(result, width));
    out.push_str(&procedures::of_servers(result, all, width));
    if let Some(text) = planned.and_then(|cell| batches(result, cell.workload.batch_size()?)) {
        out.push_str(&words::wrapped(&text, width));
    }
    out.push_str(&hosts::hosts(result, width));
    if all {
        out.push_str(&hosts::paths(result, width));
    }
    let mut say = |text: String| out.push_str(&words::wrapped(&text, width));
    if let Some(open) = &result.open_loop {
        say(format!(
            "schedule: {} offered, {} late starts, deepest backlog {}, {} shed, {} missed",
            words::ops(open.offered_ops_per_s),
            open.late_starts,
            open.deepest_backlog,
            open.shed,
            open.missed_starts
        ));
    }
    if let Some(found) = result.found_ops_per_s {
        say(format!("found: {} is the highest rate at which the goal holds", words::ops(found)));
    }
    for gate in &result.gates {
        let word = if gate.passed { "holds" } else { "FAILED" };
        say(format!("gate {word}: {}, measured {}", words::plain(&gate.text), measured(gate, planned)));
    }
    say(errors(result));
    if !result.stages.is_empty() {
        say(format!("stages: {}", result.stages.iter().map(stage).collect::<Vec<_>>().join("; ")));
    }
    if !result.cache.is_empty() {
        say(format!("caches: {}", words::plain(&result.cache)));
    }
    if !result.points.is_empty() {
        out.push_str(&points(&result.points, width));
    }
    if all {
        out.push_str(&details(result));
    }
    out
}

/// A cell's number for people: from 1. Machine-readable output counts from 0. Both follow the running order.
pub fn number(index: u32) -> u64 {
    u64::from(index) + 1
}

/// An event on one line.
pub fn event(event: &Event) -> String {
    let cell = event.cell.map(|cell| format!(" cell {}", number(cell))).unwrap_or_default();
    format!("  {}{cell} {}: {}\n", words::moment(event.at), event.kind, words::plain(&event.text))
}

fn steady(result: &CellResult) -> String {
    let steady = &result.steady;
    let word = match (result.points.is_empty(), steady.rule.as_str(), steady.reached) {
        (false, ..) => "a study".to_owned(),
        (true, "none", _) => "not judged".to_owned(),
        (true, rule, true) => format!("steady by rule {rule}"),
        (true, rule, false) => format!("no steady state by rule {rule}"),
    };
    format!(
        "{word}, reported from {} to {} of {}: {}",
        words::seconds(result.window_start_s),
        words::seconds(result.window_end_s),
        words::seconds(result.measured_s),
        words::plain(&steady.reason)
    )
}

fn figures(result: &CellResult, width: usize) -> String {
    let titles = [
        ("op", 0),
        ("throughput", 0),
        ("±", 1),
        ("IOPS", 0),
        ("±", 5),
        ("p50", 3),
        ("p99", 0),
        ("p99.9", 4),
        ("max", 6),
        ("service p99", 7),
        ("errors", 2),
    ];
    // With a single operation, the total would repeat it.
    let total = (result.ops.len() != 1).then_some(&result.total);
    let rows = result.ops.iter().chain(total).map(figure_row).collect();
    words::table(&titles, 1, rows, (width, "  "))
}

/// What batch deletes removed: one of them removes several objects.
fn batches(result: &CellResult, batch_size: u32) -> Option<String> {
    let op = result.ops.iter().find(|op| op.op == Some(OpKind::BatchDelete))?;
    let objects = op.ok.saturating_mul(batch_size.into());
    Some(format!("each batch-delete removed {batch_size} objects: {objects} in the steady window"))
}

fn figure_row(op: &OpSummary) -> Vec<String> {
    let response = &op.response;
    let time = |nanos| words::time(nanos, response.count);
    vec![
        op.op.map_or("total", metrics::OpKind::name).to_owned(),
        words::bytes(op.bytes_per_s.mean),
        if op.bytes > 0 { words::half_width(&op.bytes_per_s) } else { "-".into() },
        words::ops(op.ops_per_s.mean),
        words::half_width(&op.ops_per_s),
        time(response.p50_ns),
        time(response.p99_ns),
        time(response.p999_ns),
        time(response.max_ns),
        words::time(op.service.p99_ns, op.service.count),
        op.failed.to_string(),
    ]
}

fn measured(gate: &GateResult, planned: Option<&Cell>) -> String {
    let plan = planned.and_then(|cell| cell.gates.iter().find(|planned| planned.text == gate.text));
    match plan.map(|plan| plan.metric) {
        Some(GateMetric::Bandwidth) => words::bytes(gate.measured),
        Some(GateMetric::Rate) => words::ops(gate.measured),
        Some(GateMetric::Mean | GateMetric::Percentile(_) | GateMetric::Max) => {
            units::latency(gate.measured.max(0.0) as u64)
        }
        Some(GateMetric::Errors) | None => format!("{}", gate.measured),
    }
}

fn errors(result: &CellResult) -> String {
    let kinds: Vec<String> =
        result.total.errors.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut text = match kinds.is_empty() {
        true => format!("errors: {}", result.total.failed),
        false => format!("errors: {}", kinds.join(", ")),
    };
    for sample in &result.error_samples {
        let _ = write!(text, "; {}: {}", sample.kind, words::plain(&sample.detail));
    }
    text
}

fn stage(stage: &StageRecord) -> String {
    let mut text = format!("{} {}", stage.name, words::seconds(stage.seconds));
    if stage.bytes > 0 {
        let _ = write!(text, ", {}", Size(stage.bytes).rounded());
    }
    if stage.failed > 0 {
        let _ = write!(text, ", {} failed", stage.failed);
    }
    if let Some(note) = &stage.note {
        let _ = write!(text, " ({})", words::plain(note));
    }
    text
}

fn points(points: &[StudyPoint], width: usize) -> String {
    let titles = [
        ("offered", 0),
        ("done", 0),
        ("throughput", 1),
        ("p50", 2),
        ("p99", 0),
        ("max", 4),
        ("backlog", 3),
        ("goal", 0),
    ];
    let rows = points
        .iter()
        .map(|point| {
            let time = |nanos| words::time(nanos, point.response.count);
            let offered = point.offered_ops_per_s;
            vec![
                if offered > 0.0 { words::ops(offered) } else { "closed loop".into() },
                words::ops(point.ops_per_s),
                words::bytes(point.bytes_per_s),
                time(point.response.p50_ns),
                time(point.response.p99_ns),
                time(point.response.max_ns),
                point.deepest_backlog.to_string(),
                if point.held { "held" } else { "missed" }.to_owned(),
            ]
        })
        .collect();
    words::table(&titles, 0, rows, (width, "  "))
}

fn details(result: &CellResult) -> String {
    let mut out = String::new();
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "  {title}");
            lines.iter().for_each(|line| {
                let _ = writeln!(out, "    {}", words::plain(line));
            });
        }
    };
    let criterion = |criterion: &stats::Criterion| {
        format!("{} {criterion}", if criterion.met { "met:" } else { "NOT met:" })
    };
    list("rule", result.steady.criteria.iter().map(criterion).collect());
    list("notes", result.steady.notes.clone());
    let client = result.client.iter().map(|(name, value)| format!("{name}: {value:.3}"));
    list("client", client.collect());
    list("target", result.target.iter().map(|(name, value)| format!("{name}: {value}")).collect());
    out
}
