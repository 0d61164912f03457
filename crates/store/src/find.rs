//! Reads runs, cells and events, and finds the run that a user means.

use std::collections::BTreeMap;

use database::{DatabaseCause, DatabaseError, Row, Value, params};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::record::{CellRecord, Environment, Event, RunRecord, State};
use crate::store::Store;

/// Maximum runs that a message names before it says "…".
const NAMED: usize = 6;

impl Store {
    /// Every run, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunRecord>, StoreError> {
        let all = "SELECT number FROM runs ORDER BY started, number";
        let numbers: Vec<i64> =
            self.connection.rows(all, params![], |row| row.get(0)).map_err(|error| self.error(error))?;
        numbers.into_iter().map(|number| self.run_of_number(number)).collect()
    }

    /// Finds a run by its id, the beginning of an id, a name, `last` for the most recently started run, or `last~1` for
    /// the one before it.
    ///
    /// # Errors
    /// No run or more than one matches (the message lists them), or the file cannot be read.
    pub fn run(&self, text: &str) -> Result<RunRecord, StoreError> {
        self.run_of_number(self.find(text)?)
    }

    /// The run with this exact id, if there is one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn run_of_id(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        let number = self
            .connection
            .optional_row("SELECT number FROM runs WHERE id = ?1", params![id], |row| row.get(0))
            .map_err(|error| self.error(error))?;
        number.map(|number| self.run_of_number(number)).transpose()
    }

    fn find(&self, text: &str) -> Result<i64, StoreError> {
        let one = |query: &str, parameters: &[Value<'_>]| -> Result<Option<i64>, StoreError> {
            self.connection
                .optional_row(query, parameters, |row| row.get(0))
                .map_err(|error| self.error(error))
        };
        if let Some(number) = one("SELECT number FROM runs WHERE id = ?1", params![text])? {
            return Ok(number);
        }
        let back = if text == "last" { Some("0") } else { text.strip_prefix("last~") };
        if let Some(back) = back.and_then(|back| back.parse::<u32>().ok()) {
            let nth = "SELECT number FROM runs ORDER BY started DESC, number DESC LIMIT 1 OFFSET ?1";
            return one(nth, params![back])?.ok_or_else(|| self.unknown(text));
        }
        let mut meant: Vec<(i64, String, String)> = self
            .connection
            .rows(
                "SELECT number, id, name FROM runs WHERE substr(id, 1, length(?1)) = ?1 OR name = ?1
                 ORDER BY started DESC, number DESC",
                params![text],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .map_err(|error| self.error(error))?;
        if text.is_empty() {
            meant.clear();
        }
        match meant.as_slice() {
            [] => Err(self.unknown(text)),
            [(number, ..)] => Ok(*number),
            several => {
                let candidates = several.iter().map(|(_, id, name)| (id.as_str(), name.as_str()));
                Err(StoreError::Ambiguous { text: text.to_owned(), candidates: listed(candidates) })
            }
        }
    }

    /// The error for a run that does not exist.
    pub(crate) fn unknown(&self, text: &str) -> StoreError {
        let all = "SELECT id, name FROM runs ORDER BY started DESC, number DESC";
        let there: Result<Vec<(String, String)>, DatabaseError> =
            self.connection.rows(all, params![], |row| Ok((row.get(0)?, row.get(1)?)));
        let candidates = match there {
            Err(error) => return self.error(error),
            Ok(there) if there.is_empty() => {
                "the file holds none; next: make one with `manometer run FILE`".to_owned()
            }
            Ok(there) => format!(
                "of {} runs there are {}; next: `manometer list` shows all",
                there.len(),
                listed(there.iter().map(|(id, name)| (id.as_str(), name.as_str())))
            ),
        };
        StoreError::Unknown { path: self.path.clone(), text: text.to_owned(), candidates }
    }

    fn run_of_number(&self, number: i64) -> Result<RunRecord, StoreError> {
        let facts: Vec<(String, String)> = self
            .connection
            .rows("SELECT name, value FROM environment WHERE run = ?1", params![number], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(|error| self.error(error))?;
        let environment = Environment { facts: facts.into_iter().collect::<BTreeMap<_, _>>() };
        let hosts = self.hosts_of_number(number).map_err(|error| self.error(error))?;
        let record = self
            .connection
            .row(
                "SELECT id, name, started, finished, state, version, plan FROM runs WHERE number = ?1",
                params![number],
                |row| {
                    Ok(RunRecord {
                        id: row.get(0)?,
                        name: row.get(1)?,
                        started: moment(row, 2)?,
                        finished: optional_moment(row, 3)?,
                        state: state(row, 4)?,
                        version: row.get(5)?,
                        plan: from_json(row, 6)?,
                        environment: Environment::default(),
                        hosts: Vec::new(),
                    })
                },
            )
            .map_err(|error| self.unreadable(error))?;
        Ok(RunRecord { environment, hosts, ..record })
    }

    /// The cells of a run with this exact id, in order.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be read.
    pub fn cells(&self, run: &str) -> Result<Vec<CellRecord>, StoreError> {
        let number = self.number_of(run)?;
        let all =
            "SELECT cell, state, started, finished, result, failure FROM cells WHERE run = ?1 ORDER BY cell";
        self.connection.rows(all, params![number], cell).map_err(|error| self.unreadable(error))
    }

    /// The events of a run with this exact id, in order.
    ///
    /// # Errors
    /// The run is not in the file, or the file cannot be read.
    pub fn events(&self, run: &str) -> Result<Vec<Event>, StoreError> {
        let number = self.number_of(run)?;
        let all = "SELECT at, cell, kind, text FROM events WHERE run = ?1 ORDER BY number";
        self.connection
            .rows(all, params![number], |row| {
                Ok(Event { at: moment(row, 0)?, cell: row.get(1)?, kind: row.get(2)?, text: row.get(3)? })
            })
            .map_err(|error| self.unreadable(error))
    }

    /// Treats an undecodable value as damage, and any other error as the database reports it.
    pub(crate) fn unreadable(&self, error: DatabaseError) -> StoreError {
        match error.cause {
            DatabaseCause::Value(why) => StoreError::damaged(&self.path, why),
            _ => self.error(error),
        }
    }
}

fn cell(row: &Row<'_>) -> Result<CellRecord, DatabaseError> {
    let has_result = !row.is_null(4)?;
    Ok(CellRecord {
        index: row.get(0)?,
        state: state(row, 1)?,
        started: optional_moment(row, 2)?,
        finished: optional_moment(row, 3)?,
        result: if has_result { Some(from_json(row, 4)?) } else { None },
        failure: row.get(5)?,
    })
}

/// `id (name), id (name), …`
fn listed<'a>(runs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut named: Vec<String> = runs.map(|(id, name)| format!("{id} ({name})")).collect();
    if named.len() > NAMED {
        named.truncate(NAMED);
        named.push("…".into());
    }
    named.join(", ")
}

pub(crate) fn moment(row: &Row<'_>, column: usize) -> Result<Timestamp, DatabaseError> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| row.bad(format!("{text:?} is no time: {error}")))
}

pub(crate) fn optional_moment(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, DatabaseError> {
    let there = !row.is_null(column)?;
    there.then(|| moment(row, column)).transpose()
}

pub(crate) fn state(row: &Row<'_>, column: usize) -> Result<State, DatabaseError> {
    let text: String = row.get(column)?;
    State::of(&text).ok_or_else(|| row.bad(format!("unknown state {text:?}")))
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> Result<T, DatabaseError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| row.bad(format!("a record cannot be read: {error}")))
}
