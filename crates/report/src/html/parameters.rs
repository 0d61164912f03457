//! The crossed parameters of a plan: their values in order, and which cells are comparable.

use std::collections::BTreeMap;

use units::{OpRate, Size, Span};

use crate::Document;

/// A measured cell: its parameters, and its index in the document.
pub struct CrossedCell<'a> {
    /// The crossed parameters and this cell's values.
    pub point: &'a BTreeMap<String, String>,
    /// Its index among the document's cells.
    pub position: usize,
}

/// Cells of one workload on one target: only these are compared with each other.
pub struct Group<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// The target's name.
    pub target: &'a str,
    /// The cells.
    pub places: Vec<CrossedCell<'a>>,
}

/// A parameter with more than one value, and its values in order.
pub struct Crossed<'a> {
    /// Its name in the plan.
    pub name: &'a str,
    /// In order of meaning, else in plan order.
    pub values: Vec<&'a str>,
}

impl Crossed<'_> {
    /// The values as numbers, if all of them are numeric.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }
}

impl<'a> Group<'a> {
    /// The crossed parameters.
    pub fn crossed(&self) -> Vec<Crossed<'a>> {
        let point = self.places.first().map(|place| place.point);
        let all = point.into_iter().flat_map(|point| point.keys());
        all.map(|name| Crossed { name, values: self.values(name) })
            .filter(|crossed| crossed.values.len() > 1)
            .collect()
    }

    fn values(&self, name: &str) -> Vec<&'a str> {
        let mut values: Vec<&str> = Vec::new();
        for place in &self.places {
            if let Some(value) = place.point.get(name).filter(|value| !values.contains(&value.as_str())) {
                values.push(value);
            }
        }
        if values.iter().all(|value| number(value).is_some()) {
            values.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
        }
        values
    }
}

/// The measured cells by workload and target, in plan order.
pub fn groups(document: &Document) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (position, view) in document.cells.iter().enumerate() {
        let (Some(cell), Some(_)) = (document.planned(view.record.index), &view.record.result) else {
            continue;
        };
        let (workload, target) = (cell.workload_name.as_str(), cell.target.name.as_str());
        let place = CrossedCell { point: &cell.point, position };
        match groups.iter_mut().find(|group| (group.workload, group.target) == (workload, target)) {
            Some(group) => group.places.push(place),
            None => groups.push(Group { workload, target, places: vec![place] }),
        }
    }
    groups
}

/// A value as a number: a count, a size in bytes, a time in nanoseconds, a rate per second.
fn number(text: &str) -> Option<f64> {
    let size = || text.parse::<Size>().ok().map(|size| size.0 as f64);
    let span = || text.parse::<Span>().ok().map(|span| span.nanos() as f64);
    let rate = || text.parse::<OpRate>().ok().map(|rate| rate.0);
    text.parse::<f64>().ok().filter(|number| number.is_finite()).or_else(size).or_else(span).or_else(rate)
}
