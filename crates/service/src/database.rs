//! The service's own state: the runs that it was asked for, from the queue to their end.

use std::path::Path;

use database::{Connection, DatabaseError, DatabaseServer, Migration, Row, TableLayout, params};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schedules;
use crate::storperf::StorperfJob;
use crate::work::RunKind;

/// The tables and their versions.
const LAYOUT: TableLayout = TableLayout {
    schema: "manometer_service",
    migrations: &[
        Migration::Both(FIRST),
        Migration::Both(SECOND),
        Migration::Both(THIRD),
        Migration::Both(schedules::TABLES),
        Migration::Both(FIFTH),
    ],
};

const FIRST: &str = "
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    experiment TEXT NOT NULL,
    hosts TEXT NOT NULL,
    state TEXT NOT NULL,
    asked TEXT NOT NULL,
    started TEXT,
    finished TEXT,
    reason TEXT,
    has_keys INTEGER NOT NULL,
    idempotency_key TEXT UNIQUE,
    digest BLOB NOT NULL
);
CREATE INDEX runs_by_state ON runs (state);
";

/// Version 2: what belongs to a run that is a job of `StorPerf`'s, as JSON.
const SECOND: &str = "
ALTER TABLE runs ADD COLUMN storperf TEXT;
CREATE INDEX storperf_runs ON runs (number) WHERE storperf IS NOT NULL;
";

/// Version 3: the service that a run belongs to, where several share a database; nothing in a service's own file.
const THIRD: &str = "ALTER TABLE runs ADD COLUMN server TEXT;";

/// Version 5: the kind of work, what was posted as text (of an experiment, or JSON), and the result of other work, as JSON.
const FIFTH: &str = "
ALTER TABLE runs RENAME COLUMN experiment TO request;
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'experiment';
ALTER TABLE runs ADD COLUMN result TEXT;
";

/// The columns of [`asked_run`].
pub(crate) const COLUMNS: &str =
    "number, id, name, hosts, state, asked, started, finished, reason, has_keys, digest, server, kind";

/// Number of [`COLUMNS`].
const COLUMN_COUNT: usize = 13;

/// Progress of a run that the service was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AskedState {
    /// It waits for its hosts.
    Queued,
    /// It runs.
    Running,
    /// It ran to its end.
    Finished,
    /// It ended early: by a request, or with the service. It can be resumed.
    Interrupted,
    /// It could not run.
    Failed,
    /// It was taken from the queue.
    Cancelled,
}

impl AskedState {
    const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Finished, Self::Interrupted, Self::Failed, Self::Cancelled];

    /// Its name in the database and the API.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A run that the service was asked for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct AskedRun {
    #[serde(skip)]
    pub number: i64,
    /// The id, also of the run in the results file.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    pub id: String,
    /// What it does.
    pub kind: RunKind,
    /// The experiment's name; for other work, its kind.
    pub name: String,
    /// The hosts that it occupies.
    pub hosts: Vec<String>,
    /// How far it got.
    pub state: AskedState,
    /// When it was posted.
    #[schema(value_type = String, format = DateTime)]
    pub asked: Timestamp,
    /// When it started, for the first time if it was resumed.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    pub finished: Option<Timestamp>,
    /// Why it ended early, what it left behind, or what it found broken, in one line.
    #[schema(required = true)]
    pub reason: Option<String>,
    /// Keys came with it, which are in memory only.
    #[serde(skip)]
    pub has_keys: bool,
    /// Digest of what was posted.
    #[serde(skip)]
    pub digest: Vec<u8>,
    /// The service that it belongs to; `None` in a service's own file.
    #[serde(skip)]
    pub server: Option<String>,
}

/// A new run for the queue.
pub(crate) struct NewRun<'a> {
    pub id: &'a str,
    pub kind: RunKind,
    pub name: &'a str,
    pub request: &'a str,
    pub hosts: &'a [String],
    pub asked: Timestamp,
    pub has_keys: bool,
    pub storperf: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub digest: &'a [u8],
}

/// The service's tables: in `service.sqlite`, or in a database that several services share. Queued and running runs belong
/// to one service each; what has ended belongs to all.
pub(crate) struct Database {
    connection: Connection,
    /// This service, where several share the database.
    server: Option<String>,
}

impl Database {
    /// Opens the file; creates it if absent.
    ///
    /// # Errors
    /// It cannot be read or written, or a newer version wrote it.
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        let connection = Connection::open_file(path, "service.sqlite")?;
        connection.migrate(&LAYOUT)?;
        Ok(Self { connection, server: None })
    }

    /// Opens a shared database for the service with the id `own`; creates the tables if absent.
    ///
    /// # Errors
    /// It cannot be reached, read or written, or a newer version wrote it.
    pub(crate) fn open_shared(server: &DatabaseServer, own: &str) -> Result<Self, DatabaseError> {
        let connection = Connection::open_server(server, LAYOUT.schema)?;
        connection.migrate(&LAYOUT)?;
        Ok(Self { connection, server: Some(own.to_owned()) })
    }

    /// For the tables of schedules.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The id of this service, where several share the database.
    pub(crate) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Whether a run belongs to this service.
    pub(crate) fn owns(&self, run: &AskedRun) -> bool {
        run.server == self.server
    }

    /// Adds a run to the end of the queue.
    pub(crate) fn add(&self, run: &NewRun<'_>) -> Result<(), DatabaseError> {
        self.connection.execute(
            "INSERT INTO runs (id, name, request, hosts, state, asked, has_keys, idempotency_key, digest, storperf,
                server, kind)
             VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                run.id,
                run.name,
                run.request,
                serde_json::to_string(run.hosts).unwrap_or_default(),
                run.asked.to_string(),
                run.has_keys,
                run.idempotency_key,
                run.digest,
                run.storperf,
                self.server,
                run.kind.name(),
            ],
        )?;
        Ok(())
    }

    /// Marks a queued run as running. A resumed run keeps its first start, as in the results.
    pub(crate) fn begin(&self, id: &str, at: Timestamp) -> Result<(), DatabaseError> {
        let set = "UPDATE runs SET state = 'running', started = COALESCE(started, ?2)
             WHERE id = ?1 AND state = 'queued'";
        self.connection.execute(set, params![id, at.to_string()]).map(|_| ())
    }

    /// Puts a run that did not finish back into the queue; false if it is not such a run.
    pub(crate) fn requeue(&self, id: &str, has_keys: bool) -> Result<bool, DatabaseError> {
        let set = "UPDATE runs SET state = 'queued', reason = NULL, finished = NULL, has_keys = ?2
             WHERE id = ?1 AND state IN ('interrupted', 'failed')";
        self.connection.execute(set, params![id, has_keys]).map(|changed| changed > 0)
    }

    /// Marks a run as ended.
    pub(crate) fn end(
        &self,
        id: &str,
        state: AskedState,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<(), DatabaseError> {
        let set = "UPDATE runs SET state = ?2, reason = ?3, finished = ?4 WHERE id = ?1";
        self.connection.execute(set, params![id, state.name(), reason, at.to_string()]).map(|_| ())
    }

    /// A run by its id.
    pub(crate) fn run(&self, id: &str) -> Result<Option<AskedRun>, DatabaseError> {
        self.one("id = ?1", id)
    }

    /// A run by the idempotency key that came with it.
    pub(crate) fn by_key(&self, key: &str) -> Result<Option<AskedRun>, DatabaseError> {
        self.one("idempotency_key = ?1", key)
    }

    fn one(&self, condition: &str, value: &str) -> Result<Option<AskedRun>, DatabaseError> {
        let query = format!("SELECT {COLUMNS} FROM runs WHERE {condition}");
        self.connection.optional_row(&query, params![value], asked_run)
    }

    /// What belongs to a run that is a job of `StorPerf`'s.
    pub(crate) fn storperf(&self, id: &str) -> Result<Option<StorperfJob>, DatabaseError> {
        let query = "SELECT storperf FROM runs WHERE id = ?1 AND storperf IS NOT NULL";
        self.connection.optional_row(query, params![id], |row| storperf(row, 0))
    }

    /// Up to `limit` runs that are jobs of `StorPerf`'s, newest first.
    pub(crate) fn storperf_jobs(&self, limit: u32) -> Result<Vec<(AskedRun, StorperfJob)>, DatabaseError> {
        let query = format!(
            "SELECT {COLUMNS}, storperf FROM runs WHERE storperf IS NOT NULL ORDER BY number DESC LIMIT ?1"
        );
        self.connection
            .rows(&query, params![limit], |found| Ok((asked_run(found)?, storperf(found, COLUMN_COUNT)?)))
    }

    /// What was posted as a run, without secrets.
    pub(crate) fn request(&self, id: &str) -> Result<String, DatabaseError> {
        self.connection.row("SELECT request FROM runs WHERE id = ?1", params![id], |row| row.get(0))
    }

    /// Stores the result of a run that is no experiment, as JSON.
    pub(crate) fn set_result(&self, id: &str, result: &str) -> Result<(), DatabaseError> {
        self.connection.execute("UPDATE runs SET result = ?2 WHERE id = ?1", params![id, result]).map(|_| ())
    }

    /// The result of a run that is no experiment, if it has one yet.
    pub(crate) fn result(&self, id: &str) -> Result<Option<String>, DatabaseError> {
        self.connection.row("SELECT result FROM runs WHERE id = ?1", params![id], |row| row.get(0))
    }

    /// This service's runs in a state, oldest first.
    pub(crate) fn in_state(&self, state: AskedState) -> Result<Vec<AskedRun>, DatabaseError> {
        let query = format!(
            "SELECT {COLUMNS} FROM runs WHERE state = ?1 AND (server IS NULL OR server = ?2) ORDER BY number"
        );
        self.connection.rows(&query, params![state.name(), self.server], asked_run)
    }

    /// Up to `limit` runs of a kind, newest first, each with what was posted.
    pub(crate) fn of_kind(
        &self,
        kind: RunKind,
        limit: u32,
    ) -> Result<Vec<(AskedRun, String)>, DatabaseError> {
        let query =
            format!("SELECT {COLUMNS}, request FROM runs WHERE kind = ?1 ORDER BY number DESC LIMIT ?2");
        self.connection
            .rows(&query, params![kind.name(), limit], |row| Ok((asked_run(row)?, row.get(COLUMN_COUNT)?)))
    }

    /// Up to `limit` runs, newest first, older than the one with number `before`.
    pub(crate) fn page(&self, before: i64, limit: u32) -> Result<Vec<AskedRun>, DatabaseError> {
        let query = format!("SELECT {COLUMNS} FROM runs WHERE number < ?1 ORDER BY number DESC LIMIT ?2");
        self.connection.rows(&query, params![before, limit], asked_run)
    }

    /// The newest runs of an experiment that measured something, newest first.
    pub(crate) fn ended_of(&self, name: &str, limit: u32) -> Result<Vec<AskedRun>, DatabaseError> {
        let query = format!(
            "SELECT {COLUMNS} FROM runs WHERE name = ?1 AND state IN ('finished', 'interrupted')
             ORDER BY number DESC LIMIT ?2"
        );
        self.connection.rows(&query, params![name, limit], asked_run)
    }
}

fn storperf(row: &Row<'_>, column: usize) -> Result<StorperfJob, DatabaseError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| row.bad(error))
}

/// A run, from a row of [`COLUMNS`].
pub(crate) fn asked_run(row: &Row<'_>) -> Result<AskedRun, DatabaseError> {
    let time = |column: usize| -> Result<Option<Timestamp>, DatabaseError> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| text.parse().map_err(|_| row.bad(format!("{text:?} is no time")))).transpose()
    };
    let (hosts, state): (String, String) = (row.get(3)?, row.get(4)?);
    let state = AskedState::ALL.into_iter().find(|known| known.name() == state);
    let kind: String = row.get(12)?;
    Ok(AskedRun {
        kind: RunKind::of_name(&kind).ok_or_else(|| row.bad("unknown kind"))?,
        number: row.get(0)?,
        id: row.get(1)?,
        name: row.get(2)?,
        hosts: serde_json::from_str(&hosts).map_err(|error| row.bad(error))?,
        state: state.ok_or_else(|| row.bad("unknown state"))?,
        asked: time(5)?.ok_or_else(|| row.bad("no time"))?,
        started: time(6)?,
        finished: time(7)?,
        reason: row.get(8)?,
        has_keys: row.get(9)?,
        digest: row.get(10)?,
        server: row.get(11)?,
    })
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
