//! Layouts of tables, and their migration from version to version.

use crate::connection::{Connection, Engine};
use crate::dialect;
use crate::error::{DatabaseCause, DatabaseError};
use crate::params;

/// A step from one version of a layout to the next. A released step never changes.
#[derive(Clone, Copy, Debug)]
pub enum Migration {
    /// Statements for both engines, with SQLite's types.
    Both(&'static str),
    /// Statements of each engine, where one cannot do what the other does.
    Each {
        /// For SQLite.
        sqlite: &'static str,
        /// For PostgreSQL.
        postgres: &'static str,
    },
}

/// Tables that belong together: an SQLite file, or a schema of a PostgreSQL database.
#[derive(Clone, Copy, Debug)]
pub struct TableLayout {
    /// The PostgreSQL schema.
    pub schema: &'static str,
    /// Step `n` leads from version `n` to version `n + 1`.
    pub migrations: &'static [Migration],
}

impl TableLayout {
    /// The version that this program writes.
    pub const fn version(&self) -> i64 {
        self.migrations.len() as i64
    }
}

impl Connection {
    /// Brings the tables to the newest version of their layout, in one transaction; another process that does the same
    /// is waited for.
    ///
    /// # Errors
    /// A newer program wrote them, or they cannot be read or written.
    pub fn migrate(&self, layout: &TableLayout) -> Result<(), DatabaseError> {
        if let Engine::Sqlite(_) = self.engine {
            return self.transaction(|connection| connection.migrate_file(layout));
        }
        if self.version_of(layout)? == Some(layout.version()) {
            return Ok(());
        }
        self.transaction(|connection| connection.migrate_schema(layout))
    }

    fn migrate_file(&self, layout: &TableLayout) -> Result<(), DatabaseError> {
        let found: i64 = self.row("PRAGMA user_version", params![], |row| row.get(0))?;
        for step in self.steps(layout, found)? {
            let (Migration::Both(sql) | Migration::Each { sqlite: sql, .. }) = step;
            self.batch(sql)?;
        }
        self.batch(&format!("PRAGMA user_version = {}", layout.version()))
    }

    fn migrate_schema(&self, layout: &TableLayout) -> Result<(), DatabaseError> {
        let schema = layout.schema;
        // Released at the end of the transaction.
        let lock = "SELECT pg_advisory_xact_lock(hashtext('manometer'), hashtext(?1))::text";
        self.rows(lock, params![schema], |_| Ok(()))?;
        // Creating needs a privilege even if the schema exists.
        let exists: bool =
            self.row("SELECT to_regnamespace(?1) IS NOT NULL", params![schema], |row| row.get(0))?;
        if !exists {
            self.batch(&format!("CREATE SCHEMA {schema}"))?;
        }
        let found = match self.version_of(layout)? {
            Some(found) => found,
            None => {
                self.batch("CREATE TABLE layout (version BIGINT NOT NULL); INSERT INTO layout VALUES (0);")?;
                0
            }
        };
        for step in self.steps(layout, found)? {
            match step {
                Migration::Both(sql) => self.batch(&dialect::definitions(sql))?,
                Migration::Each { postgres, .. } => self.batch(postgres)?,
            }
        }
        if found < layout.version() {
            self.execute("UPDATE layout SET version = ?1", params![layout.version()])?;
        }
        Ok(())
    }

    /// The version of the tables on a server; `None` if there are none.
    fn version_of(&self, layout: &TableLayout) -> Result<Option<i64>, DatabaseError> {
        let table = format!("{}.layout", layout.schema);
        let exists: bool =
            self.row("SELECT to_regclass(?1) IS NOT NULL", params![table], |row| row.get(0))?;
        match exists {
            true => self.optional_row("SELECT version FROM layout", params![], |row| row.get(0)),
            false => Ok(None),
        }
    }

    /// The steps from version `found`.
    fn steps(&self, layout: &TableLayout, found: i64) -> Result<&'static [Migration], DatabaseError> {
        let known = layout.version();
        usize::try_from(found)
            .ok()
            .and_then(|found| layout.migrations.get(found..))
            .ok_or_else(|| self.error(DatabaseCause::Newer { found, known }))
    }
}
