//! Why a database cannot be used.

use std::sync::Arc;

/// A database could not be read or written: one line that begins with its name. It never contains a password.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct DatabaseError {
    /// The file or server.
    pub place: Arc<str>,
    /// What went wrong.
    pub cause: DatabaseCause,
}

/// What went wrong with a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseCause {
    /// SQLite reports an error.
    #[error(transparent)]
    Sqlite(rusqlite::Error),
    /// The PostgreSQL server refused a statement.
    #[error("{message} (SQLSTATE {code})")]
    Refused {
        /// Its code (PostgreSQL's documentation, appendix A).
        code: String,
        /// Its message.
        message: String,
    },
    /// The server does not let this user in, or has no such database.
    #[error("{message}; next: check the user, the database and the password (--database-password-file FILE)")]
    Denied {
        /// Its message.
        message: String,
    },
    /// The server cannot be reached, or was not reachable again in time.
    #[error("cannot be reached: {why}; next: check that PostgreSQL runs there and accepts connections")]
    Unreachable {
        /// The last error.
        why: String,
    },
    /// The connection ended within a transaction, which has had no effect.
    #[error("the connection was lost: {why}")]
    Lost {
        /// The error.
        why: String,
    },
    /// A transaction was committed while the connection was lost, and the server no longer knows whether it took effect.
    #[error("the connection was lost during a commit, and its outcome is unknown: {why}")]
    Unknown {
        /// What the server says.
        why: String,
    },
    /// A column holds something that this program does not write.
    #[error("{0}")]
    Value(String),
    /// A row that must exist does not.
    #[error("a row is missing")]
    NoRow,
    /// A later version of the program wrote it.
    #[error(
        "a newer version of manometer wrote it (version {found}, this program knows up to {known}); next: use the newer program"
    )]
    Newer {
        /// Its version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
}
