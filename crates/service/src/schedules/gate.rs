//! A finished run of a schedule against the earlier ones: whether it got slower beyond what runs differ by.

use report::{CompareOptions, Document, RunComparison};
use serde::{Deserialize, Serialize};
use stats::Call;
use utoipa::ToSchema;

/// Cells listed.
const LISTED: usize = 20;

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GateVerdict {
    /// There is no earlier run to compare with.
    First,
    /// No cell is worse by more than the threshold.
    Passed,
    /// At least one cell is.
    Slower,
    /// No cell can be compared: none held a level, or none was measured.
    NotComparable,
    /// The run failed.
    Failed,
}

/// A run of a schedule compared with the earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Gate)]
pub(crate) struct GateView {
    /// The result.
    pub verdict: GateVerdict,
    /// Whether the run is known to be slower for longer than it measured: its cells were repeated, or held their level for
    /// minutes.
    pub confirmed: bool,
    /// A cell is slower if it is significantly worse, and by more than this share.
    pub threshold: f64,
    /// The ids of the earlier runs, oldest first.
    pub reference: Vec<String>,
    /// The result, in one line.
    pub summary: String,
    /// The slower cells, worst first.
    pub slower: Vec<SlowerCell>,
    /// Number of slower cells that are not listed.
    pub more: usize,
}

/// A cell that got slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SlowerCell {
    /// Workload and point.
    pub cell: String,
    /// The target's name.
    pub target: String,
    /// The metric: `bandwidth`, `read.p99`.
    pub metric: String,
    /// The mean of the earlier runs, in the metric's unit.
    pub before: f64,
    /// The run's.
    pub now: f64,
    /// `now / before - 1`.
    pub relative: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end of its 95 % confidence interval.
    pub high: f64,
}

impl GateView {
    /// The gate of a run that failed.
    pub(crate) fn failed(threshold: f64, reason: &str) -> Self {
        Self {
            verdict: GateVerdict::Failed,
            confirmed: true,
            threshold,
            reference: Vec::new(),
            summary: format!("the run failed: {reason}"),
            slower: Vec::new(),
            more: 0,
        }
    }

    /// Compares a run with earlier ones, oldest first. Their spread is the noise that a difference must exceed.
    pub(crate) fn of(earlier: &[&Document], run: &Document, threshold: f64) -> Self {
        let reference: Vec<String> = earlier.iter().map(|document| document.run.id.clone()).collect();
        let empty = Self {
            verdict: GateVerdict::First,
            confirmed: true,
            threshold,
            reference,
            summary: "there is no earlier run to compare with".to_owned(),
            slower: Vec::new(),
            more: 0,
        };
        let choice = CompareOptions { metrics: Vec::new(), threshold };
        let Some(found) = RunComparison::with_history(earlier, run, &choice) else { return empty };
        if found.cells.iter().all(|cell| cell.difference.call == Call::NotComparable) {
            let summary = match found.cells.is_empty() {
                true => "no cell was measured in this run and in an earlier one",
                false => "no cell held a level: a run could have ended elsewhere",
            };
            return Self { verdict: GateVerdict::NotComparable, summary: summary.to_owned(), ..empty };
        }
        let worse = |cell: &&report::CellComparison| {
            cell.difference.regression || cell.difference.unconfirmed_regression
        };
        let mut slower: Vec<_> = found.cells.iter().filter(worse).collect();
        // A latency that grows is as bad as a rate that falls by the same factor.
        let badness = |relative: f64| (1.0 + relative).ln().abs();
        slower.sort_by(|a, b| badness(b.difference.relative).total_cmp(&badness(a.difference.relative)));
        let runs = match earlier.len() {
            1 => "the earlier run".to_owned(),
            count => format!("the last {count} runs"),
        };
        let all = found.cells.len();
        let Some(worst) = slower.first() else {
            let summary = format!("no cell of {all} is slower than in {runs}");
            return Self { verdict: GateVerdict::Passed, summary, ..empty };
        };
        let confirmed = found.regressions > 0;
        let summary = format!(
            "{} of {all} cells slower than in {runs}; worst: {} {}, {}{}",
            slower.len(),
            worst.cell,
            worst.metric,
            worst.difference_text(),
            if confirmed { "" } else { "; repetitions: 3 or steady: sustained would confirm it" }
        );
        let cells = slower.iter().take(LISTED).map(|cell| SlowerCell {
            cell: cell.cell.clone(),
            target: cell.target.clone(),
            metric: cell.metric.clone(),
            before: cell.a_mean(),
            now: cell.b_mean(),
            relative: cell.difference.relative,
            low: cell.difference.low,
            high: cell.difference.high,
        });
        let more = slower.len().saturating_sub(LISTED);
        Self { verdict: GateVerdict::Slower, confirmed, summary, slower: cells.collect(), more, ..empty }
    }
}
