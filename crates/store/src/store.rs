//! The open file, and writes of runs and cells: rare, and on disk when the call returns.

use std::path::{Path, PathBuf};

use database::{Connection, DatabaseError, DatabaseServer, params};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::finite::finite;
use crate::hosts::insert_hosts;
use crate::layout::LAYOUT;
use crate::owner::{self, RunHolder};
use crate::record::{CellRecord, Event, RunRecord, State, Validity};
use crate::writer::Writer;

/// A results file. Several may be open on the same file, in one process or many; each belongs to one thread at a time.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    /// Absent for a file.
    server: Option<DatabaseServer>,
}

impl Store {
    /// Opens a file to write results; creates it, and its directory for its owner only, if absent.
    ///
    /// # Errors
    /// It cannot be created or opened, belongs to another program (it is not changed), or was written by a newer
    /// version of this one.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (path, connection) = crate::file::open(path)?;
        Ok(Self::of_file(path, connection))
    }

    /// Opens [`crate::default_path`] to write results.
    ///
    /// # Errors
    /// As [`Store::open`], and if there is no default path.
    pub fn open_default() -> Result<Self, StoreError> {
        Self::open(&crate::default_path()?)
    }

    /// Opens an existing file to show its contents. In a read-only location it is only read.
    ///
    /// # Errors
    /// It is absent, and as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        let (path, connection) = crate::file::open_existing(path)?;
        Ok(Self::of_file(path, connection))
    }

    /// Opens the results that several hosts share on a server; creates the tables if absent.
    ///
    /// # Errors
    /// The server cannot be used, or a newer version of this program wrote the tables.
    pub fn open_server(server: &DatabaseServer) -> Result<Self, StoreError> {
        let opened = || -> Result<Connection, DatabaseError> {
            let connection = Connection::open_server(server, LAYOUT.schema)?;
            connection.migrate(&LAYOUT)?;
            Ok(connection)
        };
        let path = PathBuf::from(server.to_string());
        let connection = opened().map_err(|error| StoreError::from_database(&path, error))?;
        Ok(Self { path, connection, server: Some(server.clone()) })
    }

    pub(crate) fn of_file(path: PathBuf, connection: rusqlite::Connection) -> Self {
        let connection = Connection::of_sqlite(connection, &path.display().to_string());
        Self { path, connection, server: None }
    }

    /// Opens the same results again, for another thread.
    pub(crate) fn open_again(&self) -> Result<Self, StoreError> {
        let Some(server) = &self.server else { return Self::open_existing(&self.path) };
        let connection = Connection::open_server(server, LAYOUT.schema).map_err(|error| self.error(error))?;
        Ok(Self { path: self.path.clone(), connection, server: Some(server.clone()) })
    }

    /// Path of the file; of results on a server, its URL without the password.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether several hosts can write to these results.
    pub fn is_shared(&self) -> bool {
        self.server.is_some()
    }

    /// Size on disk in bytes, including the journal; 0 on a server.
    pub fn bytes(&self) -> u64 {
        let of = |path: PathBuf| std::fs::metadata(path).map_or(0, |facts| facts.len());
        let mut journal = self.path.clone().into_os_string();
        journal.push("-wal");
        of(self.path.clone()) + of(journal.into())
    }

    /// Starts a thread that writes this run's intervals.
    ///
    /// # Errors
    /// The run is not in the file, or the thread cannot open the file.
    pub fn writer(&self, run: &str) -> Result<Writer, StoreError> {
        Writer::start(self, run)
    }

    /// Writes a new run, with all cells of its plan as pending.
    ///
    /// # Errors
    /// The file cannot be written, or already contains a run with this id.
    pub fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.write(|transaction| {
            let number: i64 = transaction.row(
                "INSERT INTO runs (id, name, state, started, finished, version, owner, plan)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING number",
                params![
                    run.id,
                    run.name,
                    run.state.name(),
                    time(run.started),
                    run.finished.map(time),
                    run.version,
                    owner::this_process(),
                    json(&run.plan),
                ],
                |row| row.get(0),
            )?;
            for (name, value) in &run.environment.facts {
                transaction.execute(
                    "INSERT INTO environment (run, name, value) VALUES (?1, ?2, ?3)",
                    params![number, name, value],
                )?;
            }
            insert_hosts(transaction, number, &run.hosts)?;
            for cell in &run.plan.cells {
                transaction.execute(
                    "INSERT INTO cells (run, cell, name, state) VALUES (?1, ?2, ?3, ?4)",
                    params![number, cell.index, cell.name, State::Pending.name()],
                )?;
            }
            Ok(())
        })
    }

    /// Stores facts in the environment of a run with this exact id; a fact with the same name is replaced.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be written.
    pub fn keep_facts(&self, run: &str, facts: &[(String, String)]) -> Result<(), StoreError> {
        let number = self.number_of(run)?;
        self.write(|transaction| {
            for (name, value) in facts {
                transaction.execute(
                    "INSERT INTO environment (run, name, value) VALUES (?1, ?2, ?3)
                     ON CONFLICT (run, name) DO UPDATE SET value = excluded.value",
                    params![number, name, value],
                )?;
            }
            Ok(())
        })
    }

    /// Resumes an interrupted run: marks it as running in this process.
    ///
    /// # Errors
    /// The process that began it is still alive, the run is not in the file, or the file cannot be written.
    pub fn resume_run(&self, run: &str) -> Result<(), StoreError> {
        let taken = self.connection.transaction(|transaction| -> Result<Option<RunHolder>, ResumeError> {
            let number = self.number_in(transaction, run)?;
            let holder = self.lives_elsewhere(transaction, number)?;
            if holder.is_none() {
                transaction.execute(
                    "UPDATE runs SET state = ?2, finished = NULL, owner = ?3 WHERE number = ?1",
                    params![number, State::Running.name(), owner::this_process()],
                )?;
            }
            Ok(holder)
        });
        match taken {
            Ok(None) => Ok(()),
            Ok(Some(holder)) => Err(StoreError::Alive { id: run.to_owned(), holder }),
            Err(ResumeError::Store(error)) => Err(error),
            Err(ResumeError::Database(error)) => Err(self.error(error)),
        }
    }

    /// Marks a run as ended, in whatever state.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be written.
    pub fn finish_run(&self, run: &str, state: State, at: Timestamp) -> Result<(), StoreError> {
        let number = self.number_of(run)?;
        self.write(|transaction| {
            transaction.execute(
                "UPDATE runs SET state = ?2, finished = ?3, owner = NULL WHERE number = ?1",
                params![number, state.name(), time(at)],
            )?;
            Ok(())
        })
    }

    /// Starts a cell. Drops what an earlier attempt left of it (intervals, result, failure); events stay.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be written.
    pub fn begin_cell(&self, run: &str, index: u32, at: Timestamp) -> Result<(), StoreError> {
        let cell = self.cell_number(run, index)?;
        self.drop_intervals(cell)?;
        self.write(|transaction| {
            transaction.execute(
                "UPDATE cells SET state = ?2, started = ?3, finished = NULL, failure = NULL, result = NULL,
                 validity = NULL WHERE number = ?1",
                params![cell, State::Running.name(), time(at)],
            )?;
            Ok(())
        })
    }

    /// Ends a cell: stores the record's state, times, result and failure.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be written.
    pub fn finish_cell(&self, run: &str, record: &CellRecord) -> Result<(), StoreError> {
        let cell = self.cell_number(run, record.index)?;
        self.write(|transaction| {
            transaction.execute(
                "UPDATE cells SET state = ?2, started = ?3, finished = ?4, failure = ?5, result = ?6, validity = ?7
                 WHERE number = ?1",
                params![
                    cell,
                    record.state.name(),
                    record.started.map(time),
                    record.finished.map(time),
                    record.failure,
                    record.result.as_ref().map(|result| json(&finite(result))),
                    record.result.as_ref().map(|result| result.verdict.validity.name()),
                ],
            )?;
            Ok(())
        })
    }

    /// Writes an event.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be written.
    pub fn event(&self, run: &str, event: &Event) -> Result<(), StoreError> {
        let number = self.number_of(run)?;
        self.write(|transaction| insert_event(transaction, number, event))
    }

    /// Row number of a cell.
    pub(crate) fn cell_number(&self, run: &str, index: u32) -> Result<i64, StoreError> {
        let number = self.number_of(run)?;
        let query = "SELECT number FROM cells WHERE run = ?1 AND cell = ?2";
        let found = self
            .connection
            .optional_row(query, params![number, index], |row| row.get(0))
            .map_err(|error| self.error(error))?;
        found.ok_or_else(|| StoreError::Other {
            path: self.path.clone(),
            why: format!("run {run} has no cell {index}; next: `manometer show {run}` lists its cells"),
        })
    }

    /// Row number of a run with this exact id.
    pub(crate) fn number_of(&self, run: &str) -> Result<i64, StoreError> {
        self.number_in(&self.connection, run)
    }

    fn number_in(&self, connection: &Connection, run: &str) -> Result<i64, StoreError> {
        let found = connection
            .optional_row("SELECT number FROM runs WHERE id = ?1", params![run], |row| row.get(0))
            .map_err(|error| self.error(error))?;
        found.ok_or_else(|| self.unknown(run))
    }

    /// The running process that executes a run, if it is not this one.
    pub(crate) fn lives_elsewhere(
        &self,
        connection: &Connection,
        run: i64,
    ) -> Result<Option<RunHolder>, StoreError> {
        let owner: Option<String> = connection
            .row("SELECT owner FROM runs WHERE number = ?1", params![run], |row| row.get(0))
            .map_err(|error| self.error(error))?;
        Ok(owner.as_deref().and_then(|owner| owner::alive_elsewhere(owner, self.is_shared())))
    }

    /// Runs a change in a transaction. It may be called again ([`Connection::transaction`]).
    pub(crate) fn write<T>(
        &self,
        change: impl FnMut(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        self.connection.transaction(change).map_err(|error: DatabaseError| self.error(error))
    }

    pub(crate) fn error(&self, error: DatabaseError) -> StoreError {
        StoreError::from_database(&self.path, error)
    }
}

/// Why a run cannot be resumed.
enum ResumeError {
    Store(StoreError),
    Database(DatabaseError),
}

impl From<StoreError> for ResumeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DatabaseError> for ResumeError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

pub(crate) fn insert_event(connection: &Connection, run: i64, event: &Event) -> Result<(), DatabaseError> {
    connection
        .execute(
            "INSERT INTO events (run, cell, at, kind, text) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run, event.cell, time(event.at), event.kind, event.text],
        )
        .map(|_| ())
}

/// A moment as stored: RFC 3339 in UTC with nanoseconds, so that texts sort like times.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.9}")
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records are plain values with texts as keys")
}

impl State {
    /// Its name in the file and in machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }

    /// The state with this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Running, Self::Finished, Self::Interrupted, Self::Failed];
        all.into_iter().find(|state| state.name() == name)
    }
}

impl Validity {
    /// Its name in the file and in machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Warn => "WARN",
            Self::Invalid => "INVALID",
        }
    }
}
