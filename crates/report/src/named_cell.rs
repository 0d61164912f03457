//! A cell as machines read it: what is stored of it, with what a reader would otherwise have to look up or work out.

use std::borrow::Cow;

use serde::Serialize;
use store::{CellRecord, RunRecord};

/// A cell with its name and whether it was steady, as `schemas/run.schema.json` has it.
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

    /// The name in the plan, which has everything else.
    pub fn name(&self) -> &str {
        self.name
    }

    /// What became of it.
    pub fn record(&self) -> &CellRecord {
        &self.record
    }
}
