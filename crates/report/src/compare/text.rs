//! A comparison as text and as Markdown.

use std::fmt::Write;

use stats::{Call, Difference};

use super::{CellComparison, RunComparison};
use crate::figures::digits;
use crate::table::{FittedTable, LOG_WIDTH, TableColumn, paragraph};

const HEADS: [&str; 7] = ["cell", "metric", "A", "B", "difference", "p", "call"];

/// Which columns are dropped first when space is short.
const RANKS: [u8; 7] = [0, 0, 1, 0, 0, 2, 0];

fn column((title, rank): (&&str, u8)) -> TableColumn {
    match *title {
        "A" | "B" | "difference" => TableColumn::right(*title).rank(rank),
        "cell" => TableColumn::left(*title).breaks_to(16),
        _ => TableColumn::left(*title).rank(rank),
    }
}

/// How single runs are confirmed.
pub const CONFIRM: &str = "confirm with repetitions: 3 or steady: sustained";

/// One line: better, worse or no difference.
pub fn summary(cells: &[CellComparison], threshold: f64) -> String {
    let total = cells.len();
    let of_call = |call: Call| cells.iter().filter(move |cell| cell.difference.call == call);
    let unsettled = of_call(Call::NotComparable).count();
    if total == 0 {
        return "nothing to compare: the runs have no cell in common that both measured".into();
    }
    if unsettled == total {
        return "A and B cannot be compared: a single run reached no steady level; repeat the runs, or measure until they are steady"
            .into();
    }
    let size = |cell: &&CellComparison| cell.difference.relative.abs();
    let mut parts = Vec::new();
    // `B is worse than A in 2 of 8 comparisons, at the most −9 % (read p99)`, and `better in …`.
    for (call, first, word) in [
        (Call::Worse, "B is worse than A", "worse"),
        (Call::Better, "B is better than A", "better"),
        (Call::UnconfirmedWorse, "B was worse than A", "worse but unconfirmed"),
        (Call::UnconfirmedBetter, "B was better than A", "better but unconfirmed"),
    ] {
        let Some(most) = of_call(call).max_by(|a, b| size(a).total_cmp(&size(b))) else { continue };
        let (count, change) = (of_call(call).count(), notation(&most.difference)(most.difference.relative));
        let words = if parts.is_empty() { first } else { word };
        parts.push(match total {
            1 => format!("{words}: {change}"),
            _ => format!(
                "{words} in {count} of {total} comparisons, at the most {change} ({} {})",
                most.cell, most.metric
            ),
        });
    }
    let different = !parts.is_empty();
    if of_call(Call::UnconfirmedWorse).chain(of_call(Call::UnconfirmedBetter)).next().is_some() {
        parts.push(format!("unconfirmed, because single runs do not show that it lasts: {CONFIRM}"));
    }
    if parts.is_empty() {
        parts.push(match total - unsettled {
            1 => "no difference between A and B".to_owned(),
            n => format!("no difference between A and B in {n} comparisons"),
        });
    }
    if unsettled > 0 {
        parts.push(format!("{unsettled} not comparable (no steady level: repeat the runs)"));
    }
    if different && threshold > 0.0 {
        let count = |is: fn(&Difference) -> bool| cells.iter().filter(|cell| is(&cell.difference)).count();
        let (sure, unsure) = (count(|one| one.regression), count(|one| one.unconfirmed_regression));
        let more = if unsure > 0 { format!(", and {unsure} unconfirmed") } else { String::new() };
        parts.push(format!("{sure} worse by more than {}{more}", plain_percent(threshold)));
    }
    parts.join("; ")
}

/// A relative difference with its sign.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() || value.abs() > 1e6 {
        return "?".into();
    }
    let sign = if value > 0.0 {
        "+"
    } else if value < 0.0 {
        "−"
    } else {
        "±"
    };
    format!("{sign}{} %", digits(value.abs(), if value.abs() < 1.0 { 2 } else { 3 }))
}

/// A share without a sign: `5 %`.
fn plain_percent(share: f64) -> String {
    let text = digits(share * 100.0, 3);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// From this relative difference on, a change is stated as a factor: `× 41.7` is clearer than `+4070 %`.
const AS_FACTOR: f64 = 2.0;

/// How a difference and its bounds are written, in the same way: as shares, or as factors.
pub fn notation(difference: &Difference) -> fn(f64) -> String {
    if difference.relative >= AS_FACTOR { factor } else { percent }
}

/// `× 41.7` for a relative difference of 40.7.
fn factor(share: f64) -> String {
    let value = 1.0 + share;
    if value.is_finite() && value < 1e6 { format!("× {}", digits(value, 3)) } else { "?".into() }
}

/// The difference with its interval.
pub fn difference(cell: &CellComparison) -> String {
    let d = &cell.difference;
    let write = notation(d);
    if d.high > 1e6 {
        return format!("{} [no interval]", write(d.relative));
    }
    format!("{} [{} to {}]", write(d.relative), write(d.low), write(d.high))
}

/// A p-value with as many digits as are meaningful.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// Single-line text without terminal control characters.
pub fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

fn row(cell: &CellComparison) -> [String; 7] {
    let unit = cell.of.unit();
    let mark = if cell.steady { "" } else { " (not steady)" };
    [
        format!("{}{mark}", plain(&cell.cell)),
        cell.metric.clone(),
        unit.text(cell.a_mean()),
        unit.text(cell.b_mean()),
        difference(cell),
        p_value(cell.adjusted_p_value),
        cell.difference.call.to_string(),
    ]
}

/// Explains the table: the tests, and the adjustment of the p-values.
pub fn legend(comparison: &RunComparison) -> String {
    let mut tests: Vec<&str> = comparison.cells.iter().map(|cell| cell.difference.test.as_str()).collect();
    tests.sort_unstable();
    tests.dedup();
    let several = match comparison.cells.len() {
        0 | 1 => String::new(),
        n => format!("; p-values are adjusted for {n} comparisons (Holm)"),
    };
    let mut out = match tests.len() {
        0 => String::new(),
        1..=3 => format!("test: {}{several}\n", tests.join("; ")),
        n => format!("tests: {} and {} more{several}\n", tests[..2].join("; "), n - 2),
    };
    let hosts: usize = comparison.cells.iter().map(|cell| cell.hosts.len()).sum();
    if hosts > 0 {
        let _ = writeln!(
            out,
            "hosts: each against itself and against the middle of the others; adjusted for {hosts} comparisons (Holm)"
        );
    }
    out
}

/// A line for each cell in which some hosts changed when the others did not.
pub fn host_changes(comparison: &RunComparison) -> impl Iterator<Item = String> {
    let several = comparison.cells.windows(2).any(|pair| pair[0].metric != pair[1].metric);
    comparison.cells.iter().filter_map(move |cell| {
        let metric = if several { format!(" {}", cell.metric) } else { String::new() };
        Some(format!("{}{metric}: {}", cell.cell, cell.host_change.as_ref()?))
    })
}

/// The comparison for a terminal.
pub fn text(comparison: &RunComparison, width: Option<u16>) -> String {
    let width = width.map_or(LOG_WIDTH, usize::from);
    let mut out = String::new();
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(
            out,
            "{letter}: {}{} {} ({}, manometer {})",
            side.baseline.as_ref().map_or_else(String::new, |name| format!("baseline {}, run ", plain(name))),
            plain(&side.id),
            plain(&side.name),
            side.started.strftime("%Y-%m-%d %H:%M:%S UTC"),
            plain(&side.version)
        );
    }
    for change in &comparison.changed {
        out.push_str(&paragraph(change, width, "", "  "));
    }
    if !comparison.cells.is_empty() {
        let rows = comparison.cells.iter().map(|cell| row(cell).into()).collect();
        let table = FittedTable::of(HEADS.iter().zip(RANKS).map(column).collect(), rows);
        let _ = writeln!(out, "\n{}", table.text(width, ""));
        legend(comparison).lines().for_each(|line| out.push_str(&paragraph(line, width, "", "  ")));
    }
    for change in host_changes(comparison) {
        let _ = writeln!(out, "host: {}", plain(&change));
    }
    for (letter, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        for name in names {
            let _ = writeln!(out, "only in {letter}: {}", plain(name));
        }
    }
    for warning in &comparison.warnings {
        out.push_str(&paragraph(&format!("warning: {warning}"), width, "", "  "));
    }
    let _ = write!(out, "\n{}", paragraph(&comparison.summary, width, "", "  "));
    out
}

/// Text for a cell of a Markdown table.
pub fn cell_text(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The comparison as Markdown, for a merge request.
pub fn markdown(comparison: &RunComparison) -> String {
    let mut out = format!("**{}**\n\n", cell_text(&comparison.summary));
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let kept = side.baseline.as_ref().map(|name| format!("baseline {}, run ", cell_text(name)));
        let (id, name) = (cell_text(&side.id), cell_text(&side.name));
        let _ = writeln!(out, "- {letter}: {}{id} {name}, {}", kept.unwrap_or_default(), side.started);
    }
    if !comparison.cells.is_empty() {
        let _ = writeln!(out, "\n| {} |\n|---|---|--:|--:|---|--:|---|", HEADS.join(" | "));
        for cell in &comparison.cells {
            let mut texts = row(cell).map(|text| cell_text(&text));
            if cell.difference.call.is_better() || cell.difference.call.is_worse() {
                texts[6] = format!("**{}**", texts[6]);
            }
            let _ = writeln!(out, "| {} |", texts.join(" | "));
        }
        let _ = write!(out, "\n{}", cell_text(&legend(comparison)).trim());
        out.push('\n');
    }
    let mut notes: Vec<String> = host_changes(comparison).map(|change| format!("host: {change}")).collect();
    for (letter, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        notes.extend(names.iter().map(|name| format!("only in {letter}: {name}")));
    }
    notes.extend(comparison.changed.iter().chain(&comparison.warnings).cloned());
    if !notes.is_empty() {
        out.push('\n');
        notes.iter().for_each(|note| out.push_str(&format!("- {}\n", cell_text(note))));
    }
    out
}
