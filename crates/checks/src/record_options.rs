//! How a run of this crate is recorded, as values from its caller.

use std::path::PathBuf;

use provision::RunId;
use store::{DatabaseServer, Store, StoreError};

use crate::error::CheckError;

/// How a check, a network test or a calibration is recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// The id of the run; `None`: a random one.
    pub id: Option<RunId>,
    /// The results file; `None`: the user's.
    pub results: Option<PathBuf>,
    /// Results on a server, instead of any file.
    pub database: Option<DatabaseServer>,
    /// The command that started it, as results show it; without secrets.
    pub command: String,
}

impl RecordOptions {
    /// Whether the caller named a place for the results.
    pub(crate) fn is_named(&self) -> bool {
        self.results.is_some() || self.database.is_some()
    }

    /// The id of the run.
    pub(crate) fn id(&self) -> RunId {
        self.id.clone().unwrap_or_else(RunId::random)
    }

    /// Opens the results before anything is created.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn open(&self) -> Result<Store, CheckError> {
        let opened = match (&self.database, &self.results) {
            (Some(server), _) => Store::open_server(server),
            (None, Some(path)) => Store::open(path),
            (None, None) => store::default_path().and_then(|path| Store::open(&path)),
        };
        opened.map_err(|error: StoreError| CheckError::Usage(error.to_string()))
    }
}
