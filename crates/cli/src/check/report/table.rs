//! The report as a table and a verdict, for people.

use checks::{BestFigure, CheckReport, CheckRow, PhaseFigures, RowOutcome};
use report::{FittedTable, LOG_WIDTH, TextColour, paragraph};
use targets::CheckTraits;
use units::{Size, Span, latency};

use crate::results::words as words_of;
use runner::bottleneck::words;

/// The columns: title, and rank as in [`TableColumn::rank`].
const COLUMNS: [(&str, u8); 12] = [
    ("data address", 0),
    ("proto", 0),
    ("result", 0),
    ("phase", 0),
    ("throughput", 0),
    ("p50", 4),
    ("p99", 0),
    ("max", 3),
    ("ops", 5),
    ("errors", 0),
    ("retries", 2),
    ("retransmits", 1),
];

/// Index of the result column.
const RESULT: usize = 2;

/// The whole report; `width` is the terminal's, if there is one.
pub fn render(report: &CheckReport, width: Option<u16>) -> String {
    let columns = width.map_or(LOG_WIDTH, usize::from);
    // https://no-color.org: setting it turns colours off.
    let colours = width.is_some() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let rows = report.rows.iter().flat_map(lines).collect();
    let table = FittedTable::of(words_of::columns(&COLUMNS, 4), rows).coloured(colours.then_some(colour));
    let text = table.text(columns, "");
    let mut out = format!("\n{text}");
    let width = columns.clamp(60, 110);
    let remarks = remarks(report);
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        out.push_str(&wrap(&remark, width, "  "));
    }
    out.push('\n');
    let sentences = [report.verdict.of_paths(), report.verdict.doubts.clone()].concat();
    out.push_str(&wrap(&format!("Verdict: {}", sentences.join(" ")), width, ""));
    for group in report.verdict.groups() {
        out.push('\n');
        out.push_str(&limit(&group, width));
    }
    out.push('\n');
    out.push_str(&wrap(&load(report), width, ""));
    out
}

/// What limited a group of best figures, with the evidence of the fastest of them.
fn limit(group: &[&BestFigure], width: usize) -> String {
    let figure = |best: &&BestFigure| format!("{} {} through {}", best.name(), best.rate, best.address);
    let figures: Vec<String> = group.iter().map(figure).collect();
    let best = if group.len() == 1 { "Best figure" } else { "Best figures" };
    let mut out = wrap(&format!("{best}: {}", figures.join(", ")), width, "");
    let Some(fastest) = group.first() else { return out };
    for line in words::lines(&fastest.finding, None) {
        out.push_str(&wrap(&line, width, "  "));
    }
    for line in words::table(&fastest.finding, &fastest.name(), width - 2) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

/// Green for a good row, red for a bad one.
fn colour(column: usize, text: &str) -> Option<TextColour> {
    let result = (column == RESULT && !text.is_empty()).then_some(text)?;
    Some(if result == RowOutcome::Success.words() {
        TextColour::Good
    } else if result == RowOutcome::Interrupted.words() {
        TextColour::Doubtful
    } else {
        TextColour::Bad
    })
}

/// The load's settings: a figure means little without them.
fn load(report: &CheckReport) -> String {
    let settings = &report.settings;
    let sink = match settings.sink {
        "verify" => "every byte read was compared with what was written",
        "discard" => "data read was dropped in the kernel once its length was checked",
        _ => "data was read into a buffer",
    };
    let is_checked =
        |protocol: &&CheckTraits| report.rows.iter().any(|row| row.protocol == protocol.kind.scheme);
    let sizes: Vec<String> = targets::checked()
        .filter(is_checked)
        .map(|protocol| {
            let name = protocol.kind.scheme.to_uppercase();
            if protocol.write.is_whole() {
                return format!("{name} in objects of {}", Size(settings.object_size));
            }
            let durably = if settings.stable { ", written durably" } else { "" };
            let (block, connections) = (Size(settings.block_size), settings.connections);
            format!("{name} in blocks of {block} on {connections} connections a worker{durably}")
        })
        .collect();
    format!(
        "Load: {} {} of {} lanes on {}; {}; {} a phase; {sink}.",
        settings.workers,
        if settings.workers == 1 { "worker" } else { "workers" },
        settings.lanes,
        report.reactor.backend,
        sizes.join(", "),
        Span(std::time::Duration::from_secs_f64(settings.duration_s)),
    )
}

/// What the figures do not show: causes, warnings, how the run ended.
fn remarks(report: &CheckReport) -> Vec<String> {
    let mut remarks = Vec::new();
    for row in &report.rows {
        let name = format!("{} {}", row.protocol, row.path.address);
        remarks.extend(row.cause.iter().map(|cause| format!("{name}: {cause}")));
        remarks.extend(row.warnings.iter().map(|warning| format!("{name}: warning: {warning}")));
    }
    remarks.extend(report.interrupted_by.map(|signal| format!("the run was stopped early by {signal}")));
    remarks.extend(report.left_behind.iter().map(|left| format!("left behind: {left}")));
    remarks
}

/// A row's lines: one per phase, or one that says what failed.
fn lines(row: &CheckRow) -> Vec<Vec<String>> {
    let mut phases: Vec<_> = row.phases().map(|(name, phase)| (name, Some(phase))).collect();
    if phases.is_empty() {
        phases.push(("-", None));
    }
    phases
        .iter()
        .enumerate()
        .map(|(index, (name, phase))| {
            let first = index == 0;
            let only_first = |text: String| if first { text } else { String::new() };
            let mut cells = vec![
                only_first(row.path.address.to_string()),
                only_first(row.protocol.into()),
                only_first(row.outcome.words().into()),
                (*name).to_owned(),
            ];
            cells.extend(phase.map_or_else(|| vec!["-".into(); 8], figures));
            cells
        })
        .collect()
}

fn figures(phase: &PhaseFigures) -> Vec<String> {
    let ops = phase.data_ops();
    let time = |nanos: u64| if ops.ok == 0 { "-".into() } else { latency(nanos) };
    vec![
        if phase.total.bytes() == 0 { "-".into() } else { phase.rate().to_string() },
        time(ops.service.quantile_ns(0.50)),
        time(ops.service.quantile_ns(0.99)),
        time(ops.service.max_ns()),
        ops.ok.to_string(),
        phase.failed().to_string(),
        phase.retries.to_string(),
        phase.retransmits.to_string(),
    ]
}

/// A paragraph; all lines but the first are indented twice.
fn wrap(text: &str, width: usize, indent: &str) -> String {
    paragraph(text, width, indent, &indent.repeat(2))
}
