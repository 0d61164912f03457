//! A run as CSV (RFC 4180): a row per cell and operation, optionally also per host. Column names contain the units.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use experiment::Cell;
use stats::Estimate;
use store::{CellRecord, CellResult, HostResult, LatencySummary, OpSummary, RunRecord, Store};

/// Columns of the cell. Crossed parameters follow, named `point_` and the parameter.
const CELL: [&str; 15] = [
    "run",
    "run_name",
    "run_started",
    "cell",
    "name",
    "workload",
    "repetition",
    "target",
    "state",
    "verdict",
    "steady",
    "measured_s",
    "window_start_s",
    "window_end_s",
    "cache",
];

/// Columns of the operation; `total` is all combined.
const OP: [&str; 7] = ["op", "ok", "failed", "bytes", "rpcs", "retries", "errors"];

const ESTIMATE: [&str; 3] = ["mean", "low", "high"];

/// Columns of the host, with `--hosts`; empty in rows for all hosts.
const HOST: [&str; 6] = ["host", "host_index", "started_ns", "lost_at_s", "lost_why", "held_back_by"];

const LATENCY: [&str; 9] =
    ["min_ns", "mean_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"];

/// Text columns of the cell.
const TEXTS: [&str; 2] = ["reasons", "failure"];

/// Writes a row per cell and operation; a cell without a result has one row. With `hosts`, rows for each host of a
/// fleet follow the combined ones.
///
/// # Errors
/// The results file cannot be read, or the output cannot be written.
pub fn cells(store: &Store, run: &RunRecord, hosts: bool, out: &mut dyn Write) -> Result<()> {
    let points: BTreeSet<&str> =
        run.plan.cells.iter().flat_map(|cell| cell.point.keys().map(String::as_str)).collect();
    let mut header: Vec<String> = CELL.map(str::to_owned).into();
    header.extend(points.iter().map(|name| format!("point_{name}")));
    header.extend(OP.map(str::to_owned));
    for figure in ["ops_per_s", "bytes_per_s"] {
        header.push(figure.to_owned());
        header.extend(ESTIMATE[1..].iter().map(|end| format!("{figure}_{end}")));
    }
    header.extend(ESTIMATE.map(|end| format!("interval_p99_{end}_ns")));
    header
        .extend(["response", "service"].iter().flat_map(|kind| LATENCY.map(|name| format!("{kind}_{name}"))));
    header.extend(TEXTS.map(str::to_owned));
    header.extend(HOST.iter().filter(|_| hosts).map(|name| (*name).to_owned()));
    row(out, &header)?;
    for record in store.cells(&run.id)? {
        let plan = run.planned(record.index);
        let mut first = of_cell(run, &record, plan);
        first.extend(
            points
                .iter()
                .map(|name| plan.and_then(|cell| cell.point.get(*name)).cloned().unwrap_or_default()),
        );
        let texts = [
            record.result.as_ref().map(|result| result.verdict.reasons.join("; ")).unwrap_or_default(),
            record.failure.clone().unwrap_or_default(),
        ];
        for (op, host) in parts(&record, hosts) {
            let mut cells = first.clone();
            cells.extend(of_op(op));
            cells.extend(texts.iter().cloned());
            if hosts {
                cells.extend(of_host(record.result.as_ref(), host));
            }
            row(out, &cells)?;
        }
    }
    Ok(())
}

/// The rows of a cell: operations of all hosts combined, then of each host.
fn parts(record: &CellRecord, hosts: bool) -> Vec<(Option<&OpSummary>, Option<&HostResult>)> {
    let Some(result) = &record.result else { return vec![(None, None)] };
    let whole = std::iter::once(&result.total).chain(&result.ops).map(|op| (Some(op), None));
    let each =
        result.hosts.iter().filter(|_| hosts).flat_map(|host| {
            std::iter::once(&host.total).chain(&host.ops).map(move |op| (Some(op), Some(host)))
        });
    whole.chain(each).collect()
}

fn of_host(result: Option<&CellResult>, host: Option<&HostResult>) -> [String; HOST.len()] {
    let Some(host) = host else { return [const { String::new() }; HOST.len()] };
    let text = |value: Option<String>| value.unwrap_or_default();
    let lost = host.lost.as_ref();
    let mut findings = result.iter().flat_map(|result| &result.limit).flat_map(|limit| &limit.hosts);
    [
        host.name.clone(),
        host.index.to_string(),
        text(host.started_ns.map(|ns| ns.to_string())),
        text(lost.map(|lost| lost.at_s.to_string())),
        text(lost.map(|lost| lost.why.clone())),
        text(findings.find(|finding| finding.host == host.name).map(|finding| finding.sentence.clone())),
    ]
}

fn of_cell(run: &RunRecord, record: &CellRecord, plan: Option<&Cell>) -> Vec<String> {
    let of_plan = |text: fn(&Cell) -> String| plan.map(text).unwrap_or_default();
    let of_result = |text: fn(&CellResult) -> String| record.result.as_ref().map(text).unwrap_or_default();
    vec![
        run.id.clone(),
        run.name.clone(),
        run.started.to_string(),
        record.index.to_string(),
        of_plan(|cell| cell.name.clone()),
        of_plan(|cell| cell.workload_name.clone()),
        of_plan(|cell| cell.repetition.to_string()),
        of_plan(|cell| cell.target.name.clone()),
        record.state.name().to_owned(),
        of_result(|result| result.verdict.validity.name().to_owned()),
        of_result(|result| result.steady.judgement().words().to_owned()),
        of_result(|result| result.measured_s.to_string()),
        of_result(|result| result.window_start_s.to_string()),
        of_result(|result| result.window_end_s.to_string()),
        of_result(|result| result.cache.clone()),
    ]
}

fn of_op(op: Option<&OpSummary>) -> Vec<String> {
    let columns = OP.len() + 3 * ESTIMATE.len() + 2 * LATENCY.len();
    let Some(op) = op else { return vec![String::new(); columns] };
    let errors: Vec<String> = op.errors.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    let mut cells = vec![
        op.op.map_or("total", metrics::OpKind::name).to_owned(),
        op.ok.to_string(),
        op.failed.to_string(),
        op.bytes.to_string(),
        op.rpcs.to_string(),
        op.retries.to_string(),
        errors.join(" "),
    ];
    let estimate =
        |estimate: &Estimate| [estimate.mean, estimate.low, estimate.high].map(|value| value.to_string());
    cells.extend([&op.ops_per_s, &op.bytes_per_s, &op.p99_ns].into_iter().flat_map(estimate));
    cells.extend([&op.response, &op.service].into_iter().flat_map(latency));
    cells
}

/// Empty if nothing was counted: no latency is not zero latency.
fn latency(of: &LatencySummary) -> [String; LATENCY.len()] {
    let whole = [of.p50_ns, of.p90_ns, of.p95_ns, of.p99_ns, of.p999_ns, of.p9999_ns, of.max_ns];
    let mut cells = [const { String::new() }; LATENCY.len()];
    if of.count > 0 {
        cells[0] = of.min_ns.to_string();
        cells[1] = of.mean_ns.to_string();
        for (cell, value) in cells[2..].iter_mut().zip(whole) {
            *cell = value.to_string();
        }
    }
    cells
}

/// Writes a row.
///
/// # Errors
/// It cannot be written.
pub fn row(out: &mut dyn Write, cells: &[impl AsRef<str>]) -> Result<()> {
    let mut line = String::new();
    for (column, cell) in cells.iter().enumerate() {
        if column > 0 {
            line.push(',');
        }
        line.push_str(&field(cell.as_ref()));
    }
    line.push('\n');
    Ok(out.write_all(line.as_bytes())?)
}

/// Quoted if necessary.
fn field(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
