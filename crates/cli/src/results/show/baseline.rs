//! A run compared with a named baseline: the share of it that each cell and host reached, and the significance of
//! differences.

use std::fmt::Write;

use report::{CellComparison, CompareOptions, Document, RunComparison};
use stats::NetworkMatrix;
use store::{Baseline, BaselineContent, CellRecord, CellResult, RunRecord};

use super::cell::number;
use crate::results::words;
use runner::network_baseline;

/// A line per cell, and one for each of its hosts; cells that moved no bytes are skipped.
pub fn shares(run: &RunRecord, cells: &[CellRecord], baseline: &Baseline) -> String {
    let of = match &baseline.content {
        BaselineContent::Run { run, .. } => format!("run {}", words::plain(run)),
        BaselineContent::Network(_) => "the network".to_owned(),
    };
    let name = words::plain(&baseline.name);
    let mut out = format!("\nAgainst baseline {name} ({of}, {})\n", words::moment(baseline.kept));
    let before = out.len();
    let differences = differences(run, cells, baseline);
    for record in cells {
        let Some(result) = record.result.as_ref().filter(|result| result.total.bytes > 0) else { continue };
        let name = super::name_of(run, record.index);
        let figure = Figure { run, baseline, name, result };
        let share = |rate: f64, host: Option<&str>| match figure.bytes_per_s(host) {
            Some(whole) => {
                let share = rate / whole * 100.0;
                format!("{} is {share:.0} % of {}", words::bytes(rate), words::bytes(whole))
            }
            None => format!("{}; the baseline does not know it", words::bytes(rate)),
        };
        let whole = share(result.total.bytes_per_s.mean, None);
        let difference = difference(run, record.index, &differences);
        let _ = writeln!(out, "  cell {} {}: {whole}{difference}", number(record.index), words::plain(name));
        for host in &result.hosts {
            let one = share(host.total.bytes_per_s.mean, Some(&host.name));
            let _ = writeln!(out, "    {}: {one}", words::plain(&host.name));
        }
    }
    if out.len() == before {
        out.push_str("  no cell moved bytes\n");
    }
    out
}

/// Comparisons of the cells that both have.
fn differences(run: &RunRecord, cells: &[CellRecord], baseline: &Baseline) -> Vec<CellComparison> {
    let Some(before) = Document::of_baseline(baseline) else { return Vec::new() };
    let now = Document::of_records(run.clone(), cells.to_vec());
    RunComparison::of(&before, &now, &CompareOptions::default()).cells
}

/// `; difference −1.7 % [−2.6 % to −0.8 %], worse`, or empty.
fn difference(run: &RunRecord, index: u32, differences: &[CellComparison]) -> String {
    let planned = run.planned(index);
    let Some(found) = planned.and_then(|cell| differences.iter().find(|one| one.is_of(cell))) else {
        return String::new();
    };
    let of = match found.b.len() {
        1 => String::new(),
        several => format!(" of its {several} repetitions"),
    };
    format!("; {}{of} {}", found.metric, found.difference_text())
}

/// The baseline figure for a cell.
struct Figure<'a> {
    run: &'a RunRecord,
    baseline: &'a Baseline,
    name: &'a str,
    result: &'a CellResult,
}

impl Figure<'_> {
    /// In bytes per second, for one host or for all that measured.
    fn bytes_per_s(&self, host: Option<&str>) -> Option<f64> {
        let matrix = match &self.baseline.content {
            BaselineContent::Run { .. } => return self.baseline.bytes_per_s(self.name, host),
            BaselineContent::Network(matrix) => matrix,
        };
        let own = self.run.environment.facts.get("host").map(String::as_str);
        match host {
            Some(host) => self.of_host(matrix, host),
            None if self.result.hosts.is_empty() => self.of_host(matrix, own?),
            None => self.result.hosts.iter().map(|host| self.of_host(matrix, &host.name)).sum(),
        }
    }

    /// The best of a host's links, in the direction in which the cell's bytes went.
    fn of_host(&self, matrix: &NetworkMatrix, host: &str) -> Option<f64> {
        let at = network_baseline::position(matrix, &[host.to_owned()])?;
        let moved = self.result.ops.iter().filter_map(|op| Some((op.op?, op.bytes)));
        let of = |received: bool| matrix.most(at, received).map(|(rate, _)| rate);
        match network_baseline::receives(moved) {
            Some(received) => of(received),
            None => of(true).into_iter().chain(of(false)).max_by(f64::total_cmp),
        }
    }
}
