//! Removes a whole run, or what an earlier attempt at a cell left, in small transactions that do not hold up a run
//! being recorded into the same file.

use database::params;

use crate::error::StoreError;
use crate::store::Store;

/// Intervals removed per transaction: some ten milliseconds.
const AT_ONCE: u32 = 500;
/// Free pages (4 KiB) released per transaction.
const PAGES_AT_ONCE: u32 = 1000;

impl Store {
    /// Removes a run by its exact id, and returns its space to the file system.
    ///
    /// # Errors
    /// No run has this id, a running process is executing it, or the file cannot be written.
    pub fn forget(&self, run: &str) -> Result<(), StoreError> {
        let number = self.number_of(run)?;
        if let Some(holder) = self.lives_elsewhere(&self.connection, number)? {
            return Err(StoreError::Alive { id: run.to_owned(), holder });
        }
        for cell in self.cell_numbers(number)? {
            self.drop_intervals(cell)?;
        }
        self.write(|transaction| transaction.execute("DELETE FROM runs WHERE number = ?1", params![number]))?;
        self.give_back()
    }

    fn cell_numbers(&self, run: i64) -> Result<Vec<i64>, StoreError> {
        self.connection
            .rows("SELECT number FROM cells WHERE run = ?1", params![run], |row| row.get(0))
            .map_err(|error| self.error(error))
    }

    /// Drops the intervals and samples of a cell.
    pub(crate) fn drop_intervals(&self, cell: i64) -> Result<(), StoreError> {
        loop {
            let dropped = self.write(|transaction| {
                transaction.execute(
                    "DELETE FROM intervals WHERE number IN (SELECT intervals.number FROM intervals
                         JOIN stages ON stages.number = intervals.stage WHERE stages.cell = ?1 LIMIT ?2)",
                    params![cell, AT_ONCE],
                )
            })?;
            if dropped == 0 {
                break;
            }
        }
        self.write(|transaction| {
            transaction.execute("DELETE FROM samples WHERE cell = ?1", params![cell])?;
            transaction.execute("DELETE FROM stages WHERE cell = ?1", params![cell])
        })?;
        Ok(())
    }

    /// Moves free pages to the end of the file and truncates it. A server does so itself.
    fn give_back(&self) -> Result<(), StoreError> {
        let Some(connection) = self.connection.sqlite() else { return Ok(()) };
        let free = || connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
        let give = || -> rusqlite::Result<()> {
            let mut left = free()?;
            while left > 0 {
                let step = format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})");
                let mut statement = connection.prepare_cached(&step)?;
                // Each row fetched moves one page.
                let mut moved = statement.query([])?;
                while moved.next()?.is_some() {}
                let now = free()?;
                if now >= left {
                    break;
                }
                left = now;
            }
            // Only now does the file itself shrink. Another process that is reading is no reason to fail.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        give().map_err(|error| StoreError::from_sqlite(&self.path, error))
    }
}
