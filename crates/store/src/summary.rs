//! A summary of the runs in a file, without reading their plans or results.

use database::{DatabaseError, Row, params};
use jiff::Timestamp;
use serde::Serialize;

use crate::error::StoreError;
use crate::owner;
use crate::record::{MADE_BY, State, Validity};
use crate::store::Store;

/// A line of `manometer list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// The command behind it: `run`, or `check`, `network`, `calibrate`, which measure without an experiment.
    pub kind: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How far it got, as recorded.
    pub state: State,
    /// Recorded as running, but its process is gone: `manometer run --resume` continues it.
    pub abandoned: bool,
    /// Completed cells.
    pub cells_done: u32,
    /// Total cells.
    pub cells: u32,
    /// Cells that could not run.
    pub cells_failed: u32,
    /// The worst verdict of its cells; `None` if no cell has one.
    pub verdict: Option<Validity>,
}

impl Store {
    /// Every run, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn summaries(&self) -> Result<Vec<RunSummary>, StoreError> {
        let shared = self.is_shared();
        self.connection
            .rows(
                "SELECT id, runs.name, runs.started, runs.finished, runs.state, owner, count(cells.number),
                    count(CASE WHEN cells.state = 'finished' THEN 1 END),
                    count(CASE WHEN cells.state = 'failed' THEN 1 END),
                    max(CASE validity WHEN 'VALID' THEN 1 WHEN 'WARN' THEN 2 WHEN 'INVALID' THEN 3 END),
                    (SELECT value FROM environment WHERE environment.run = runs.number AND environment.name = ?1)
                 FROM runs LEFT JOIN cells ON cells.run = runs.number
                 GROUP BY runs.number ORDER BY runs.started, runs.number",
                params![MADE_BY],
                |row| summary(row, shared),
            )
            .map_err(|error| self.unreadable(error))
    }
}

fn summary(row: &Row<'_>, shared: bool) -> Result<RunSummary, DatabaseError> {
    let state = crate::find::state(row, 4)?;
    let owner: Option<String> = row.get(5)?;
    Ok(RunSummary {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: row.get::<Option<String>>(10)?.unwrap_or_else(|| "run".to_owned()),
        started: crate::find::moment(row, 2)?,
        finished: crate::find::optional_moment(row, 3)?,
        state,
        abandoned: state == State::Running
            && !owner.as_deref().is_some_and(|owner| owner::alive(owner, shared)),
        cells: row.get(6)?,
        cells_done: row.get(7)?,
        cells_failed: row.get(8)?,
        verdict: row.get::<Option<u8>>(9)?.map(|worst| match worst {
            1 => Validity::Valid,
            2 => Validity::Warn,
            _ => Validity::Invalid,
        }),
    })
}
