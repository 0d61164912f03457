//! The files of a mix with names that the user gave, as jobs have them.

use content::FileNames;
use serde::{Deserialize, Serialize};

use crate::plan::Cell;

/// Files that the user named. All workers use all of them, and they stay after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFiles {
    /// Their names: a list, or a format with `$filenum`.
    pub names: FileNames,
    /// Whether missing files are created and all are filled; otherwise all must exist, and keep their content until
    /// the load changes it.
    pub create: bool,
}

impl UserFiles {
    /// The path of a file, counted from 0: relative to the target's directory unless it starts with `/`.
    pub fn path(&self, file: u64) -> String {
        let (number, file) = FileNames::file_of(file);
        self.names.path("", number, file)
    }

    /// All names in a text, which no others have.
    pub fn all(&self) -> String {
        if self.names.listed.is_empty() { self.names.format.clone() } else { self.names.listed.join(", ") }
    }

    /// The names of `files` files for people: all of a few, otherwise the first and the last.
    pub fn shown(&self, files: u64) -> String {
        match files {
            0..=4 => (0..files).map(|file| self.path(file)).collect::<Vec<_>>().join(", "),
            _ => format!("{} … {}", self.path(0), self.path(files - 1)),
        }
    }
}

impl Cell {
    /// Identifies the place of the cell's data, which holds one data set at a time. Files that the user named on a
    /// target share a place, because sets of them may overlap; the run's own directory is another one.
    pub fn place(&self) -> String {
        let place = self.target.place();
        let named = self.workload.user_files().is_some() || self.workload.pass().is_some();
        if named { format!("{place} files by name") } else { place }
    }
}
