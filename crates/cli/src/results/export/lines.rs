//! A run as JSON lines: a line a cell, or a line an interval.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use store::{RunRecord, Store};

use super::json::{self, Cell, JsonInterval, SCHEMA, VERSION};

/// What every line begins with, so that lines of several runs may lie in one file.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    schema_version: u32,
    run: &'a str,
    run_name: &'a str,
}

#[derive(Serialize)]
struct CellLine<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    cell: Cell<'a>,
}

#[derive(Serialize)]
struct IntervalLine<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    interval: &'a JsonInterval<'a>,
}

fn head(run: &RunRecord) -> Head<'_> {
    Head { schema: SCHEMA, schema_version: VERSION, run: &run.id, run_name: &run.name }
}

/// A line a cell.
///
/// # Errors
/// When the file cannot be read, or the output cannot be written.
pub fn cells(store: &Store, run: &RunRecord, out: &mut dyn Write) -> Result<()> {
    for cell in json::cells(store, run, None)? {
        line(out, &CellLine { head: head(run), cell })?;
    }
    Ok(())
}

/// A line an interval.
///
/// # Errors
/// When the file cannot be read, or the output cannot be written.
pub fn intervals(store: &Store, run: &RunRecord, out: &mut dyn Write) -> Result<()> {
    json::each_interval(store, run, None, &mut |interval| {
        line(out, &IntervalLine { head: head(run), interval })
    })
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Ok(out.write_all(&text)?)
}
