//! A run as JSON lines: a line a cell, a line a cell and host, or a line an interval.

use std::io::Write;

use anyhow::Result;
use report::NamedCell;
use serde::Serialize;
use stats::limit::HostFinding;
use store::{CellRecord, HostResult, RunRecord, Store};

use super::SeriesChoice;
use super::json::{self, JsonInterval, SCHEMA, VERSION};

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
    cell: NamedCell<'a>,
}

/// What one host of a fleet did in a cell.
#[derive(Serialize)]
struct HostLine<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    name: &'a str,
    index: u32,
    host: &'a str,
    result: &'a HostResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a HostFinding>,
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

/// A line a cell; with `hosts` a line for each host of a fleet after it.
///
/// # Errors
/// When the file cannot be read, or the output cannot be written.
pub fn cells(store: &Store, run: &RunRecord, hosts: bool, out: &mut dyn Write) -> Result<()> {
    for cell in json::cells(store, run, None)? {
        let line_of_cell = CellLine { head: head(run), cell };
        line(out, &line_of_cell)?;
        if hosts {
            of_hosts(run, line_of_cell.cell.name(), line_of_cell.cell.record(), out)?;
        }
    }
    Ok(())
}

fn of_hosts(run: &RunRecord, name: &str, record: &CellRecord, out: &mut dyn Write) -> Result<()> {
    let Some(result) = &record.result else { return Ok(()) };
    for host in &result.hosts {
        let limit = result.limit.iter().flat_map(|limit| &limit.hosts).find(|one| one.host == host.name);
        let head = head(run);
        line(out, &HostLine { head, name, index: record.index, host: &host.name, result: host, limit })?;
    }
    Ok(())
}

/// A line an interval.
///
/// # Errors
/// When the file cannot be read, or the output cannot be written.
pub fn intervals(store: &Store, run: &RunRecord, series: SeriesChoice, out: &mut dyn Write) -> Result<()> {
    json::each_interval(store, run, None, series, &mut |interval| {
        line(out, &IntervalLine { head: head(run), interval })
    })
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Ok(out.write_all(&text)?)
}
