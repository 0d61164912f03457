//! A cell in machine-readable output: its stored record, plus what a reader would otherwise have to look up or compute.

use std::borrow::Cow;

use serde::Serialize;
use store::{CellRecord, RunRecord};

/// A cell with its name and its steadiness, as in `schemas/run.schema.json`.
#[derive(Clone, Debug, Serialize)]
pub struct NamedCell<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<&'static str>,
    #[serde(flatten)]
    record: Cow<'a, CellRecord>,
}

impl<'a> NamedCell<'a> {
    /// A cell of a run.
    pub fn of(run: &'a RunRecord, record: Cow<'a, CellRecord>) -> Self {
        Self {
            name: run.planned(record.index).map_or("", |cell| &cell.name),
            steady: record.result.as_ref().map(|result| result.steady.judgement().words()),
            record,
        }
    }

    /// Its name in the plan, which holds all other settings.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Its stored record.
    pub fn record(&self) -> &CellRecord {
        &self.record
    }
}
