//! Regular files, used like devices, that a run may overwrite.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use drivers::DriverError;

/// Files that a run was allowed to overwrite. From its first cell on they hold the run's own data, so they stay cleared
/// for this run, but for no other run in the same process.
#[derive(Clone, Debug, Default)]
pub struct ClearedFiles(Arc<Mutex<Vec<PathBuf>>>);

impl ClearedFiles {
    /// Asks `check` whether `path` may be overwritten. Passes it the path to allow unconditionally: the file itself
    /// once cleared, else the one that the user named (`destroy`).
    pub(super) fn check(
        &self,
        path: &Path,
        destroy: Option<&Path>,
        check: impl FnOnce(Option<&Path>) -> Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        let mut cleared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = path.is_file() && cleared.iter().any(|known| known == path);
        check(if ours { Some(path) } else { destroy })?;
        if !ours && path.is_file() {
            cleared.push(path.to_owned());
        }
        Ok(())
    }
}
