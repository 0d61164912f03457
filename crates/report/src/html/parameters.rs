//! What a plan crossed: the parameters of cells, their values in order, and which cells may be compared.

use std::collections::BTreeMap;

use units::{OpRate, Size, Span};

use crate::Document;

/// A cell that measured something: its parameters, and where it is in the document.
pub struct CrossedCell<'a> {
    /// The crossed parameters and this cell's values.
    pub point: &'a BTreeMap<String, String>,
    /// Its place among the document's cells.
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

/// A parameter with more than one value, and these in order.
pub struct Crossed<'a> {
    /// Its name in the plan.
    pub name: &'a str,
    /// In the order of what they mean, or else in that of the plan.
    pub values: Vec<&'a str>,
}

impl Crossed<'_> {
    /// The values as numbers, when all of them are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }
}

impl<'a> Group<'a> {
    /// The parameters that were crossed.
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

/// The cells that measured something, by workload and target, in the order of the plan.
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

/// What a value means as a number: a count, a size in bytes, a time in nanoseconds, a rate a second.
fn number(text: &str) -> Option<f64> {
    let size = || text.parse::<Size>().ok().map(|size| size.0 as f64);
    let span = || text.parse::<Span>().ok().map(|span| span.nanos() as f64);
    let rate = || text.parse::<OpRate>().ok().map(|rate| rate.0);
    text.parse::<f64>().ok().filter(|number| number.is_finite()).or_else(size).or_else(span).or_else(rate)
}
