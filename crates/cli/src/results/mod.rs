//! Commands on the results file: `manometer list`, `show`, `export` and `forget`.

pub mod destination;
pub mod export;
pub mod forget;
pub mod list;
pub mod show;
pub mod words;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use store::{Store, StoreError};

use crate::exit;
use crate::messages::Messages;

/// Which file.
#[derive(Args, Clone, Debug, Default)]
pub struct ResultsFile {
    /// Results file [default: $XDG_DATA_HOME/manometer/results.sqlite or ~/.local/share/manometer/results.sqlite]
    #[arg(long = "results", value_name = "FILE")]
    pub path: Option<PathBuf>,
}

/// Text for people or JSON for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResultsFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document, as in a schema in schemas/.
    Json,
}

impl ResultsFile {
    /// Path of the selected file.
    ///
    /// # Errors
    /// None is named and there is no default path.
    pub fn path(&self) -> Result<PathBuf, StoreError> {
        self.path.clone().map_or_else(store::default_path, Ok)
    }

    /// Opens an existing file to show it.
    ///
    /// # Errors
    /// As [`Store::open_existing`].
    pub fn open(&self) -> Result<Store, StoreError> {
        Store::open_existing(&self.path()?)
    }
}

/// An argument that is invalid, or does not match the file's contents: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongInput(pub String);

/// Reports how a command ended; returns the exit code. A reader that closed the pipe early is no error.
pub fn ended(outcome: Result<()>, messages: &Messages) -> u8 {
    let Err(error) = outcome else { return 0 };
    if let Some(io) = error.downcast_ref::<io::Error>() {
        return match io.kind() {
            io::ErrorKind::BrokenPipe => 0,
            _ => exit::failure(
                messages,
                &format!("the output cannot be written: {io}; next: make room, or write it to another place"),
            ),
        };
    }
    if error.is::<WrongInput>() {
        return exit::input(messages, &error.to_string());
    }
    match error.downcast_ref::<StoreError>() {
        // What was requested does not exist, or is impossible: a usage error.
        Some(
            StoreError::Unknown { .. }
            | StoreError::NoBaseline { .. }
            | StoreError::BaselineName(_)
            | StoreError::Ambiguous { .. }
            | StoreError::Missing(_)
            | StoreError::NoHome
            | StoreError::Newer { .. }
            | StoreError::Foreign { .. },
        ) => exit::input(messages, &error.to_string()),
        _ => exit::failure(messages, &format!("{error:#}")),
    }
}

/// Whether both paths refer to the same file.
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |path: &Path| std::fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
    of(a).is_some_and(|a| of(b) == Some(a))
}
