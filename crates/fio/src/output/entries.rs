//! The entries of a run: of all hosts together, of one host, and all jobs combined.

use super::entry::{FioEntry, reporting};
use runner::{CellOutcome, JobsOutcome};

/// The entries of a run, in cell order.
pub fn entries(outcome: &JobsOutcome) -> Vec<FioEntry> {
    let mut entries: Vec<(Option<u32>, FioEntry)> = Vec::new();
    for cell in outcome.cells.iter().filter(|cell| !reporting(&cell.cell).hide) {
        let key = cell.cell.group.and_then(|group| group.report);
        let entry = FioEntry::of(cell);
        match entries.iter_mut().find(|(other, _)| key.is_some() && *other == key) {
            Some((_, first)) => first.merge(entry),
            None => entries.push((key, entry)),
        }
    }
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// The same for one host of a fleet.
pub fn of_host(outcome: &JobsOutcome, host: &str) -> Vec<FioEntry> {
    let of_cell = |cell: &CellOutcome| {
        let part = cell.hosts.iter().find(|part| part.name == host);
        CellOutcome {
            load: part.map(|part| part.load.clone()),
            samples: part.map(|part| part.samples.clone()).unwrap_or_default(),
            failure: part.map_or_else(|| cell.failure.clone(), |part| part.failure.clone()),
            // These apply to all hosts together.
            steady: None,
            verdict: None,
            limit: None,
            hosts: Vec::new(),
            cell: cell.cell.clone(),
        }
    };
    entries(&JobsOutcome { cells: outcome.cells.iter().map(of_cell).collect(), ..outcome.clone() })
}

/// All entries combined under a given name; `None` without any.
pub fn together(name: &str, entries: &[FioEntry]) -> Option<FioEntry> {
    let (first, others) = entries.split_first()?;
    let mut all = first.clone();
    others.iter().for_each(|other| all.merge(other.clone()));
    // As in fio, the last one's.
    all.group = entries.last().map_or(0, |last| last.group);
    Some(FioEntry { name: name.to_owned(), options: Vec::new(), ..all })
}
