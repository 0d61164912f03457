//! Samples that hosts take of themselves during a measurement: one line of JSON per second, and at most
//! [`SAMPLES_KEPT`] per host and cell.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use serde::Serialize;

use crate::encode::{signed, unsigned};
use crate::error::StoreError;
use crate::store::Store;

/// Maximum samples stored per host and cell; beyond that every second one is dropped, repeatedly.
pub const SAMPLES_KEPT: u32 = 3600;

/// A host's sample at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Nanoseconds since the measured window began.
    pub at_ns: u64,
    /// The sample.
    pub value: serde_json::Value,
}

/// Counts of incoming samples per host, while they are written.
#[derive(Debug, Default)]
pub(crate) struct Thinned {
    of: BTreeMap<(i64, String), Kept>,
}

#[derive(Debug)]
struct Kept {
    seen: u32,
    /// Stores one of every this many samples: a power of two.
    each: u32,
}

impl Thinned {
    /// Writes a sample, unless it is thinned out.
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
    /// A host's samples of a cell, in order of time.
    ///
    /// # Errors
    /// The run or cell is not in the file, or the file cannot be read.
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

    /// The hosts with samples of a cell, by name.
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
