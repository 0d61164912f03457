//! A connection to either engine.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{DatabaseCause, DatabaseError};
use crate::row::Row;
use crate::server::DatabaseServer;
use crate::session::{Committed, Sessions};
use crate::value::Value;

/// Timeout for another process's transaction on an SQLite file.
const BUSY: Duration = Duration::from_secs(10);

/// An open database. SQL is written as for SQLite, with placeholders `?1`, `?2`, …, and nothing that only one engine
/// knows: `ON CONFLICT` instead of `INSERT OR REPLACE`, `RETURNING` for the number of a new row.
///
/// It belongs to one thread at a time.
#[derive(Debug)]
pub struct Connection {
    pub(crate) engine: Engine,
    place: Arc<str>,
    inside: Cell<bool>,
}

#[derive(Debug)]
pub(crate) enum Engine {
    Sqlite(rusqlite::Connection),
    Postgres(Box<Sessions>),
}

impl Connection {
    /// Opens an SQLite file, in write-ahead mode; creates it if absent. `place` names it in errors. What was committed is
    /// on disk.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn open_file(path: &Path, place: &str) -> Result<Self, DatabaseError> {
        let prepare = || -> rusqlite::Result<rusqlite::Connection> {
            let connection = rusqlite::Connection::open(path)?;
            connection.busy_timeout(BUSY)?;
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        let place: Arc<str> = place.into();
        match prepare() {
            Ok(connection) => Ok(Self::of_sqlite(connection, &place)),
            Err(error) => Err(DatabaseError { place, cause: DatabaseCause::Sqlite(error) }),
        }
    }

    /// Uses an SQLite file that the caller opened. `place` names it in errors.
    pub fn of_sqlite(connection: rusqlite::Connection, place: &str) -> Self {
        Self { engine: Engine::Sqlite(connection), place: place.into(), inside: Cell::new(false) }
    }

    /// Connects to a PostgreSQL server, for tables in `schema`. A connection that is lost later is made again: see
    /// [`Connection::transaction`].
    ///
    /// # Errors
    /// It cannot be reached, or does not let this user in.
    pub fn open_server(server: &DatabaseServer, schema: &'static str) -> Result<Self, DatabaseError> {
        let place: Arc<str> = server.to_string().into();
        let sessions = Sessions::open(server.clone(), schema)
            .map_err(|cause| DatabaseError { place: Arc::clone(&place), cause })?;
        Ok(Self { engine: Engine::Postgres(Box::new(sessions)), place, inside: Cell::new(false) })
    }

    /// The SQLite connection, for what only SQLite has; `None` for a server.
    pub fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match &self.engine {
            Engine::Sqlite(connection) => Some(connection),
            Engine::Postgres(_) => None,
        }
    }

    /// The file or server, as errors name it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Runs a change in a transaction: all of it takes effect, or nothing. Within another transaction it is a part of that
    /// one.
    ///
    /// If the connection to a server is lost meanwhile, or another transaction is in the way, `change` is called again:
    /// it may only change the database. Whether a commit took effect is found out, so that nothing is written twice.
    ///
    /// # Errors
    /// The change's own; the transaction cannot begin or be committed; the server was unreachable for too long.
    pub fn transaction<T, E: From<DatabaseError>>(
        &self,
        mut change: impl FnMut(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.inside.get() {
            return change(self);
        }
        match &self.engine {
            Engine::Sqlite(_) => {
                // Immediate: waits for the lock here, instead of failing midway.
                self.batch("BEGIN IMMEDIATE")?;
                let open = self.enter();
                let done = change(self)?;
                self.batch("COMMIT")?;
                open.close();
                Ok(done)
            }
            Engine::Postgres(sessions) => {
                let mut attempts = sessions.attempts();
                loop {
                    sessions.begin().map_err(|cause| self.error(cause))?;
                    let open = self.enter();
                    match change(self) {
                        Ok(done) => {
                            match sessions.commit(&mut attempts).map_err(|cause| self.error(cause))? {
                                Committed::Yes => {
                                    open.close();
                                    return Ok(done);
                                }
                                Committed::No => {}
                            }
                        }
                        Err(error) => {
                            if !sessions.may_try_again(&mut attempts) {
                                return Err(error);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Runs a statement that changes something; returns the number of rows. In a transaction of its own, unless there is
    /// one.
    ///
    /// # Errors
    /// It failed.
    pub fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64, DatabaseError> {
        match &self.engine {
            Engine::Sqlite(connection) => connection
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute(rusqlite::params_from_iter(parameters)))
                .map(|rows| rows as u64)
                .map_err(|error| self.error(DatabaseCause::Sqlite(error))),
            Engine::Postgres(sessions) if self.inside.get() => {
                sessions.execute(sql, parameters).map_err(|cause| self.error(cause))
            }
            Engine::Postgres(_) => self.transaction(|inside| inside.execute(sql, parameters)),
        }
    }

    /// Reads rows. Outside a transaction, a lost connection is made again and the statement repeated; what changes
    /// something (`RETURNING`) belongs in a transaction.
    ///
    /// # Errors
    /// The statement or `read` failed.
    pub fn rows<T>(
        &self,
        sql: &str,
        parameters: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<Vec<T>, DatabaseError> {
        let mut out = Vec::new();
        match &self.engine {
            Engine::Sqlite(connection) => {
                let wrap = |error| self.error(DatabaseCause::Sqlite(error));
                let mut statement = connection.prepare_cached(sql).map_err(wrap)?;
                let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(wrap)?;
                while let Some(row) = rows.next().map_err(wrap)? {
                    out.push(read(&Row::of_sqlite(&self.place, row))?);
                }
            }
            Engine::Postgres(sessions) => {
                let rows =
                    sessions.query(sql, parameters, !self.inside.get()).map_err(|cause| self.error(cause))?;
                for row in &rows {
                    out.push(read(&Row::of_postgres(&self.place, row))?);
                }
            }
        }
        Ok(out)
    }

    /// Reads the first row, if there is one.
    ///
    /// # Errors
    /// As [`Connection::rows`].
    pub fn optional_row<T>(
        &self,
        sql: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<Option<T>, DatabaseError> {
        Ok(self.rows(sql, parameters, read)?.into_iter().next())
    }

    /// Reads the first row.
    ///
    /// # Errors
    /// There is none, and as [`Connection::rows`].
    pub fn row<T>(
        &self,
        sql: &str,
        parameters: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.optional_row(sql, parameters, read)?.ok_or_else(|| self.error(DatabaseCause::NoRow))
    }

    /// Runs several statements without parameters.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), DatabaseError> {
        match &self.engine {
            Engine::Sqlite(connection) => connection.execute_batch(sql).map_err(DatabaseCause::Sqlite),
            Engine::Postgres(sessions) => sessions.batch(sql),
        }
        .map_err(|cause| self.error(cause))
    }

    pub(crate) fn error(&self, cause: DatabaseCause) -> DatabaseError {
        DatabaseError { place: Arc::clone(&self.place), cause }
    }

    fn enter(&self) -> OpenTransaction<'_> {
        self.inside.set(true);
        OpenTransaction { connection: self, open: true }
    }
}

/// An open transaction, which ends without effect unless it was committed: also if the change panics.
struct OpenTransaction<'a> {
    connection: &'a Connection,
    open: bool,
}

impl OpenTransaction<'_> {
    fn close(mut self) {
        self.open = false;
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        self.connection.inside.set(false);
        if self.open {
            // A transaction that cannot even be rolled back has ended already.
            let _ = match &self.connection.engine {
                Engine::Sqlite(connection) => {
                    connection.execute_batch("ROLLBACK").map_err(DatabaseCause::Sqlite)
                }
                Engine::Postgres(sessions) => sessions.roll_back(),
            };
        }
    }
}
