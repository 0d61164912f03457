//! The first screen: what was measured, whether the figures are usable, and the figures of every cell.

use std::collections::BTreeSet;
use std::fmt::Write;

use store::{State, Validity};

use super::figure::Figures;
use super::{charts, details, escape, words};
use crate::figures::FigureUnit;
use crate::headline::{BestCell, Headline};
use crate::{CellView, Document};

/// Totals over all cells.
struct Totals {
    measured: usize,
    judged: usize,
    steady: usize,
    studies: usize,
    failed_cells: usize,
    unfinished: usize,
    pending: usize,
    gates: usize,
    gates_passed: usize,
    failed_ops: u64,
    worst: Option<Validity>,
}

fn totals(document: &Document) -> Totals {
    let results = || document.cells.iter().filter_map(|cell| cell.record.result.as_ref());
    let count = |keep: &dyn Fn(&CellView) -> bool| document.cells.iter().filter(|cell| keep(cell)).count();
    let without = |cell: &CellView, states: &[State]| {
        cell.record.result.is_none() && states.contains(&cell.record.state)
    };
    let gates = || results().flat_map(|result| &result.gates);
    Totals {
        measured: results().count(),
        studies: results().filter(|result| !words::judged(result) && !result.points.is_empty()).count(),
        judged: results().filter(|result| words::judged(result)).count(),
        steady: results().filter(|result| words::judged(result) && result.steady.reached).count(),
        failed_cells: count(&|cell| without(cell, &[State::Failed])),
        unfinished: count(&|cell| without(cell, &[State::Running, State::Interrupted])),
        pending: count(&|cell| without(cell, &[State::Pending])),
        gates: gates().count(),
        gates_passed: gates().filter(|gate| gate.passed).count(),
        failed_ops: results().map(|result| result.total.failed).sum(),
        worst: results().map(|result| result.verdict.validity).max(),
    }
}

/// The section with the verdict and the table of all cells.
pub fn summary(document: &Document, figures: &Figures<'_>) -> String {
    let totals = totals(document);
    let mut out = String::new();
    let targets: BTreeSet<&str> =
        document.run.plan.cells.iter().map(|cell| cell.target.url.as_str()).collect();
    let badge = match totals.worst {
        _ if totals.failed_cells > 0 => "<span class=\"badge bad\">✕ CELLS FAILED</span>",
        Some(worst) => words::badge(worst),
        None => "<span class=\"badge none\">nothing measured</span>",
    };
    let targets: Vec<String> =
        targets.into_iter().map(|url| format!("<span class=\"url\">{}</span>", escape(url))).collect();
    let _ = write!(
        out,
        "<p class=\"verdict\">{badge} {} on {}</p>",
        sentence(&totals, document.cells.len()),
        if targets.is_empty() { "nothing".into() } else { targets.join(", ") }
    );
    let tile = |name: &str, value: String, note: String, alarm: bool| {
        let class = if alarm { " class=\"alarm\"" } else { "" };
        format!("<div{class}><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>")
    };
    out.push_str("<dl class=\"headline\">");
    let headline = Headline::of(&document.run, document.cells.iter().map(|view| &view.record));
    out.push_str(&best(&headline, figures));
    if totals.judged > 0 {
        let note = if totals.judged == totals.measured { "" } else { " that a rule judged" };
        let unsteady = totals.judged > totals.steady;
        out.push_str(&tile(
            "steady",
            totals.steady.to_string(),
            format!("of {}{note}", totals.judged),
            unsteady,
        ));
    }
    if totals.gates > 0 {
        let failed = totals.gates - totals.gates_passed;
        out.push_str(&tile(
            "gates passed",
            totals.gates_passed.to_string(),
            format!("of {}", totals.gates),
            failed > 0,
        ));
    }
    if totals.failed_ops > 0 {
        out.push_str(&tile(
            "operations failed",
            FigureUnit::Count.text(totals.failed_ops as f64),
            "in the reported windows".into(),
            true,
        ));
    }
    out.push_str("</dl>");
    out.push_str(&failed_gates(document, figures));
    out.push_str(&doubts(document, &headline));
    out.push_str(&cells(document, figures));
    out
}

/// A tile for each of the best figures: the cell that reached it, and what limited it there.
fn best(headline: &Headline<'_>, figures: &Figures<'_>) -> String {
    let tile = |name: &str, best: &Option<BestCell<'_>>, figure: &dyn Fn(&str) -> String| {
        let Some(best) = best else { return String::new() };
        let limit = best.result.limit.as_ref().map_or_else(String::new, |limit| {
            format!(
                "<span class=\"why\" title=\"{}\">{}</span>",
                escape(&limit.sentence),
                limit.bound.words()
            )
        });
        format!(
            "<div class=\"best\"><dt>{name}</dt><dd>{}<small><a href=\"#cell-{}\">{}</a> {limit}</small></dd></div>",
            figure(&format!("/cells/{}/result/total", best.position)),
            best.position + 1,
            escape(best.planned.map_or("", |cell| &cell.name)),
        )
    };
    [
        tile("best throughput", &headline.throughput, &|total| {
            figures.estimate(&format!("{total}/bytes_per_s"), FigureUnit::BytesPerS)
        }),
        tile("best IOPS", &headline.iops, &|total| {
            figures.estimate(&format!("{total}/ops_per_s"), FigureUnit::OpsPerS)
        }),
        tile("lowest p99", &headline.p99, &|total| figures.latency(&format!("{total}/response"), "p99_ns")),
    ]
    .concat()
}

/// Every reason for WARN or INVALID, once, with its cells.
fn doubts(document: &Document, headline: &Headline<'_>) -> String {
    let mut out = String::new();
    for doubt in &headline.doubts {
        let position =
            document.cells.iter().position(|view| Some(&(view.record.index + 1)) == doubt.cells.first());
        let _ = write!(
            out,
            "<li>{} <a href=\"#cell-{}\">{}</a>: {}</li>",
            words::badge(doubt.validity),
            position.unwrap_or(0) + 1,
            doubt.cell_words(),
            escape(&doubt.reason),
        );
    }
    if out.is_empty() { out } else { format!("<ul class=\"reasons warn\">{out}</ul>") }
}

fn sentence(totals: &Totals, cells: usize) -> String {
    let plural =
        |n: usize, one: &str, many: &str| if n == 1 { format!("{n} {one}") } else { format!("{n} {many}") };
    let mut parts = Vec::new();
    let unsteady = totals.judged - totals.steady;
    let without_rule = totals.measured - totals.judged - totals.studies;
    match (totals.measured, totals.steady) {
        (0, _) => {}
        (1, 1) => parts.push("1 cell measured and steady".to_owned()),
        (n, steady) if steady == n => parts.push(format!("{n} cells measured, all steady")),
        (n, steady) => {
            let kinds = [
                (steady, "steady", "steady"),
                (unsteady, "without a steady state", "without a steady state"),
                (without_rule, "for a fixed time", "for a fixed time"),
                (totals.studies, "search or sweep", "searches or sweeps"),
            ];
            let kinds: Vec<String> = kinds
                .into_iter()
                .filter(|(count, ..)| *count > 0)
                .map(|(count, one, many)| plural(count, one, many))
                .collect();
            parts.push(format!("{} measured ({})", plural(n, "cell", "cells"), kinds.join(", ")));
        }
    }
    for (count, text) in [
        (totals.failed_cells, "could not be run"),
        (totals.unfinished, "did not come to an end"),
        (totals.pending, "not begun"),
    ] {
        if count > 0 {
            parts.push(format!("{} {text}", plural(count, "cell", "cells")));
        }
    }
    if parts.is_empty() { plural(cells, "cell", "cells") } else { parts.join(", ") }
}

fn failed_gates(document: &Document, figures: &Figures<'_>) -> String {
    let mut out = String::new();
    for (position, view) in document.cells.iter().enumerate() {
        let Some(result) = &view.record.result else { continue };
        let planned = document.planned(view.record.index);
        for (n, gate) in result.gates.iter().enumerate().filter(|(_, gate)| !gate.passed) {
            let spec = planned.and_then(|cell| cell.gates.iter().find(|spec| spec.text == gate.text));
            let unit = spec.map_or(FigureUnit::Plain, |spec| details::gate_unit(spec.metric));
            let _ = write!(
                out,
                "<li><strong>Gate failed:</strong> {} measured {} in <a href=\"#cell-{}\">{}</a></li>",
                escape(&gate.text),
                figures.get(&format!("/cells/{position}/result/gates/{n}/measured"), unit),
                position + 1,
                escape(planned.map_or("", |cell| &cell.name)),
            );
        }
    }
    if out.is_empty() { out } else { format!("<ul class=\"reasons bad\">{out}</ul>") }
}

fn cells(document: &Document, figures: &Figures<'_>) -> String {
    if document.cells.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"cells sortable\"><thead><tr><th scope=\"col\">#</th><th scope=\"col\">cell</th>\
         <th scope=\"col\" class=\"n\">throughput</th><th scope=\"col\" class=\"n\">IOPS</th><th scope=\"col\" class=\"n\">p50</th>\
         <th scope=\"col\" class=\"n\">p99</th><th scope=\"col\" class=\"n\">p99.9</th><th scope=\"col\" class=\"n\">failed</th>\
         <th scope=\"col\">over time</th><th scope=\"col\">limit</th><th scope=\"col\">verdict</th></tr></thead><tbody>",
    );
    for (position, view) in document.cells.iter().enumerate() {
        let name = document.planned(view.record.index).map_or("", |cell| &cell.name);
        let _ = write!(
            out,
            "<tr><td data-sort=\"{index}\">{index}</td><th scope=\"row\"><a href=\"#cell-{}\">{}</a></th>",
            position + 1,
            escape(name),
            index = view.record.index + 1,
        );
        let Some(result) = &view.record.result else {
            let note = match view.record.state {
                State::Failed => "<span class=\"badge bad\">✕ FAILED</span>".to_owned(),
                state => format!("<span class=\"badge none\">{}</span>", words::state(state)),
            };
            let _ = write!(
                out,
                "<td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">–</td><td>{}</td><td></td><td data-sort=\"9\">{note}</td></tr>",
                charts::spark(view)
            );
            continue;
        };
        let total = format!("/cells/{position}/result/total");
        let throughput = match result.total.bytes {
            0 => "–".into(),
            _ => figures.estimate(&format!("{total}/bytes_per_s"), FigureUnit::BytesPerS),
        };
        let response = format!("{total}/response");
        let p99 = match figures.p99_uncertainty(&total) {
            Some(pm) if result.total.response.count > 0 => {
                format!("{} {pm}", figures.latency(&response, "p99_ns"))
            }
            _ => figures.latency(&response, "p99_ns"),
        };
        let limit = result.limit.as_ref().map_or_else(String::new, |limit| {
            format!("<span title=\"{}\">{}</span>", escape(&limit.sentence), limit.bound.words())
        });
        let steady = if result.steady.reached { "" } else { " <span class=\"badge warn\">not steady</span>" };
        let _ = write!(
            out,
            "<td class=\"n\">{throughput}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{p99}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td>{}</td><td>{limit}</td><td data-sort=\"{}\">{}{steady}</td></tr>",
            figures.estimate(&format!("{total}/ops_per_s"), FigureUnit::OpsPerS),
            figures.latency(&response, "p50_ns"),
            figures.latency(&response, "p999_ns"),
            figures.get(&format!("{total}/failed"), FigureUnit::Count),
            charts::spark(view),
            result.verdict.validity as u8,
            words::badge(result.verdict.validity),
        );
    }
    out.push_str("</tbody></table></div>");
    out
}
