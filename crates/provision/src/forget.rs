//! Forgets a dead run: deletes its journal; what the journal lists stays.

use std::io::Read;

use crate::error::ProvisionError;
use crate::journal::{Journal, Locked, Run};
use crate::run_id::RunId;

/// Maximum lines shown of an unreadable journal.
const LINES_MAX: usize = 100;

/// The contents of a forgotten run's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// What may still exist, in words; for an unreadable journal, its raw lines.
    pub not_removed: Vec<String>,
    /// Why the journal could not be read, if it could not.
    pub unreadable: Option<String>,
}

/// Deletes the journal of a dead run. Contacts and removes nothing that it lists.
///
/// # Errors
/// The run has no journal or is alive, or the file cannot be deleted.
pub fn forget(journal: &Journal, id: &RunId) -> Result<Forgotten, ProvisionError> {
    let path = journal.file_of(id);
    let failed = |error: &std::io::Error| ProvisionError::journal(&path, error);
    let mut file = match Journal::lock(&path)? {
        Locked::Dead(file) => file,
        Locked::Gone => {
            return Err(ProvisionError::Input(format!(
                "there is no journal of run {id} in {}; next: `ls` it, or name the right one with --journal-dir",
                journal.directory().display()
            )));
        }
        Locked::Alive => {
            return Err(ProvisionError::Journal {
                path,
                cause: format!(
                    "run {id} is still running and is not forgotten; next: wait for its end, or stop it"
                ),
            });
        }
    };
    let again = file.try_clone().map_err(|error| failed(&error))?;
    let (not_removed, unreadable) = match Run::resume(&path, again) {
        Ok(run) => (run.remaining(), None),
        Err(error) => {
            use std::io::Seek;
            let mut text = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut text)).map_err(|error| failed(&error))?;
            let text = String::from_utf8_lossy(&text);
            (text.lines().take(LINES_MAX).map(str::to_owned).collect(), Some(error.to_string()))
        }
    };
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(&error)),
        _ => Ok(Forgotten { not_removed, unreadable }),
    }
}
