//! What was recorded of a cell: which stages and trials, and how much of each.

use rusqlite::params;
use serde::Serialize;

use crate::error::StoreError;
use crate::store::Store;

/// A series of intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageKey {
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    pub stage: String,
    /// Which measurement of a study; 0 otherwise.
    pub trial: u32,
    /// How many intervals there are.
    pub intervals: u32,
}

impl Store {
    /// The stages of a cell of which intervals are kept, in the order in which they began.
    ///
    /// # Errors
    /// When the run or cell is not in the file, or the file cannot be read.
    pub fn stages(&self, run: &str, cell: u32) -> Result<Vec<StageKey>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let read = || -> rusqlite::Result<Vec<StageKey>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT stage, trial, (SELECT count(*) FROM intervals WHERE intervals.stage = stages.number)
                 FROM stages WHERE cell = ?1 AND host = '' ORDER BY number",
            )?;
            let rows = statement.query_map(params![cell], |row| {
                Ok(StageKey { stage: row.get(0)?, trial: row.get(1)?, intervals: row.get(2)? })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.error(error))
    }
}
