//! Samples that hosts take of themselves during a measurement: one line of JSON per second, and at most
//! [`SAMPLES_KEPT`] per host and cell.

use std::collections::BTreeMap;

use database::{Connection, DatabaseError, params};
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

/// What becomes of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thinning {
    /// From now on, only one of every this many is stored.
    each: Option<u32>,
    /// Where the sample is stored, unless it is thinned out.
    position: Option<u32>,
}

impl Thinned {
    /// What becomes of the next sample of a host.
    pub(crate) fn next(&mut self, cell: i64, host: &str) -> Thinning {
        let kept = self.of.entry((cell, host.to_owned())).or_insert(Kept { seen: 0, each: 1 });
        let position = kept.seen;
        kept.seen = kept.seen.saturating_add(1);
        let mut each = None;
        if position.is_multiple_of(kept.each) && position / kept.each >= SAMPLES_KEPT {
            kept.each *= 2;
            each = Some(kept.each);
        }
        Thinning { each, position: Some(position).filter(|position| position.is_multiple_of(kept.each)) }
    }
}

impl Thinning {
    /// Writes a sample, unless it is thinned out.
    pub(crate) fn write(
        self,
        connection: &Connection,
        cell: i64,
        host: &str,
        at_ns: u64,
        text: &str,
    ) -> Result<(), DatabaseError> {
        if let Some(each) = self.each {
            connection.execute(
                "DELETE FROM samples WHERE cell = ?1 AND host = ?2 AND position % ?3 <> 0",
                params![cell, host, each],
            )?;
        }
        if let Some(position) = self.position {
            connection.execute(
                "INSERT INTO samples (cell, host, position, at_ns, sample) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (cell, host, position) DO UPDATE SET at_ns = excluded.at_ns, sample = excluded.sample",
                params![cell, host, position, signed(at_ns), text],
            )?;
        }
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
        let all = "SELECT at_ns, sample FROM samples WHERE cell = ?1 AND host = ?2 ORDER BY position";
        self.connection
            .rows(all, params![cell, host], |row| {
                Ok(Sample { at_ns: unsigned(row.get(0)?), value: crate::find::from_json(row, 1)? })
            })
            .map_err(|error| self.unreadable(error))
    }

    /// The hosts with samples of a cell, by name.
    ///
    /// # Errors
    /// As [`Store::samples`].
    pub fn sampled_hosts(&self, run: &str, cell: u32) -> Result<Vec<String>, StoreError> {
        let cell = self.cell_number(run, cell)?;
        let all = "SELECT DISTINCT host FROM samples WHERE cell = ?1 ORDER BY host";
        self.connection.rows(all, params![cell], |row| row.get(0)).map_err(|error| self.error(error))
    }
}
