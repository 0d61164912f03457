//! The results of all runs: in a file of the service's directory, or in a database that several services share.

use std::path::{Path, PathBuf};

use database::DatabaseServer;
use runner::timestamp::now;
use store::{RunRecord, State, Store, StoreError};

/// The file's name below the service's directory.
const RESULTS: &str = "results.sqlite";

/// Where the results of all runs are. Each method opens them for itself.
#[derive(Clone, Debug)]
pub(crate) struct StoredResults {
    file: PathBuf,
    server: Option<DatabaseServer>,
}

impl StoredResults {
    /// Those of the service with this directory, or those on a server.
    pub(crate) fn new(directory: &Path, server: Option<DatabaseServer>) -> Self {
        Self { file: directory.join(RESULTS), server }
    }

    /// The file; unused if there is a server.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The server, if they are on one.
    pub(crate) fn server(&self) -> Option<&DatabaseServer> {
        self.server.as_ref()
    }

    /// Opens them; `None` while there are none.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn open(&self) -> Result<Option<Store>, StoreError> {
        let opened = match &self.server {
            Some(server) => Store::open_server(server),
            None => Store::open_existing(&self.file),
        };
        match opened {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The run with this id; `None` if it has not begun to measure, or was removed.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn run(&self, id: &str) -> Result<Option<(Store, RunRecord)>, StoreError> {
        let Some(store) = self.open()? else { return Ok(None) };
        Ok(store.run_of_id(id)?.map(|record| (store, record)))
    }

    /// Marks a run that no longer runs as interrupted, if it had begun to measure.
    ///
    /// # Errors
    /// They cannot be read or written.
    pub(crate) fn interrupt(&self, id: &str) -> Result<(), StoreError> {
        match self.run(id)? {
            Some((store, record)) if record.state == State::Running => {
                store.finish_run(id, State::Interrupted, now())
            }
            _ => Ok(()),
        }
    }
}
