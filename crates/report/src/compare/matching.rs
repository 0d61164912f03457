//! Matches cells across runs: cells with the same workload, target and point, or, where targets differ, the same
//! workload and point. Repetitions are pooled.

use std::collections::BTreeMap;

use experiment::Cell;
use stats::LevelHeld;
use store::CellResult;

use crate::{CellView, Document};

/// Identifies a cell across runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The workload's name.
    pub workload: String,
    /// The crossed parameters.
    pub point: BTreeMap<String, String>,
    /// The target's name.
    pub target: String,
}

/// The repetitions of a point.
#[derive(Clone, Debug)]
pub struct RepeatedPoint<'a> {
    /// Index of the first one in the plan.
    pub first: usize,
    /// The first one as planned.
    pub planned: &'a Cell,
    /// The first one as displayed.
    pub view: &'a CellView,
    /// Their results.
    pub results: Vec<&'a CellResult>,
}

/// The points of a run that have results.
pub type Points<'a> = BTreeMap<Key, RepeatedPoint<'a>>;

/// Points of several runs that match.
#[derive(Clone, Debug)]
pub struct MatchedPoint<'a> {
    /// Workload and point; if they differ, those of each run: `read queue_depth=1 → read queue_depth=16`.
    pub cell: String,
    /// The target's name, or that of each run.
    pub target: String,
    /// Each run's point; `None` if the run has no result for it.
    pub of_runs: Vec<Option<RepeatedPoint<'a>>>,
}

impl RepeatedPoint<'_> {
    /// The least that a repetition held its level.
    pub fn level_held(&self) -> LevelHeld {
        let held = self.results.iter().map(|result| result.steady.level_held());
        held.min().unwrap_or(LevelHeld::Unsettled)
    }
}

impl<'a> MatchedPoint<'a> {
    /// The two points of a two-run match.
    pub fn both(&self) -> Option<(&RepeatedPoint<'a>, &RepeatedPoint<'a>)> {
        match self.of_runs.as_slice() {
            [Some(a), Some(b)] => Some((a, b)),
            _ => None,
        }
    }

    /// Index of the first of its points in a plan.
    pub fn first(&self) -> usize {
        self.of_runs.iter().flatten().map(|point| point.first).min().unwrap_or(0)
    }

    /// Workload, point and target.
    pub fn text(&self) -> String {
        format!("{} on {}", self.cell, self.target)
    }
}

impl Key {
    /// The key of a cell.
    pub fn of(planned: &Cell) -> Self {
        Self {
            workload: planned.workload_name.clone(),
            point: planned.point.clone(),
            target: planned.target.name.clone(),
        }
    }

    /// Workload and point.
    pub fn cell(&self) -> String {
        let mut text = self.workload.clone();
        for (name, value) in &self.point {
            text.push_str(&format!(" {name}={value}"));
        }
        text
    }
}

/// The points of a run that have results.
pub fn points(document: &Document) -> Points<'_> {
    let mut points = Points::new();
    for (first, (planned, view, result)) in document.measured().enumerate() {
        let new = RepeatedPoint { first, planned, view, results: Vec::new() };
        points.entry(Key::of(planned)).or_insert(new).results.push(result);
    }
    points
}

/// The matches, in plan order.
///
/// Points with the same workload, point and target match first. Remaining points match across targets if their workload
/// and point occur at most once per run. Runs with a single point each are always compared.
pub fn matched<'a>(runs: &[Points<'a>]) -> Vec<MatchedPoint<'a>> {
    let mut rows: BTreeMap<Key, Vec<Option<(Key, RepeatedPoint<'a>)>>> = BTreeMap::new();
    for (n, points) in runs.iter().enumerate() {
        for (key, point) in points {
            let row = rows.entry(key.clone()).or_insert_with(|| vec![None; runs.len()]);
            row[n] = Some((key.clone(), point.clone()));
        }
    }
    let (whole, parts): (Vec<_>, Vec<_>) =
        rows.into_values().partition(|row| row.iter().all(Option::is_some));
    let same_but_target = |a: &Key, b: &Key| (&a.workload, &a.point) == (&b.workload, &b.point);
    let mut rows = whole;
    rows.extend(joined(parts, same_but_target));
    if runs.iter().all(|points| points.len() == 1) {
        rows = joined(rows, |_, _| true);
    }
    let mut rows: Vec<MatchedPoint<'a>> = rows.into_iter().map(named).collect();
    rows.sort_by_key(MatchedPoint::first);
    rows
}

type Row<'a> = Vec<Option<(Key, RepeatedPoint<'a>)>>;

/// Joins rows that are alike, where no run has more than one of them.
fn joined<'a>(rows: Vec<Row<'a>>, alike: impl Fn(&Key, &Key) -> bool) -> Vec<Row<'a>> {
    let key = |row: &Row<'_>| row.iter().flatten().next().map(|(key, _)| key.clone());
    let mut sets: Vec<Vec<Row<'a>>> = Vec::new();
    for row in rows {
        let Some(own) = key(&row) else { continue };
        match sets.iter_mut().find(|set| key(&set[0]).is_some_and(|other| alike(&own, &other))) {
            Some(set) => set.push(row),
            None => sets.push(vec![row]),
        }
    }
    sets.into_iter().flat_map(join).collect()
}

/// Joins rows into one, if no run has more than one of them.
fn join(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let runs = rows[0].len();
    let alone = (0..runs).all(|n| rows.iter().filter(|row| row[n].is_some()).count() <= 1);
    match alone {
        true => vec![(0..runs).map(|n| rows.iter().find_map(|row| row[n].clone())).collect()],
        false => rows,
    }
}

fn named(row: Row<'_>) -> MatchedPoint<'_> {
    let each = |of: fn(&Key) -> String| {
        let mut texts: Vec<String> = row.iter().flatten().map(|(key, _)| of(key)).collect();
        texts.dedup();
        texts.join(" → ")
    };
    MatchedPoint {
        cell: each(Key::cell),
        target: each(|key| key.target.clone()),
        of_runs: row.iter().map(|place| place.as_ref().map(|(_, point)| point.clone())).collect(),
    }
}
