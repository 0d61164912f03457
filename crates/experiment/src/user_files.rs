//! The files of a mix with names that the user gave, as jobs have them, or those of a tree that exists.

use content::FileNames;
use serde::{Deserialize, Serialize};

use crate::plan::Cell;

/// Default max number of entries of a tree that are kept, of each kind.
pub(crate) const USUAL_ENTRIES: u64 = 1_000_000;

/// A tree of files that exists. It is walked once before it is loaded, and only read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistingTree {
    /// Its top directory, relative to the target's directory unless it starts with `/`.
    pub path: String,
    /// Max number of files, symbolic links and directories, each.
    pub entries: u64,
    /// Seed of the sample that is used of a larger tree, the experiment's; `None` refuses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<u64>,
}

/// Files that the user named. All workers use all of them, and they stay after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFiles {
    /// Their names: a list, or a format with `$filenum`.
    pub names: FileNames,
    /// Whether missing files are created and all are filled; otherwise all must exist, and keep their content until
    /// the load changes it.
    pub create: bool,
    /// The tree whose files they are, instead of names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ExistingTree>,
}

impl UserFiles {
    /// Those of a tree that exists.
    pub fn of_tree(tree: ExistingTree) -> Self {
        Self { names: FileNames::default(), create: false, tree: Some(tree) }
    }

    /// The path of a file, counted from 0: relative to the target's directory unless it starts with `/`. That of a tree is its
    /// top directory.
    pub fn path(&self, file: u64) -> String {
        if let Some(tree) = &self.tree {
            return tree.path.clone();
        }
        let (number, file) = FileNames::file_of(file);
        self.names.path("", number, file)
    }

    /// All names in a text, which no others have.
    pub fn all(&self) -> String {
        if let Some(tree) = &self.tree {
            return format!("tree {}", tree.path);
        }
        if self.names.listed.is_empty() { self.names.format.clone() } else { self.names.listed.join(", ") }
    }

    /// The names of `files` files for people: all of a few, otherwise the first and the last.
    pub fn shown(&self, files: u64) -> String {
        if self.tree.is_some() {
            return self.all();
        }
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
