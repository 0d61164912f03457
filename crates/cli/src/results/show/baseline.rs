//! A run beside a named baseline: the share of it that each cell and host reached.

use std::fmt::Write;

use store::{Baseline, CellRecord, RunRecord};

use super::cell::number;
use crate::results::words;

/// A line a cell, and one for each of its hosts; cells that moved no bytes are left out.
pub fn shares(run: &RunRecord, cells: &[CellRecord], baseline: &Baseline) -> String {
    let mut out = format!("\nAgainst baseline {}\n", words::plain(&baseline.name));
    let before = out.len();
    for record in cells {
        let Some(result) = record.result.as_ref().filter(|result| result.total.bytes > 0) else { continue };
        let name = super::name_of(run, record.index);
        let share = |rate: f64, host: Option<&str>| match baseline.bytes_per_s(name, host) {
            Some(whole) => {
                let share = rate / whole * 100.0;
                format!("{} is {share:.0} % of {}", words::bytes(rate), words::bytes(whole))
            }
            None => format!("{}; the baseline does not know it", words::bytes(rate)),
        };
        let whole = share(result.total.bytes_per_s.mean, None);
        let _ = writeln!(out, "  cell {} {}: {whole}", number(record.index), words::plain(name));
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
