//! A directory of our own in a file system of this machine.

use std::fmt;
use std::path::PathBuf;

use drivers::file::{FileConfig, FileDriver, Place};
use provision::this_host;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journaled_place::{JournaledPlace, run_name};
use super::removal::{RemovalContext, RemoveLeftError};

/// Our directory in a file system of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalPlace {
    /// The machine's name: several machines may share the home directory that holds the journals.
    pub host: String,
    /// The absolute path of the directory.
    pub path: PathBuf,
}

impl LocalPlace {
    /// A directory of this machine.
    pub fn here(path: PathBuf) -> Self {
        Self { host: this_host(), path }
    }
}

impl JournaledPlace for LocalPlace {
    const SCHEME: &'static str = "file";

    fn name(&self) -> Option<&str> {
        let directory = self.path.file_name().filter(|_| self.path.is_absolute())?;
        directory.to_str().map(run_name)
    }
}

impl fmt::Display for LocalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "directory {} on {}", self.path.display(), self.host)
    }
}

/// Removes what a dead run left behind.
pub(super) fn remove_left(place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
    let place: LocalPlace = cx.read(place)?;
    if place.host != this_host() {
        return Err(RemoveLeftError::Elsewhere(place.host));
    }
    let driver = FileDriver::new(FileConfig::new(Place::Directory(place.path)))?;
    let removed = driver.remove_all();
    removed.map(drop).map_err(|error| RemoveLeftError::Input(error.detail.into()))
}
