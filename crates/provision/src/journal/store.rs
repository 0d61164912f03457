//! The directory with the journals of all runs.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::run::Run;
use crate::error::ProvisionError;
use crate::run_id::RunId;

/// A process that this one is starting holds the locks of all runs here until it executes its program: for a moment a dead run
/// seems alive.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A directory of journals.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
}

/// State of a journal file.
pub(crate) enum Opened {
    /// Its run is dead; we now hold the lock.
    Dead(Run),
    /// Its run is alive.
    Alive,
    /// It was deleted meanwhile.
    Gone,
}

/// Result of locking a journal file.
pub(crate) enum Locked {
    /// Its run is dead; this is the file, locked by us.
    Dead(File),
    /// Its run is alive.
    Alive,
    /// It was deleted meanwhile.
    Gone,
}

impl Journal {
    /// `$XDG_STATE_HOME/manometer/journal`, or `~/.local/state/manometer/journal`.
    ///
    /// # Errors
    /// Neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn default_directory() -> Result<PathBuf, ProvisionError> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        state.map(|state| state.join("manometer/journal")).ok_or_else(|| {
            ProvisionError::Input(
                "there is no place for the journal: neither XDG_STATE_HOME nor HOME is an absolute path; next: give a directory with --journal-dir".into(),
            )
        })
    }

    /// Opens a directory, creating it (accessible to this user only) if it does not exist.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn open(directory: &Path) -> Result<Self, ProvisionError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| ProvisionError::journal(directory, &error))?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts the journal of a new run.
    ///
    /// # Errors
    /// The file cannot be written, or that id already has one.
    pub fn begin(&self, id: &RunId) -> Result<Run, ProvisionError> {
        Run::begin(&self.directory, id)
    }

    /// Continues the journal of an interrupted run, so that what it created is known; starts a new one for that id if
    /// it was deleted because nothing was left to remove.
    ///
    /// # Errors
    /// The run is still alive, or its journal cannot be read or written.
    pub fn reopen(&self, id: &RunId) -> Result<Run, ProvisionError> {
        let path = self.file_of(id);
        match Self::take_over(&path)? {
            Opened::Dead(run) => Ok(run),
            Opened::Gone => self.begin(id),
            Opened::Alive => Err(ProvisionError::Input(format!(
                "run {id} is still running: its journal {} is in use; next: wait for its end, or stop it",
                path.display()
            ))),
        }
    }

    /// The journal files, by name.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, ProvisionError> {
        let failed = |error| ProvisionError::journal(&self.directory, &error);
        let mut files = Vec::new();
        for item in std::fs::read_dir(&self.directory).map_err(failed)? {
            let path = item.map_err(failed)?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if path.extension().is_some_and(|extension| extension == "jsonl") && stem.parse::<RunId>().is_ok()
            {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// The path of a run's file, whether it exists or not.
    pub(crate) fn file_of(&self, id: &RunId) -> PathBuf {
        self.directory.join(format!("{id}.jsonl"))
    }

    /// Opens one of [`Self::files`] if its run is dead.
    pub(crate) fn take_over(path: &Path) -> Result<Opened, ProvisionError> {
        match Self::lock(path)? {
            Locked::Dead(file) => Run::resume(path, file).map(Opened::Dead),
            Locked::Alive => Ok(Opened::Alive),
            Locked::Gone => Ok(Opened::Gone),
        }
    }

    /// Locks one of [`Self::files`] if its run is dead.
    pub(crate) fn lock(path: &Path) -> Result<Locked, ProvisionError> {
        Self::lock_within(path, LOCK_TRIES)
    }

    fn lock_within(path: &Path, mut tries: u32) -> Result<Locked, ProvisionError> {
        let failed = |error: std::io::Error| ProvisionError::journal(path, &error);
        let file = match File::options().read(true).append(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Locked::Gone),
            Err(error) => return Err(failed(error)),
        };
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries == 0 => return Ok(Locked::Alive),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            tries -= 1;
        }
        // Its owner may have deleted it between our open and our lock.
        if file.metadata().map_err(failed)?.nlink() == 0 {
            return Ok(Locked::Gone);
        }
        Ok(Locked::Dead(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_dead_once_nobody_holds_its_lock_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        let held = File::create(&path).unwrap();
        held.try_lock().unwrap();
        assert!(matches!(Journal::lock_within(&path, 1).unwrap(), Locked::Alive));
        let holder = thread::spawn(move || {
            thread::sleep(LOCK_PAUSE * 2);
            drop(held);
        });
        assert!(matches!(Journal::lock_within(&path, u32::MAX).unwrap(), Locked::Dead(_)));
        holder.join().unwrap();
    }
}
