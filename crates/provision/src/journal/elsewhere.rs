//! Journals on other hosts whose entries have all been removed from here: a host of a fleet was lost, and another
//! removed what it had created. They are remembered until the host returns, so that its journal can be deleted.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::run_id::RunId;

/// Maximum entries; beyond it, the oldest are dropped.
const ENTRIES_MAX: usize = 1000;

/// A run's journal on another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Elsewhere {
    host: String,
    run: String,
}

fn file(directory: &Path) -> PathBuf {
    directory.join("lost-hosts.jsonl")
}

fn read(directory: &Path) -> Vec<Elsewhere> {
    let text = std::fs::read_to_string(file(directory)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn write(directory: &Path, entries: &[Elsewhere]) -> io::Result<()> {
    let path = file(directory);
    if entries.is_empty() {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let mut draft = File::create(path.with_extension("draft"))?;
    for entry in &entries[entries.len().saturating_sub(ENTRIES_MAX)..] {
        serde_json::to_writer(&mut draft, entry)?;
        draft.write_all(b"\n")?;
    }
    std::fs::rename(path.with_extension("draft"), path)
}

/// Records that everything listed in this run's journal on `host` has been removed.
///
/// # Errors
/// The directory of journals cannot be written.
pub fn removed_elsewhere(directory: &Path, host: &str, run: &RunId) -> io::Result<()> {
    let mut entries = read(directory);
    entries.push(Elsewhere { host: host.to_owned(), run: run.to_string() });
    write(directory, &entries)
}

/// The runs whose journals on `host` list only removed resources.
pub fn settled_on(directory: &Path, host: &str) -> Vec<RunId> {
    let of_host = read(directory).into_iter().filter(|entry| entry.host == host);
    of_host.filter_map(|entry| entry.run.parse().ok()).collect()
}

/// Forgets the entries of a host whose journals have been deleted.
///
/// # Errors
/// As [`removed_elsewhere`].
pub fn settled_told(directory: &Path, host: &str) -> io::Result<()> {
    let entries = read(directory);
    let left: Vec<Elsewhere> = entries.iter().filter(|entry| entry.host != host).cloned().collect();
    if left.len() == entries.len() { Ok(()) } else { write(directory, &left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_on_other_hosts_are_kept_in_mind_until_these_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let runs: Vec<RunId> = (0..3).map(|index| RunId::random().of_agent(index)).collect();
        assert!(settled_on(at, "a").is_empty());
        settled_told(at, "a").unwrap();
        removed_elsewhere(at, "a", &runs[0]).unwrap();
        removed_elsewhere(at, "b", &runs[1]).unwrap();
        removed_elsewhere(at, "a", &runs[2]).unwrap();
        assert_eq!(settled_on(at, "a"), [runs[0].clone(), runs[2].clone()]);
        settled_told(at, "a").unwrap();
        assert_eq!((settled_on(at, "a"), settled_on(at, "b")), (vec![], vec![runs[1].clone()]));
        settled_told(at, "b").unwrap();
        assert_eq!(std::fs::read_dir(at).unwrap().count(), 0);
    }
}
