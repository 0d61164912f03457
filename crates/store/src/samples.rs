//! What hosts reported of themselves while they measured: one line of JSON each second, and never more than
//! [`SAMPLES_KEPT`] of a host and cell.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde::Serialize;

use crate::encode::{signed, unsigned};
use crate::error::StoreError;
use crate::store::Store;

/// This many samples of a host are kept of a cell; when there are more, every other one is left out, again and again.
pub const SAMPLES_KEPT: u32 = 3600;

/// What a host reported at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Nanoseconds since the measured window began.
    pub at_ns: u64,
    /// What it said.
    pub value: serde_json::Value,
}

/// How many samples of each host came in, while they are written.
#[derive(Debug, Default)]
pub(crate) struct Thinned {
    of: BTreeMap<(i64, String), Kept>,
}

#[derive(Debug)]
struct Kept {
    seen: u32,
    /// Every how many-th is kept: a power of two.
    each: u32,
}

impl Thinned {
    /// Writes a sample, unless it is one of those that are left out.
    pub(crate) fn write(
        &mut self,
        connection: &Connection,
        cell: i64,
        host: &str,
        at_ns: u64,
        text: &str,
    ) -> rusqlite::Result<()> {
        let kept = self.of.entry((cell, host.to_owned())).or_insert(Kept { seen: 0, each: 1 });
        let position = kept.seen;
        kept.seen = kept.seen.saturating_add(1);
        if !position.is_multiple_of(kept.each) {
            return Ok(());
        }
        if position / kept.each >= SAMPLES_KEPT {
            kept.each *= 2;
            connection
                .prepare_cached("DELETE FROM samples WHERE cell = ?1 AND host = ?2 AND position % ?3 <> 0")?
                .execute(params![cell, host, kept.each])?;
            if !position.is_multiple_of(kept.each) {
                return Ok(());
            }
        }
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO samples (cell, host, position, at_ns, sample) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![cell, host, position, signed(at_ns), text])?;
        Ok(())
    }
}

impl Store {
    /// What a host reported during a cell, in order of time.
    ///
    /// # Errors
    /// When the run or cell is not in the file, or the file cannot be read.
    pub fn samples(&self, run: &str, cell: u32, host: &str) -> Result<Vec<Sample>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let read = || -> rusqlite::Result<Vec<Sample>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT at_ns, sample FROM samples WHERE cell = ?1 AND host = ?2 ORDER BY position",
            )?;
            let rows = statement.query_map(params![cell, host], |row| {
                Ok(Sample { at_ns: unsigned(row.get(0)?), value: crate::find::from_json(row, 1)? })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.unreadable(error))
    }

    /// The hosts that reported something during a cell, by name.
    ///
    /// # Errors
    /// As [`Store::samples`].
    pub fn sampled_hosts(&self, run: &str, cell: u32) -> Result<Vec<String>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT DISTINCT host FROM samples WHERE cell = ?1 ORDER BY host")?;
            statement.query_map([cell], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.error(error))
    }
}
