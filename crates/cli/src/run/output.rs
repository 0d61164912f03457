//! Output at the end of a run, for people. Machines get the document of `manometer show --format json`.

use std::path::Path;

use report::{Headline, LOG_WIDTH};
use runner::{RunOutcome, cell_count};
use store::{CellRecord, CellResult, RunRecord, State, StudyPoint, Validity};

use units::{ByteRate, OpRate, latency};

use runner::bottleneck::words;

use super::cells;
use crate::results::show::baseline::shares;
use crate::results::show::evenness;
use crate::results::words::wrapped;

/// Maximum number of cells for which evidence is shown here; beyond that, only `manometer show` has it.
const TABLES: usize = 4;
/// Maximum reasons shown per cell.
const REASONS: usize = 4;

/// The run for people, with what it reached of its baseline.
pub fn of_run(outcome: &RunOutcome, width: Option<u16>, flags: &Flags) -> String {
    let against = |kept| shares(&outcome.record, &outcome.cells, kept);
    let against = outcome.baseline.as_ref().map_or_else(String::new, against);
    text(&outcome.record, &outcome.cells, width, flags, &against)
}

/// Flags to add to commands so that they find what this run used; each starts with a blank or is empty.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The results file.
    pub results: String,
    /// The journal.
    pub journal: String,
}

impl Flags {
    /// The paths named on the command line, and the results file if the plan names it.
    pub fn of(outcome: &RunOutcome, results: Option<&Path>, journal: Option<&Path>) -> Self {
        let named = results.is_some() || outcome.record.plan.results.is_some();
        let results = named.then(|| format!(" --results {}", outcome.store.path().display()));
        Self {
            results: results.unwrap_or_default(),
            journal: journal.map_or_else(String::new, |path| format!(" --journal-dir {}", path.display())),
        }
    }
}

/// The run for people; `width` is the terminal's, if there is one. `against` is what it reached of a baseline.
pub fn text(
    run: &RunRecord,
    cells: &[CellRecord],
    width: Option<u16>,
    flags: &Flags,
    against: &str,
) -> String {
    let colours = width.is_some() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = width.map_or(LOG_WIDTH, usize::from);
    let paragraph = width.clamp(60, 120);
    let mut out = String::from("\n");
    let measured = cells.iter().any(|record| record.result.is_some());
    let headline = Headline::of_several(run, cells);
    if let Some(headline) = &headline {
        out.push_str(&format!("{}\n", headline.text(paragraph)));
    }
    if measured {
        out.push_str(&format!("{}\n", cells::table(run, cells, width, colours)));
    }
    for record in cells {
        out.push_str(&remarks(run, record, headline.is_none(), paragraph));
    }
    out.push_str(against);
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(&summary(run, cells));
    let resumable = cells.iter().any(|record| record.state != State::Finished);
    out.push_str(&next(run, flags, measured, resumable));
    out
}

/// Remarks on a cell: its failure, its gates, its points, and its reasons unless they are shown elsewhere.
fn remarks(run: &RunRecord, record: &CellRecord, reasons: bool, width: usize) -> String {
    let cell = run.planned(record.index);
    let mut lines = Vec::new();
    lines.extend(record.failure.iter().map(|failure| format!("failed: {failure}")));
    if let Some(result) = &record.result {
        for gate in &result.gates {
            if !gate.passed {
                lines.push(format!("gate failed: {}: {}", gate.text, measured(run, record.index, gate)));
            }
        }
        let skip = usize::from(record.failure.is_some());
        let reasons: &[String] = if reasons { &result.verdict.reasons } else { &[] };
        lines.extend(reasons.iter().skip(skip).take(REASONS).cloned());
        if reasons.len() > skip + REASONS {
            lines.push(format!("and {} more reasons", reasons.len() - skip - REASONS));
        }
        lines.extend(evenness(result));
        lines.extend(points(result));
        if let Some(limit) = &result.limit {
            let evidence = run.plan.cells.len() <= TABLES;
            lines.extend(words::lines(limit, evidence.then_some(width.saturating_sub(2))));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let name = cell.map_or("", |cell| cell.name.as_str());
    let mut out = format!("cell {} ({name})\n", record.index + 1);
    for line in lines {
        out.push_str(&wrapped(line.trim_end(), width));
    }
    out
}

/// The measured value of a failed gate, in the unit of its metric.
fn measured(run: &RunRecord, index: u32, gate: &store::GateResult) -> String {
    use experiment::GateMetric;
    let cell = run.planned(index);
    let metric =
        cell.and_then(|cell| cell.gates.iter().find(|known| known.text == gate.text)).map(|g| g.metric);
    let found = match metric {
        Some(GateMetric::Bandwidth) => ByteRate(gate.measured).to_string(),
        Some(GateMetric::Rate) => OpRate(gate.measured).to_string(),
        Some(GateMetric::Errors) | None => format!("{:.0}", gate.measured),
        Some(GateMetric::Mean | GateMetric::Percentile(_) | GateMetric::Max) => {
            latency(gate.measured.max(0.0) as u64)
        }
    };
    format!("it was {found}")
}

pub(super) fn points(result: &CellResult) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if let Some(stage) = result.stages.iter().find(|stage| stage.name == runner::MEASURE) {
        lines.extend(stage.note.clone().filter(|_| !result.points.is_empty()));
    }
    let mut points = result.points.clone();
    points.sort_by(|a, b| a.offered_ops_per_s.total_cmp(&b.offered_ops_per_s));
    for trials in points.chunk_by(|a, b| a.offered_ops_per_s == b.offered_ops_per_s) {
        // A rate that misses the goal is tried again.
        let number = |n: usize| match trials.len() {
            1 => String::new(),
            all => format!(", trial {} of {all}", n + 1),
        };
        lines.extend(trials.iter().enumerate().map(|(n, point)| trial(point, &number(n))));
    }
    lines
}

/// What was measured at one rate.
fn trial(point: &StudyPoint, number: &str) -> String {
    let offered = match point.offered_ops_per_s {
        0.0 => "closed loop".to_owned(),
        rate => OpRate(rate).to_string(),
    };
    let end = match (point.offered_ops_per_s, point.held) {
        (0.0, _) => String::new(),
        (_, true) => format!("held{number}"),
        (_, false) => format!("not held{number}"),
    };
    format!(
        "{offered:>14}: {:>12} done, p50 {:>8}, p99 {:>8}, p99.9 {:>8}  {end}",
        OpRate(point.ops_per_s).to_string(),
        latency(point.response.p50_ns),
        latency(point.response.p99_ns),
        latency(point.response.p999_ns),
    )
}

fn summary(run: &RunRecord, cells: &[CellRecord]) -> String {
    let of = |validity: Validity| {
        let judged = |record: &&CellRecord| {
            let result = record.result.as_ref().filter(|_| record.state == State::Finished);
            result.is_some_and(|result| result.verdict.validity == validity)
        };
        cells.iter().filter(judged).count()
    };
    let counted = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let in_state = |state: State| cells.iter().filter(|record| record.state == state).count();
    let gates = || cells.iter().filter_map(|record| record.result.as_ref()).flat_map(|result| &result.gates);
    let failed_gates = gates().filter(|gate| !gate.passed).count();
    let mut parts: Vec<String> = [
        counted(of(Validity::Valid), "valid"),
        counted(of(Validity::Warn), "with warnings"),
        counted(of(Validity::Invalid), "invalid"),
        counted(in_state(State::Failed), "failed"),
        counted(in_state(State::Interrupted), "interrupted"),
        counted(in_state(State::Pending) + in_state(State::Running), "not run"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if gates().count() > 0 {
        parts.push(match failed_gates {
            0 => format!("all {} gates held", gates().count()),
            some => format!("{some} of {} gates failed", gates().count()),
        });
    }
    format!("Run {} ({}), {}: {}.\n", run.id, run.name, cell_count(cells.len()), parts.join(", "))
}

/// The commands to try next.
fn next(run: &RunRecord, flags: &Flags, measured: bool, resumable: bool) -> String {
    let Flags { results, journal } = flags;
    let report = measured.then(|| format!("manometer report {}{results}\n", run.id));
    let resume = resumable.then(|| format!("manometer run --resume {}{results}{journal}\n", run.id));
    let commands: Vec<String> = report.into_iter().chain(resume).collect();
    if commands.is_empty() { String::new() } else { format!("Next: {}", commands.join("      ")) }
}
