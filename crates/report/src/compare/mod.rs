//! Compares runs cell by cell: the difference, its confidence interval, and whether it is significant; for more than
//! two runs also the trend.

mod differences;
mod holm;
mod host_table;
mod hosts;
mod html;
mod matching;
mod metric;
mod procedures;
mod series;
mod series_html;
mod text;

pub use hosts::HostComparison;
pub use metric::{Figure, Metric, MetricError};
pub use series::{CellFigure, CellSeries, RunSeries};

use std::collections::btree_map::Entry;

use jiff::Timestamp;
use serde::Serialize;
use stats::{ComparedSide, Difference, Estimate};

use crate::Document;
use matching::{Key, MatchedPoint, Points, RepeatedPoint};

/// What to compare, and what counts as a regression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// The metrics; if empty, each cell's main metric, the 99th percentile where a rate was given, else the throughput, and
    /// the entries per second of operations that list.
    pub metrics: Vec<Metric>,
    /// A cell that is worse by more than this share is a regression; 0: any significant worsening is.
    pub threshold: f64,
}

impl CompareOptions {
    /// The metrics to compare for a point.
    fn metrics_of(&self, point: &RepeatedPoint<'_>) -> Vec<Metric> {
        if self.metrics.is_empty() { Metric::usual(point) } else { self.metrics.clone() }
    }
}

/// The label of the n-th run, counted from 0: A to Z, then AA.
fn label(n: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(n % 26).unwrap_or_default());
    match n / 26 {
        0 => letter.to_string(),
        more => format!("{}{letter}", label(more - 1)),
    }
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Its id.
    pub id: String,
    /// Its experiment's name.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    /// The version of manometer.
    pub version: String,
    /// Its baseline name, if it was selected as a baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// The reference run.
    pub a: Side,
    /// The run under test.
    pub b: Side,
    /// A cell that is worse by more than this share is a regression.
    pub threshold: f64,
    /// Each point and metric that both runs have.
    pub cells: Vec<CellComparison>,
    /// Points that have results only in the first run.
    pub only_a: Vec<String>,
    /// Points that have results only in the second run.
    pub only_b: Vec<String>,
    /// Settings that differ between the runs, one per line.
    pub changed: Vec<String>,
    /// Other differences, and reasons to doubt a figure, one per line.
    pub warnings: Vec<String>,
    /// Better, worse or no difference, in one line.
    pub summary: String,
    /// Cells that are worse by more than the threshold.
    pub regressions: u64,
    /// Cells that were worse by more than the threshold, which single runs cannot confirm.
    pub unconfirmed_regressions: u64,
}

/// One point and one metric of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellComparison {
    /// Workload and point.
    pub cell: String,
    /// The target's name.
    pub target: String,
    /// The metric: `bandwidth`, `read.p99`.
    pub metric: String,
    /// The first run's figures, one per repetition.
    pub a: Vec<Estimate>,
    /// The second run's figures, one per repetition.
    pub b: Vec<Estimate>,
    /// Every measurement of both runs was steady.
    pub steady: bool,
    /// The difference, tested alone.
    pub difference: Difference,
    /// The p-value adjusted for the number of comparisons (Holm 1979); it decides the call.
    pub adjusted_p_value: f64,
    /// The hosts of a fleet, if both runs have the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostComparison>,
    /// Which hosts changed when the others did not, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_change: Option<String>,
    /// Its metric.
    #[serde(skip)]
    pub of: Metric,
}

impl CellComparison {
    /// Whether a planned cell is among those compared here.
    pub fn is_of(&self, planned: &experiment::Cell) -> bool {
        let key = Key::of(planned);
        (self.cell.as_str(), self.target.as_str()) == (key.cell().as_str(), key.target.as_str())
    }

    /// The difference with its interval, and the call: `−1.7 % [−2.6 % to −0.8 %], worse`.
    pub fn difference_text(&self) -> String {
        format!("{}, {}", text::difference(self), self.difference.call)
    }

    /// The first run's figure: the mean over its repetitions.
    pub fn a_mean(&self) -> f64 {
        mean(&self.a)
    }

    /// The second run's figure.
    pub fn b_mean(&self) -> f64 {
        mean(&self.b)
    }
}

fn mean(estimates: &[Estimate]) -> f64 {
    estimates.iter().map(|estimate| estimate.mean).sum::<f64>() / estimates.len().max(1) as f64
}

impl RunComparison {
    /// Compares `b` with `a`.
    pub fn of(a: &Document, b: &Document, choice: &CompareOptions) -> Self {
        Self::of_points(a, matching::points(a), b, choice)
    }

    /// Compares a run with several earlier ones of the same experiment, oldest first: their measurements of a cell count as its
    /// repetitions, so that the spread between runs decides what is significant. The last one is shown as the reference.
    /// `None` without an earlier run.
    pub fn with_history(earlier: &[&Document], run: &Document, choice: &CompareOptions) -> Option<Self> {
        let (last, before) = earlier.split_last()?;
        let mut pooled = matching::points(last);
        for (key, point) in before.iter().flat_map(|document| matching::points(document)) {
            match pooled.entry(key) {
                Entry::Occupied(mut known) => known.get_mut().results.extend(point.results),
                Entry::Vacant(new) => drop(new.insert(point)),
            }
        }
        Some(Self::of_points(last, pooled, run, choice))
    }

    fn of_points<'a>(a: &'a Document, of_a: Points<'a>, b: &'a Document, choice: &CompareOptions) -> Self {
        let points = matching::matched(&[of_a, matching::points(b)]);
        let changed = differences::changed(&[a, b], &points);
        let mut warnings = differences::warnings(&[a, b], &points);
        let mut cells = Vec::new();
        for (matched, (a, b)) in points.iter().filter_map(|point| Some((point, point.both()?))) {
            cells.extend(cell(matched, a, b, choice, &mut warnings));
        }
        holm::adjust(&mut cells);
        hosts::adjust(&mut cells);
        cells.iter_mut().for_each(|cell| cell.host_change = hosts::line(&cell.hosts));
        let summary = text::summary(&cells, choice.threshold);
        let count =
            |is: fn(&Difference) -> bool| cells.iter().filter(|cell| is(&cell.difference)).count() as u64;
        let regressions = count(|difference| difference.regression);
        let unconfirmed_regressions = count(|difference| difference.unconfirmed_regression);
        let only = |n: usize| {
            let alone = points.iter().filter(|point| point.both().is_none() && point.of_runs[n].is_some());
            alone.map(MatchedPoint::text).collect()
        };
        Self {
            a: side(a),
            b: side(b),
            threshold: choice.threshold,
            only_a: only(0),
            only_b: only(1),
            cells,
            changed,
            warnings,
            summary,
            regressions,
            unconfirmed_regressions,
        }
    }

    /// Marks the first run as a baseline with this name.
    #[must_use]
    pub fn with_baseline(mut self, name: &str) -> Self {
        self.a.baseline = Some(name.to_owned());
        self
    }

    /// The comparison as JSON, conforming to `schemas/comparison.schema.json`.
    pub fn json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["schema"] = "manometer.comparison".into();
        value["schema_version"] = 1.into();
        value
    }

    /// The comparison for a terminal of this many columns.
    pub fn text(&self, width: Option<u16>) -> String {
        text::text(self, width)
    }

    /// The comparison as Markdown, for a merge request.
    pub fn markdown(&self) -> String {
        text::markdown(self)
    }

    /// The comparison as a page with both runs' latency curves overlaid.
    pub fn html(&self, a: &Document, b: &Document) -> String {
        html::html(self, a, b)
    }
}

fn side(document: &Document) -> Side {
    let run = &document.run;
    Side {
        id: run.id.clone(),
        name: run.name.clone(),
        started: run.started,
        version: run.version.clone(),
        baseline: None,
    }
}

/// Compares a point's metrics.
fn cell(
    matched: &MatchedPoint<'_>,
    a: &RepeatedPoint<'_>,
    b: &RepeatedPoint<'_>,
    choice: &CompareOptions,
    warnings: &mut Vec<String>,
) -> Vec<CellComparison> {
    let mut out = Vec::new();
    for metric in choice.metrics_of(a) {
        let (of_a, of_b) = (metric.estimates(a), metric.estimates(b));
        if of_a.is_empty() || of_b.is_empty() {
            warnings.push(format!("{}: {metric} was not measured in both runs", matched.text()));
            continue;
        }
        let difference = stats::compare(
            &ComparedSide { repetitions: &of_a, level: a.level_held() },
            &ComparedSide { repetitions: &of_b, level: b.level_held() },
            metric.better(),
            choice.threshold,
        );
        let adjusted_p_value = difference.p_value;
        let comparison = CellComparison {
            cell: matched.cell.clone(),
            target: matched.target.clone(),
            metric: metric.to_string(),
            steady: a.results.iter().chain(&b.results).all(|result| result.steady.reached),
            a: of_a,
            b: of_b,
            difference,
            adjusted_p_value,
            hosts: hosts::of(metric, a, b, choice.threshold),
            host_change: None,
            of: metric,
        };
        out.push(comparison);
    }
    out
}
