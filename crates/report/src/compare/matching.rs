//! Which cells of two runs are the same: those of the same workload, target and point. Repetitions belong together.

use std::collections::BTreeMap;

use experiment::Cell;
use store::CellResult;

use crate::{CellView, Document};

/// What makes a cell the same in two runs.
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
    /// Where the first of them stands in the plan.
    pub first: usize,
    /// What the plan says of the first.
    pub planned: &'a Cell,
    /// The first of them, as it is shown.
    pub view: &'a CellView,
    /// Their results.
    pub results: Vec<&'a CellResult>,
}

impl RepeatedPoint<'_> {
    /// Every repetition kept one level.
    pub fn settled(&self) -> bool {
        self.results.iter().all(|result| result.steady.settled())
    }
}

impl Key {
    /// That of a cell.
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

    /// Workload, point and target.
    pub fn text(&self) -> String {
        format!("{} on {}", self.cell(), self.target)
    }
}

/// The points of a run that have results.
pub fn groups(document: &Document) -> BTreeMap<Key, RepeatedPoint<'_>> {
    let mut groups: BTreeMap<Key, RepeatedPoint<'_>> = BTreeMap::new();
    for (first, (planned, view, result)) in document.measured().enumerate() {
        let key = Key::of(planned);
        let new = RepeatedPoint { first, planned, view, results: Vec::new() };
        groups.entry(key).or_insert(new).results.push(result);
    }
    groups
}
