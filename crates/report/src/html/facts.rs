//! Facts about the target and the client in plain words, each once: facts that all cells share together, the others
//! with their cell.

use std::collections::BTreeSet;

use units::Size;

use super::details::{table, text};
use super::figure::Figures;
use crate::Document;
use crate::figures::FigureUnit;

/// A fact as a row of a table.
struct Fact {
    name: String,
    /// As HTML.
    value: String,
    /// The value compared between cells.
    raw: String,
}

/// Plain names for keys that say too little by themselves.
const NAMES: [(&str, &str); 9] = [
    ("cpu.busiest", "busiest core"),
    ("cpu.mean", "all cores"),
    ("cpu.steal", "most taken by the hypervisor"),
    ("cpu.workers", "busiest worker"),
    ("cpu.workers.total", "all workers, in cores"),
    ("abandoned", "operations given up at the end"),
    ("start-skew", "hosts started within"),
    ("start-skew.core-wait", "late start: waited for a core"),
    ("unseen-intervals", "intervals without a look at the host"),
];

/// Key suffixes that name a unit, which the value then carries.
const UNITS: [(&str, FigureUnit); 3] =
    [("bytes-per-s", FigureUnit::BytesPerS), ("bytes", FigureUnit::Bytes), ("ns", FigureUnit::Ns)];

/// A key without its unit, and the unit.
fn unit_of(key: &str) -> (&str, Option<FigureUnit>) {
    let of = UNITS.iter().find_map(|(end, unit)| {
        let name = key.strip_suffix(end)?;
        let name = name.strip_suffix(['.', ' ', '-'])?;
        Some((name, Some(*unit)))
    });
    of.unwrap_or((key, None))
}

/// A key in words: `start-skew.uncertainty.ns` is `start skew uncertainty`.
pub fn name(key: &str) -> String {
    let (key, _) = unit_of(key);
    match NAMES.iter().find(|(known, _)| *known == key) {
        Some((_, words)) => (*words).to_owned(),
        None => key.replace(['.', '-', '_'], " "),
    }
}

/// The value of a fact stored as text: sizes get a unit.
pub fn value(key: &str, value: &str) -> String {
    match (unit_of(key), value.parse::<u64>()) {
        ((_, Some(FigureUnit::Bytes)), Ok(bytes)) => Size(bytes).to_string(),
        _ => value.to_owned(),
    }
}

fn of_cell(document: &Document, position: usize, figures: &Figures<'_>) -> Vec<Fact> {
    let Some(result) = &document.cells[position].record.result else { return Vec::new() };
    let cache = Fact { name: "cache".into(), value: text(&result.cache), raw: result.cache.clone() };
    let target = result.target.iter().map(|(key, stored)| Fact {
        name: name(key),
        value: text(&value(key, stored)),
        raw: stored.clone(),
    });
    let client = result.client.iter().map(|(key, number)| {
        let path = format!("/cells/{position}/result/client/{}", key.replace('~', "~0").replace('/', "~1"));
        let share = key.starts_with("cpu.") && (0.0..=1.0).contains(number);
        let (_, unit) = unit_of(key);
        let value = match unit {
            _ if share => figures.get(&path, FigureUnit::Percent),
            None if key.ends_with(".us") => format!("{} µs", figures.get(&path, FigureUnit::Plain)),
            unit => figures.get(&path, unit.unwrap_or(FigureUnit::Plain)),
        };
        Fact { name: name(key.strip_suffix(".us").unwrap_or(key)), value, raw: number.to_string() }
    });
    let mut seen = BTreeSet::new();
    // Some facts occur under two keys.
    std::iter::once(cache)
        .chain(target)
        .chain(client)
        .filter(|fact| seen.insert((fact.name.clone(), fact.raw.clone())))
        .collect()
}

/// Facts that are the same in every measured cell; empty for a single cell.
fn shared(document: &Document, figures: &Figures<'_>) -> Vec<Fact> {
    let mut cells = (0..document.cells.len()).filter(|at| document.cells[*at].record.result.is_some());
    let Some(first) = cells.next() else { return Vec::new() };
    let mut facts = of_cell(document, first, figures);
    let mut others = 0;
    for cell in cells {
        let of_cell = of_cell(document, cell, figures);
        facts.retain(|fact| of_cell.iter().any(|other| (&other.name, &other.raw) == (&fact.name, &fact.raw)));
        others += 1;
    }
    if others == 0 { Vec::new() } else { facts }
}

/// The facts of the whole run, for its environment section, and their names.
#[derive(Default)]
pub struct SharedFacts {
    /// A folded table; empty if the cells share nothing.
    pub table: String,
    names: BTreeSet<String>,
}

impl SharedFacts {
    /// The facts that all cells share.
    pub fn of(document: &Document, figures: &Figures<'_>) -> Self {
        let facts = shared(document, figures);
        let names = facts.iter().map(|fact| fact.name.clone()).collect();
        let table = match facts.is_empty() {
            true => String::new(),
            false => format!(
                "<details class=\"facts\"><summary>Facts of target and client that are the same in every cell</summary>{}</details>",
                rows("The same in every cell", facts)
            ),
        };
        Self { table, names }
    }

    /// A cell's own facts, folded.
    pub fn of_cell(&self, document: &Document, position: usize, figures: &Figures<'_>) -> String {
        let own = of_cell(document, position, figures);
        let own: Vec<Fact> = own.into_iter().filter(|fact| !self.names.contains(&fact.name)).collect();
        if own.is_empty() {
            return String::new();
        }
        let rest = match self.names.is_empty() {
            true => "",
            false => "<p class=\"quiet\"><a href=\"#environment\">What is the same in every cell</a></p>",
        };
        format!(
            "<details class=\"facts\"><summary>All facts of target and client</summary>{}{rest}</details>",
            rows("Target and client", own)
        )
    }
}

fn rows(caption: &str, facts: Vec<Fact>) -> String {
    let rows: Vec<Vec<String>> = facts.into_iter().map(|fact| vec![text(&fact.name), fact.value]).collect();
    table(caption, &["", ""], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_words_and_sizes_get_their_unit() {
        assert_eq!(name("start-skew.ns"), "hosts started within");
        assert_eq!(name("start-skew.uncertainty.ns"), "start skew uncertainty");
        assert_eq!(name("device largest request KiB"), "device largest request KiB");
        assert_eq!(name("alignment bytes"), "alignment");
        assert_eq!(value("alignment bytes", "4096"), "4KiB");
        assert_eq!(value("memory.bytes", "25276510208"), Size(25_276_510_208).to_string());
        assert_eq!((name("numa.nodes").as_str(), value("numa.nodes", "0").as_str()), ("numa nodes", "0"));
    }
}
