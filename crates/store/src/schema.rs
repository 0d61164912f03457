//! The layout of the file, and its migration from older versions.
//!
//! Plain tables, plain types and two views that any SQLite since 3.9 (2015) understands, so that any available
//! `sqlite3`, Python or R can read the file.

use rusqlite::Connection;

/// The version of the layout that this program writes (`PRAGMA user_version`).
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// `PRAGMA application_id`: "mano".
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"mano");

/// `MIGRATIONS[n]` migrates from version `n` to version `n + 1`. A released migration never changes: `tests/layout.rs`
/// holds a fingerprint of each.
pub(crate) const MIGRATIONS: [&str; 3] = [V1, V2, V3];

const V1: &str = "
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT,
    version TEXT NOT NULL,
    owner TEXT,
    plan TEXT NOT NULL
);
CREATE TABLE environment (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE cells (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    cell INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    validity TEXT,
    started TEXT,
    finished TEXT,
    failure TEXT,
    result TEXT,
    UNIQUE (run, cell)
);
CREATE TABLE stages (
    number INTEGER PRIMARY KEY,
    cell INTEGER NOT NULL REFERENCES cells (number) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    trial INTEGER NOT NULL,
    UNIQUE (cell, stage, trial)
);
CREATE TABLE intervals (
    number INTEGER PRIMARY KEY,
    stage INTEGER NOT NULL REFERENCES stages (number) ON DELETE CASCADE,
    interval INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    length_ns INTEGER NOT NULL,
    UNIQUE (stage, interval)
);
CREATE TABLE interval_ops (
    number INTEGER PRIMARY KEY,
    interval INTEGER NOT NULL REFERENCES intervals (number) ON DELETE CASCADE,
    op TEXT NOT NULL,
    ok INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    rpcs INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    mean_ns REAL NOT NULL,
    p50_ns INTEGER NOT NULL,
    p99_ns INTEGER NOT NULL,
    p999_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    errors TEXT,
    service BLOB,
    response BLOB,
    UNIQUE (interval, op)
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    cell INTEGER,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX events_of_run ON events (run);
CREATE VIEW series AS
    SELECT runs.id AS run, cells.cell AS cell, stages.stage AS stage, stages.trial AS trial,
        intervals.interval AS interval, intervals.start_ns AS start_ns, intervals.length_ns AS length_ns, o.op AS op,
        o.ok AS ok, o.failed AS failed, o.bytes AS bytes, o.rpcs AS rpcs, o.retries AS retries,
        o.ok * 1e9 / intervals.length_ns AS ops_per_s, o.bytes * 1e9 / intervals.length_ns AS bytes_per_s,
        o.mean_ns AS mean_ns, o.p50_ns AS p50_ns, o.p99_ns AS p99_ns, o.p999_ns AS p999_ns, o.max_ns AS max_ns,
        o.errors AS errors
    FROM runs JOIN cells ON cells.run = runs.number JOIN stages ON stages.cell = cells.number
        JOIN intervals ON intervals.stage = stages.number JOIN interval_ops AS o ON o.interval = intervals.number;
CREATE VIEW figures AS
    SELECT runs.id AS run, cells.cell AS cell, cells.name AS name, cells.validity AS validity,
        json_extract(cells.result, '$.steady.reached') AS steady, json_extract(o.value, '$.op') AS op,
        json_extract(o.value, '$.ok') AS ok, json_extract(o.value, '$.failed') AS failed,
        json_extract(o.value, '$.ops_per_s.mean') AS ops_per_s,
        json_extract(o.value, '$.ops_per_s.low') AS ops_per_s_low,
        json_extract(o.value, '$.ops_per_s.high') AS ops_per_s_high,
        json_extract(o.value, '$.bytes_per_s.mean') AS bytes_per_s,
        json_extract(o.value, '$.bytes_per_s.low') AS bytes_per_s_low,
        json_extract(o.value, '$.bytes_per_s.high') AS bytes_per_s_high,
        json_extract(o.value, '$.response.p50_ns') AS p50_ns, json_extract(o.value, '$.response.p99_ns') AS p99_ns,
        json_extract(o.value, '$.response.max_ns') AS max_ns
    FROM runs JOIN cells ON cells.run = runs.number JOIN json_each(cells.result, '$.ops') AS o;
";

/// Hosts of a fleet: their own series beside the combined one (whose host is ''), their samples, their facts; and
/// baselines. `series` and `figures` still show only the combined series.
const V2: &str = "
DROP VIEW series;
CREATE TABLE stages_by_host (
    number INTEGER PRIMARY KEY,
    cell INTEGER NOT NULL REFERENCES cells (number) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    trial INTEGER NOT NULL,
    host TEXT NOT NULL,
    UNIQUE (cell, stage, trial, host)
);
INSERT INTO stages_by_host (number, cell, stage, trial, host) SELECT number, cell, stage, trial, '' FROM stages;
DROP TABLE stages;
ALTER TABLE stages_by_host RENAME TO stages;
CREATE TABLE hosts (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    host TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (run, host)
) WITHOUT ROWID;
CREATE TABLE host_environment (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    host TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, host, name)
) WITHOUT ROWID;
CREATE TABLE samples (
    cell INTEGER NOT NULL REFERENCES cells (number) ON DELETE CASCADE,
    host TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    sample TEXT NOT NULL,
    PRIMARY KEY (cell, host, position)
) WITHOUT ROWID;
CREATE TABLE baselines (
    name TEXT PRIMARY KEY,
    kept TEXT NOT NULL,
    content TEXT NOT NULL
) WITHOUT ROWID;
CREATE VIEW all_series AS
    SELECT runs.id AS run, cells.cell AS cell, stages.stage AS stage, stages.trial AS trial, stages.host AS host,
        intervals.interval AS interval, intervals.start_ns AS start_ns, intervals.length_ns AS length_ns, o.op AS op,
        o.ok AS ok, o.failed AS failed, o.bytes AS bytes, o.rpcs AS rpcs, o.retries AS retries,
        o.ok * 1e9 / intervals.length_ns AS ops_per_s, o.bytes * 1e9 / intervals.length_ns AS bytes_per_s,
        o.mean_ns AS mean_ns, o.p50_ns AS p50_ns, o.p99_ns AS p99_ns, o.p999_ns AS p999_ns, o.max_ns AS max_ns,
        o.errors AS errors
    FROM runs JOIN cells ON cells.run = runs.number JOIN stages ON stages.cell = cells.number
        JOIN intervals ON intervals.stage = stages.number JOIN interval_ops AS o ON o.interval = intervals.number;
CREATE VIEW series AS
    SELECT run, cell, stage, trial, interval, start_ns, length_ns, op, ok, failed, bytes, rpcs, retries, ops_per_s,
        bytes_per_s, mean_ns, p50_ns, p99_ns, p999_ns, max_ns, errors
    FROM all_series WHERE host = '';
CREATE VIEW host_series AS SELECT * FROM all_series WHERE host <> '';
CREATE VIEW host_figures AS
    SELECT runs.id AS run, cells.cell AS cell, cells.name AS name, json_extract(h.value, '$.name') AS host,
        json_extract(h.value, '$.lost.why') AS lost, json_extract(h.value, '$.total.ok') AS ok,
        json_extract(h.value, '$.total.failed') AS failed,
        json_extract(h.value, '$.total.ops_per_s.mean') AS ops_per_s,
        json_extract(h.value, '$.total.bytes_per_s.mean') AS bytes_per_s,
        json_extract(h.value, '$.total.response.p50_ns') AS p50_ns,
        json_extract(h.value, '$.total.response.p99_ns') AS p99_ns,
        json_extract(h.value, '$.total.response.max_ns') AS max_ns
    FROM runs JOIN cells ON cells.run = runs.number JOIN json_each(cells.result, '$.hosts') AS h;
";

/// RPCs by procedure.
const V3: &str = "
ALTER TABLE interval_ops ADD COLUMN procedures TEXT;
";

/// Makes a read-only file of an earlier version look like one of [`VERSION`] to this connection only: names in the
/// temporary schema take precedence.
pub(crate) fn shown_as_newest(connection: &Connection) -> rusqlite::Result<()> {
    let found = version(connection)?;
    if found >= 3 {
        return Ok(());
    }
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY;
         CREATE TEMP VIEW interval_ops AS SELECT *, NULL AS procedures FROM main.interval_ops;",
    )?;
    if found >= 2 {
        return Ok(());
    }
    connection.execute_batch(
        "CREATE TEMP VIEW stages AS SELECT number, cell, stage, trial, '' AS host FROM main.stages;
         CREATE TEMP TABLE hosts (run, host, position);
         CREATE TEMP TABLE host_environment (run, host, name, value);
         CREATE TEMP TABLE samples (cell, host, position, at_ns, sample);
         CREATE TEMP TABLE baselines (name, kept, content);",
    )
}

/// The version of an open file.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The application id of an open file.
pub(crate) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA application_id", [], |row| row.get(0))
}

/// Whether the database has no table, application id or version: it belongs to nobody.
pub(crate) fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    if application_id(connection)? != 0 || version(connection)? != 0 {
        return Ok(false);
    }
    connection.query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| row.get(0))
}

/// Migrates the file to [`VERSION`], in one transaction; waits for another process that is migrating it. False if the
/// file is neither ours nor blank.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<bool> {
    if is_blank(connection)? {
        // Only takes effect in a blank file: the space of removed runs can be returned to the file system. Written at
        // once, so that an interrupted creation leaves a blank file.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    if application_id(connection)? == APPLICATION_ID && version(connection)? >= VERSION {
        return Ok(true);
    }
    // Tables are recreated under their names; rows that refer to them must not be deleted with the old ones. This
    // cannot be set within a transaction. (https://sqlite.org/lang_altertable.html, 7)
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if application_id(&transaction)? != APPLICATION_ID && !is_blank(&transaction)? {
        return Ok(false);
    }
    let found = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    if found < VERSION {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(true)
}
