//! More than two runs: each against the first and against the previous one, changes of level, and the trend over all.

use std::fmt::Write;

use serde::{Serialize, Serializer};
use stats::{Better, Call, ComparedSide, Difference, Estimate, LevelChange, LevelHeld, RunTrend};

use super::matching::{self, MatchedPoint, RepeatedPoint};
use super::{CompareOptions, Metric, Side, differences, label, mean, side, text};
use crate::Document;
use crate::table::{FittedTable, LOG_WIDTH, TableColumn, paragraph};

/// Several runs side by side, in the given order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSeries {
    /// The runs.
    pub runs: Vec<Side>,
    /// A cell that is worse than in the first run by more than this share is a regression.
    pub threshold: f64,
    /// Each point and metric that at least two runs have.
    pub cells: Vec<CellSeries>,
    /// Settings that differ between the runs, one per line.
    pub changed: Vec<String>,
    /// Other differences, and reasons to doubt a figure, one per line.
    pub warnings: Vec<String>,
    /// The result, in one line.
    pub summary: String,
    /// Cells in which the last run is significantly worse than the first, by more than the threshold.
    pub regressions: u64,
    /// The same where single runs cannot confirm it.
    pub unconfirmed_regressions: u64,
}

/// One point and one metric of all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellSeries {
    /// Workload and point.
    pub cell: String,
    /// The target's name.
    pub target: String,
    /// The metric: `bandwidth`, `read.p99`.
    pub metric: String,
    /// The figure of each run; `null` where it was not measured.
    pub figures: Vec<Option<CellFigure>>,
    /// The trend over the runs that have the cell, if there are four or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trend: Option<RunTrend>,
    /// The trend's p-value, adjusted for the number of cells (Holm 1979).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trend_adjusted_p_value: Option<f64>,
    /// Where its level changed, over the runs that have the cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<CellChange>,
    /// Its metric.
    #[serde(skip)]
    pub(super) of: Metric,
}

/// A change of a cell's level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellChange {
    /// The change; its run is the position among all runs.
    #[serde(flatten)]
    pub change: LevelChange,
    /// [`Call::Better`] or [`Call::Worse`].
    pub call: Call,
}

/// One run's figure of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellFigure {
    /// One estimate per repetition.
    pub repetitions: Vec<Estimate>,
    /// The least that a repetition held its level; in JSON, whether every one held one.
    #[serde(rename = "settled", serialize_with = "is_settled")]
    pub level: LevelHeld,
    /// Difference from the first run that has the cell; absent in that run. The call is adjusted for all comparisons
    /// made (Holm).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_first: Option<Difference>,
    /// Difference from the previous run that has the cell; absent in the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_previous: Option<Difference>,
}

fn is_settled<S: Serializer>(level: &LevelHeld, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*level > LevelHeld::Unsettled)
}

impl CellFigure {
    /// Whether every repetition held a level.
    pub fn is_settled(&self) -> bool {
        self.level > LevelHeld::Unsettled
    }

    /// The mean over the repetitions.
    pub fn mean(&self) -> f64 {
        mean(&self.repetitions)
    }

    /// The figure with its interval: a single measurement's own, or the one over the repetitions' means.
    pub fn estimate(&self) -> Estimate {
        match self.repetitions.as_slice() {
            [only] => *only,
            several => {
                stats::estimate_of_repetitions(&several.iter().map(|one| one.mean).collect::<Vec<_>>())
            }
        }
    }

    fn of(metric: Metric, point: &RepeatedPoint<'_>) -> Option<Self> {
        let repetitions = metric.estimates(point);
        let level = point.level_held();
        (!repetitions.is_empty()).then_some(Self {
            repetitions,
            level,
            against_first: None,
            against_previous: None,
        })
    }

    fn compared(&self) -> ComparedSide<'_> {
        ComparedSide { repetitions: &self.repetitions, level: self.level }
    }
}

impl RunSeries {
    /// Compares two or more runs in the given order.
    pub fn of(runs: &[&Document], choice: &CompareOptions) -> Self {
        let points: Vec<_> = runs.iter().map(|run| matching::points(run)).collect();
        let points = matching::matched(&points);
        let mut cells: Vec<CellSeries> = points
            .iter()
            .flat_map(|point| cells_of(point, choice))
            .filter(|cell| cell.figures.iter().flatten().count() > 1)
            .collect();
        adjust(&mut cells);
        let significance = stats::SIGNIFICANCE / cells.len().max(1) as f64;
        cells.iter_mut().for_each(|cell| cell.changes = cell.level_changes(significance));
        let count = |is: fn(&Difference) -> bool| {
            cells.iter().filter_map(CellSeries::last_against_first).filter(|one| is(one)).count() as u64
        };
        let regressions = count(|difference| difference.regression);
        let unconfirmed_regressions = count(|difference| difference.unconfirmed_regression);
        let summary = summary(&cells, runs.len());
        Self {
            runs: runs.iter().map(|run| side(run)).collect(),
            threshold: choice.threshold,
            changed: differences::changed(runs, &points),
            warnings: differences::warnings(runs, &points),
            cells,
            summary,
            regressions,
            unconfirmed_regressions,
        }
    }

    /// The comparison as JSON, conforming to `schemas/run-series.schema.json`.
    pub fn json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["schema"] = "manometer.run-series".into();
        value["schema_version"] = 1.into();
        value
    }

    /// The comparison for a terminal of this many columns.
    pub fn text(&self, width: Option<u16>) -> String {
        let width = width.map_or(LOG_WIDTH, usize::from);
        let runs = self.runs.iter().enumerate();
        let named =
            runs.map(|(n, run)| format!("{} {} {}", label(n), text::plain(&run.id), text::plain(&run.name)));
        let mut out = paragraph(&named.collect::<Vec<_>>().join(", "), width, "", "  ");
        for change in &self.changed {
            out.push_str(&paragraph(change, width, "", "  "));
        }
        for cell in &self.cells {
            let _ = write!(out, "\n{}", paragraph(&cell.title(), width, "", "  "));
            let table = FittedTable::of(columns(), self.rows(cell));
            out.push_str(&table.text(width, "  "));
            for line in cell.lines() {
                out.push_str(&paragraph(&line, width, "  ", "    "));
            }
        }
        for warning in &self.warnings {
            out.push_str(&paragraph(&format!("warning: {warning}"), width, "", "  "));
        }
        let _ = write!(out, "\n{}", paragraph(&self.summary, width, "", "  "));
        out
    }

    /// The comparison as a page.
    pub fn html(&self) -> String {
        super::series_html::html(self)
    }

    /// The comparison as Markdown, for a merge request.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", text::cell_text(&self.summary));
        for (n, run) in self.runs.iter().enumerate() {
            let (id, name) = (text::cell_text(&run.id), text::cell_text(&run.name));
            let _ = writeln!(out, "- {}: {id} {name}, {}", label(n), run.started);
        }
        for cell in &self.cells {
            let titles: Vec<_> = TITLES.iter().map(|(title, ..)| *title).collect();
            let _ = writeln!(
                out,
                "\n{}\n\n| {} |\n|---|---|--:|---|---|",
                text::cell_text(&cell.title()),
                titles.join(" | ")
            );
            for row in self.rows(cell) {
                let texts: Vec<_> = row.iter().map(|one| text::cell_text(one)).collect();
                let _ = writeln!(out, "| {} |", texts.join(" | "));
            }
            for line in cell.lines() {
                let _ = writeln!(out, "\n{}", text::cell_text(&line));
            }
        }
        let notes: Vec<_> = self.changed.iter().chain(&self.warnings).collect();
        if !notes.is_empty() {
            out.push('\n');
            notes.iter().for_each(|note| out.push_str(&format!("- {}\n", text::cell_text(note))));
        }
        out
    }

    /// A row for each run that has the cell.
    fn rows(&self, cell: &CellSeries) -> Vec<Vec<String>> {
        let runs = self.runs.iter().zip(&cell.figures).enumerate();
        runs.filter_map(|(n, (run, figure))| {
            let figure = figure.as_ref()?;
            let against = |difference: &Option<Difference>| match difference {
                Some(one) if one.call == Call::NotComparable => one.call.to_string(),
                Some(one) => format!("{} {}", text::notation(one)(one.relative), one.call),
                None => String::new(),
            };
            let unsteady = if figure.is_settled() { "" } else { " (not steady)" };
            Some(vec![
                label(n),
                run.started.strftime("%Y-%m-%d %H:%M").to_string(),
                format!("{}{unsteady}", cell.of.unit().text(figure.mean())),
                against(&figure.against_first),
                against(&figure.against_previous),
            ])
        })
        .collect()
    }
}

/// Title, rank, and whether it is right-aligned.
const TITLES: [(&str, u8, bool); 5] = [
    ("", 0, false),
    ("started, UTC", 1, false),
    ("figure", 0, true),
    ("against the first", 0, false),
    ("against the one before", 2, false),
];

fn columns() -> Vec<TableColumn> {
    let column = |(title, rank, right): &(&str, u8, bool)| match right {
        true => TableColumn::right(*title).rank(*rank),
        false => TableColumn::left(*title).rank(*rank),
    };
    TITLES.iter().map(column).collect()
}

impl CellSeries {
    /// How the last run differs from the first that has the cell.
    fn last_against_first(&self) -> Option<&Difference> {
        self.figures.last()?.as_ref()?.against_first.as_ref()
    }

    pub(super) fn title(&self) -> String {
        format!("{} on {}: {}", self.cell, self.target, self.metric)
    }

    /// What its figures say together: where the level changed, and the trend.
    pub(super) fn lines(&self) -> Vec<String> {
        let changes = self.changes.iter().map(|found| {
            let LevelChange { run, relative, low, high, p_value } = found.change;
            format!(
                "level since {}: {} [{} to {}], p {}: {}",
                label(run),
                text::percent(relative),
                text::percent(low),
                text::percent(high),
                text::p_value(p_value),
                found.call
            )
        });
        changes.chain(self.trend_text().map(|trend| format!("trend: {trend}"))).collect()
    }

    fn level_changes(&self, significance: f64) -> Vec<CellChange> {
        let (runs, figures): (Vec<usize>, Vec<Estimate>) = self
            .figures
            .iter()
            .enumerate()
            .filter_map(|(run, figure)| Some((run, figure.as_ref()?.estimate())))
            .unzip();
        let change = |change: LevelChange| {
            let higher_is_better = self.of.better() == Better::Higher;
            let call = if (change.relative > 0.0) == higher_is_better { Call::Better } else { Call::Worse };
            CellChange { change: LevelChange { run: runs[change.run], ..change }, call }
        };
        stats::level_changes(&figures, significance).into_iter().map(change).collect()
    }

    /// `−0.8 % a run [−1.1 % to −0.5 %], p <0.001: it falls`; `None` if there are too few runs.
    fn trend_text(&self) -> Option<String> {
        let (trend, p) = (self.trend?, self.trend_adjusted_p_value?);
        let word = match (p < stats::SIGNIFICANCE, trend.per_run > 0.0) {
            (false, _) => "none is shown",
            (true, true) => "it rises",
            (true, false) => "it falls",
        };
        Some(format!(
            "{} a run [{} to {}], p {}: {word}",
            text::percent(trend.per_run),
            text::percent(trend.low),
            text::percent(trend.high),
            text::p_value(p)
        ))
    }
}

/// Compares a point's metrics.
fn cells_of(point: &MatchedPoint<'_>, choice: &CompareOptions) -> Vec<CellSeries> {
    let Some(first) = point.of_runs.iter().flatten().next() else { return Vec::new() };
    let of_metric = |metric: Metric| {
        let mut figures: Vec<Option<CellFigure>> =
            point.of_runs.iter().map(|own| CellFigure::of(metric, own.as_ref()?)).collect();
        let there: Vec<usize> = (0..figures.len()).filter(|n| figures[*n].is_some()).collect();
        let against = |figures: &[Option<CellFigure>], before: usize, n: usize| {
            let (a, b) = (figures[before].as_ref()?, figures[n].as_ref()?);
            Some(stats::compare(&a.compared(), &b.compared(), metric.better(), choice.threshold))
        };
        for pair in there.windows(2) {
            let (to_first, to_previous) =
                (against(&figures, there[0], pair[1]), against(&figures, pair[0], pair[1]));
            if let Some(figure) = &mut figures[pair[1]] {
                (figure.against_first, figure.against_previous) = (to_first, to_previous);
            }
        }
        let of_runs: Vec<Estimate> = figures.iter().flatten().map(CellFigure::estimate).collect();
        let trend = stats::run_trend(&of_runs);
        CellSeries {
            cell: point.cell.clone(),
            target: point.target.clone(),
            metric: metric.to_string(),
            figures,
            trend,
            trend_adjusted_p_value: trend.map(|trend| trend.p_value),
            changes: Vec::new(),
            of: metric,
        }
    };
    choice.metrics_of(first).into_iter().map(of_metric).collect()
}

/// Adjusts for the number of comparisons: all runs with the first, all with the previous one, and all trends.
fn adjust(cells: &mut [CellSeries]) {
    for of in [
        (|figure| figure.against_first.as_mut()) as fn(&mut CellFigure) -> Option<&mut Difference>,
        |figure| figure.against_previous.as_mut(),
    ] {
        let figures = cells.iter_mut().flat_map(|cell| cell.figures.iter_mut().flatten());
        super::holm::take_back(figures.filter_map(of));
    }
    let mut trends: Vec<&mut f64> =
        cells.iter_mut().filter_map(|cell| cell.trend_adjusted_p_value.as_mut()).collect();
    let plain: Vec<f64> = trends.iter().map(|p| **p).collect();
    for (p, adjusted) in trends.iter_mut().zip(stats::holm(&plain)) {
        **p = adjusted;
    }
}

/// The result, in one line.
fn summary(cells: &[CellSeries], runs: usize) -> String {
    if cells.is_empty() {
        return "nothing to compare: the runs have no cell in common that two of them measured".into();
    }
    let last = |call: Call| {
        let of_last = cells.iter().filter_map(CellSeries::last_against_first);
        of_last.filter(|difference| difference.call == call).count()
    };
    let of = |count: usize| match cells.len() {
        1 => String::new(),
        all => format!(" in {count} of {all} comparisons"),
    };
    let name = label(runs - 1);
    let mut parts = Vec::new();
    for (call, word) in [(Call::Worse, "is worse"), (Call::Better, "is better")] {
        if last(call) > 0 {
            parts.push(format!("{name} {word} than A{}", of(last(call))));
        }
    }
    for (call, word) in [(Call::UnconfirmedWorse, "was worse"), (Call::UnconfirmedBetter, "was better")] {
        if last(call) > 0 {
            parts.push(format!("{name} {word} than A{}, unconfirmed: {}", of(last(call)), text::CONFIRM));
        }
    }
    if parts.is_empty() {
        parts.push(format!("{name} does not differ from A"));
    }
    let trends = |rises: bool| {
        let shown = |cell: &&CellSeries| {
            let p = cell.trend_adjusted_p_value.unwrap_or(1.0);
            p < stats::SIGNIFICANCE && cell.trend.is_some_and(|trend| (trend.per_run > 0.0) == rises)
        };
        cells.iter().filter(shown).count()
    };
    for (rises, word) in [(false, "falls"), (true, "rises")] {
        if trends(rises) > 0 {
            parts.push(format!("a figure {word} from run to run{}", of(trends(rises))));
        }
    }
    let changed = |call: Call| {
        cells.iter().filter(|cell| cell.changes.iter().any(|change| change.call == call)).count()
    };
    for (call, word) in [(Call::Worse, "worse"), (Call::Better, "better")] {
        if changed(call) > 0 {
            parts.push(format!("a level got {word}{}", of(changed(call))));
        }
    }
    parts.join("; ")
}
