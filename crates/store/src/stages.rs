//! What was recorded for a cell: its stages and trials, and the number of intervals in each.

use database::params;
use serde::Serialize;

use crate::error::StoreError;
use crate::store::Store;

/// A series of intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageKey {
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    pub stage: String,
    /// Number of the measurement in a study; 0 otherwise.
    pub trial: u32,
    /// Number of intervals.
    pub intervals: u32,
}

impl Store {
    /// The stages of a cell with stored intervals, in the order in which they started.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be read.
    pub fn stages(&self, run: &str, cell: u32) -> Result<Vec<StageKey>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        self.connection
            .rows(
                "SELECT stage, trial, (SELECT count(*) FROM intervals WHERE intervals.stage = stages.number)
                 FROM stages WHERE cell = ?1 AND host = '' ORDER BY number",
                params![cell],
                |row| Ok(StageKey { stage: row.get(0)?, trial: row.get(1)?, intervals: row.get(2)? }),
            )
            .map_err(|error| self.error(error))
    }
}
