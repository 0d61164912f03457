//! Errors of a results file, each in one line with what to do next.

use std::path::{Path, PathBuf};

use database::{DatabaseCause, DatabaseError};
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::owner::RunHolder;

/// A results file could not be used, or does not contain what was requested.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Neither `XDG_DATA_HOME` nor `HOME` is set.
    #[error(
        "no location for results: neither XDG_DATA_HOME nor HOME is set; next: name a file with --results FILE"
    )]
    NoHome,
    /// There is no such file to read.
    #[error(
        "{}: there is no results file; next: name the right one with --results FILE, or make one with `manometer run`",
        .0.display()
    )]
    Missing(PathBuf),
    /// The file or its directory cannot be created or opened.
    #[error("{}: cannot be opened or made: {why}; next: name a file in a directory where you may write with --results FILE", path.display())]
    NotOpened {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: String,
    },
    /// The file belongs to another program; it was not changed.
    #[error("{}: is {what}, not a results file of manometer, and was left as it is; next: name another file with --results FILE", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        what: &'static str,
    },
    /// Written by a later version of the program.
    #[error(
        "{}: was written by a newer manometer (its layout is version {found}, this program knows up to {known}); next: use the newer program, or another file with --results FILE",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// No space is left for the file.
    #[error(
        "{}: cannot be written: the disk or quota is full; next: make room (`manometer forget RUN` removes a run) or name a file elsewhere with --results FILE",
        .0.display()
    )]
    Full(PathBuf),
    /// The file or its directory is read-only.
    #[error("{}: cannot be written: it or its directory is read-only; next: name a file where you may write with --results FILE", .0.display())]
    ReadOnly(PathBuf),
    /// Another process has locked the file for too long.
    #[error("{}: is locked by another process; next: end what holds it (`fuser FILE` names it) and try again", .0.display())]
    Locked(PathBuf),
    /// The disk reported an error.
    #[error("{}: input/output error: {why}; next: look for a full quota (`quota`) and at the kernel's log (`dmesg`), or name a file on another disk with --results FILE", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        why: String,
    },
    /// The contents cannot be decoded.
    #[error("{}: is damaged: {why}; next: rescue what can be read with `sqlite3 FILE .recover`, and name a new file with --results FILE", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No run matches this text.
    #[error("no run {text:?} in {}; {candidates}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The requested text.
        text: String,
        /// The existing runs, and what to do next.
        candidates: String,
    },
    /// More than one run matches.
    #[error("{text:?} means more than one run: {candidates}; next: write more of the id")]
    Ambiguous {
        /// The requested text.
        text: String,
        /// The matching runs.
        candidates: String,
    },
    /// No baseline has this name.
    #[error("no baseline {name:?} in {}; {candidates}", path.display())]
    NoBaseline {
        /// The file.
        path: PathBuf,
        /// The requested name.
        name: String,
        /// The existing baselines, and what to do next.
        candidates: String,
    },
    /// A baseline cannot have this name.
    #[error("{0:?} cannot be a baseline's name; next: give 1 to 100 bytes without control characters")]
    BaselineName(String),
    /// The run is in progress.
    #[error("run {id} is still running, {holder}; next: wait for it or end it, then try again")]
    Alive {
        /// The run.
        id: String,
        /// Who runs it.
        holder: RunHolder,
    },
    /// The server of the results cannot be used.
    #[error(transparent)]
    Server(DatabaseError),
    /// Any other SQLite error.
    #[error("{}: {why}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        why: String,
    },
}

impl StoreError {
    /// Converts the error of a database call according to its cause.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path),
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Locked(path),
            Some(ErrorCode::CannotOpen) => Self::NotOpened { path, why },
            Some(ErrorCode::SystemIoFailure) => Self::Io { path, why },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { path, why },
            _ => Self::Other { path, why },
        }
    }

    /// Converts the error of either engine according to its cause.
    pub(crate) fn from_database(path: &Path, error: DatabaseError) -> Self {
        let path = path.to_path_buf();
        match error.cause {
            DatabaseCause::Sqlite(error) => Self::from_sqlite(&path, error),
            DatabaseCause::Value(why) => Self::Other { path, why },
            DatabaseCause::NoRow => Self::Other { path, why: "a row is missing".to_owned() },
            _ => Self::Server(error),
        }
    }

    /// The error for file contents that this program does not write.
    pub(crate) fn damaged(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.to_path_buf(), why: why.to_string() }
    }
}
