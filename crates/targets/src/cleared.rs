//! Regular files, used like devices, that a run may overwrite.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use drivers::DriverError;

/// Files that a run was allowed to overwrite. From its first cell on they hold the run's own data, so they stay cleared
/// for this run, but for no other run in the same process.
#[derive(Clone, Debug, Default)]
pub struct ClearedFiles(Arc<Mutex<Vec<PathBuf>>>);

impl ClearedFiles {
    /// Asks `check` whether `path` may be overwritten. Passes it the paths to allow unconditionally: those that the user
    /// named (`destroy`), or the file itself once cleared.
    pub(super) fn check(
        &self,
        path: &Path,
        destroy: &[PathBuf],
        check: impl FnOnce(&[PathBuf]) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let mut cleared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = path.is_file() && cleared.iter().any(|known| known == path);
        if ours {
            return check(&[path.to_owned()]);
        }
        check(destroy)?;
        if path.is_file() {
            cleared.push(path.to_owned());
        }
        Ok(())
    }

    /// Whether the run has cleared a path; one on a remote target need not be a file here.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == path)
    }

    /// Clears a file that the run creates, or that it may overwrite.
    pub(super) fn insert(&self, path: PathBuf) {
        if !self.contains(&path) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        }
    }
}
