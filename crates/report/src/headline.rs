//! A run at a glance: its best figures, what limits them, and why some cells are doubtful.

use experiment::Cell;
use stats::Estimate;
use store::{CellRecord, CellResult, RunRecord, State, Validity};
use units::{ByteRate, OpRate, latency};

use crate::table::{FittedTable, TableColumn, paragraph};

/// A cell with the best value of some figure.
#[derive(Clone, Copy, Debug)]
pub struct BestCell<'a> {
    /// Its index among the given cells.
    pub position: usize,
    /// The cell as planned.
    pub planned: Option<&'a Cell>,
    /// Its result.
    pub result: &'a CellResult,
}

/// Why cells are not VALID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The worst verdict among the cells.
    pub validity: Validity,
    /// In one line.
    pub reason: String,
    /// The numbers of the cells, from 1.
    pub cells: Vec<u32>,
}

/// The best figures of a run's cells that are not INVALID (or of all measured cells, if every cell is INVALID), and
/// each reason for doubt once.
#[derive(Clone, Debug)]
pub struct Headline<'a> {
    /// The highest throughput.
    pub throughput: Option<BestCell<'a>>,
    /// The highest IOPS.
    pub iops: Option<BestCell<'a>>,
    /// The lowest 99th percentile of the response time.
    pub p99: Option<BestCell<'a>>,
    /// The reasons for WARN and INVALID, worst first.
    pub doubts: Vec<Doubt>,
}

impl<'a> Headline<'a> {
    /// For these cells, if more than one of them measured something: a single cell's own line says it all.
    pub fn of_several(run: &'a RunRecord, cells: &'a [CellRecord]) -> Option<Self> {
        let measured = cells.iter().filter(|record| record.result.is_some()).count();
        (measured > 1).then(|| Self::of(run, cells))
    }

    /// For these cells of a run.
    pub fn of(run: &'a RunRecord, cells: impl IntoIterator<Item = &'a CellRecord>) -> Self {
        let measured: Vec<(BestCell<'a>, &CellRecord)> = cells
            .into_iter()
            .enumerate()
            .filter_map(|(position, record)| {
                let planned = run.planned(record.index);
                Some((BestCell { position, planned, result: record.result.as_ref()? }, record))
            })
            .collect();
        let usable = |(cell, record): &&(BestCell<'_>, &CellRecord)| {
            record.state == State::Finished && cell.result.verdict.validity != Validity::Invalid
        };
        let some_usable = measured.iter().any(|cell| usable(&cell));
        let candidates =
            || measured.iter().filter(|cell| !some_usable || usable(cell)).map(|(cell, _)| *cell);
        let highest = |value: fn(&CellResult) -> f64| {
            let some = candidates().filter(|cell| value(cell.result) > 0.0);
            // Among equals, the first.
            some.reduce(|best, cell| if value(cell.result) > value(best.result) { cell } else { best })
        };
        let answered = |cell: &BestCell<'_>| cell.result.total.response.count > 0;
        Self {
            throughput: highest(|result| result.total.bytes_per_s.mean),
            iops: highest(|result| result.total.ops_per_s.mean),
            p99: candidates().filter(answered).min_by_key(|cell| cell.result.total.response.p99_ns),
            doubts: doubts(measured.iter().map(|(cell, record)| (record.index + 1, cell.result))),
        }
    }

    /// The best figures as a table, and each reason for doubt once, for people.
    pub fn text(&self, width: usize) -> String {
        let mut table = FittedTable::new(vec![
            TableColumn::left("best"),
            TableColumn::right("figure"),
            TableColumn::right("±").optional(),
            TableColumn::left("cell"),
            TableColumn::left("limited by").optional(),
        ]);
        let mut row =
            |title: &str, best: &Option<BestCell<'_>>, figure: fn(&CellResult) -> (String, String)| {
                let Some(best) = best else { return };
                let (figure, half_width) = figure(best.result);
                let name = best.planned.map_or("", |cell| cell.name.as_str());
                let limit = best.result.limit.as_ref().map_or("", |limit| limit.sentence.as_str());
                let cell = format!("{} {name}", best.number());
                table.row(vec![title.to_owned(), figure, half_width, cell, limit.to_owned()]);
            };
        row("throughput", &self.throughput, |result| {
            let rate = &result.total.bytes_per_s;
            (ByteRate(rate.mean).to_string(), half_width(rate))
        });
        row("IOPS", &self.iops, |result| {
            let rate = &result.total.ops_per_s;
            (OpRate(rate.mean).to_string().trim_end_matches("/s").to_owned(), half_width(rate))
        });
        row("lowest p99", &self.p99, |result| (latency(result.total.response.p99_ns), String::new()));
        let mut out = if self.iops.is_some() { table.text(width, "") } else { String::new() };
        if !out.is_empty() && !self.doubts.is_empty() {
            out.push('\n');
        }
        for doubt in &self.doubts {
            out.push_str(&paragraph(&doubt.line(), width, "", "  "));
        }
        out
    }
}

impl BestCell<'_> {
    /// The cell's number, from 1.
    pub fn number(&self) -> u32 {
        self.planned.map_or(self.position as u32, |cell| cell.index) + 1
    }
}

impl Doubt {
    /// `WARN, cells 1, 4 and 7: the client was the limit`.
    pub fn line(&self) -> String {
        format!("{}, {}: {}", self.validity.name(), self.cell_words(), self.reason)
    }

    /// `cells 1, 4 and 7`; for many cells, the first ones and how many more.
    pub fn cell_words(&self) -> String {
        const NAMED: usize = 8;
        let numbers: Vec<String> = self.cells.iter().map(u32::to_string).collect();
        match numbers.as_slice() {
            [one] => format!("cell {one}"),
            [first @ .., last] if numbers.len() <= NAMED => format!("cells {} and {last}", first.join(", ")),
            many => format!("cells {} and {} more", many[..NAMED].join(", "), many.len() - NAMED),
        }
    }
}

/// Each reason once, with the cells that have it; the worst verdict first, then in cell order.
fn doubts<'a>(cells: impl Iterator<Item = (u32, &'a CellResult)>) -> Vec<Doubt> {
    let mut doubts: Vec<Doubt> = Vec::new();
    for (number, result) in cells {
        let verdict = &result.verdict;
        if verdict.validity == Validity::Valid {
            continue;
        }
        for reason in &verdict.reasons {
            match doubts.iter_mut().find(|doubt| doubt.reason == *reason) {
                Some(doubt) => {
                    doubt.validity = doubt.validity.max(verdict.validity);
                    doubt.cells.push(number);
                }
                None => doubts.push(Doubt {
                    validity: verdict.validity,
                    reason: reason.clone(),
                    cells: vec![number],
                }),
            }
        }
    }
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.validity));
    doubts
}

/// Relative half-width of the 95 % interval, if known.
pub fn half_width(estimate: &Estimate) -> String {
    let share = estimate.relative_half_width() * 100.0;
    match share {
        _ if estimate.samples < 2 || estimate.mean <= 0.0 || !share.is_finite() => "-".to_owned(),
        share if share < 9.95 => format!("{share:.1} %"),
        share => format!("{share:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(validity: Validity, cells: &[u32]) -> Doubt {
        Doubt { validity, reason: "the client was the limit".into(), cells: cells.to_vec() }
    }

    #[test]
    fn a_doubt_names_its_cells() {
        assert_eq!(doubt(Validity::Warn, &[3]).line(), "WARN, cell 3: the client was the limit");
        assert_eq!(doubt(Validity::Invalid, &[1, 4, 7]).cell_words(), "cells 1, 4 and 7");
        let many: Vec<u32> = (1..=20).collect();
        assert_eq!(doubt(Validity::Warn, &many).cell_words(), "cells 1, 2, 3, 4, 5, 6, 7, 8 and 12 more");
    }
}
