//! A run as JSON lines: a line per cell, per cell and host, or per interval.

use std::io::Write;

use anyhow::Result;
use report::NamedCell;
use serde::Serialize;
use stats::limit::HostFinding;
use store::{CellRecord, HostResult, RunRecord, Store};

use super::SeriesChoice;
use super::json::{self, JsonInterval, SCHEMA, VERSION};

/// Common start of every line, so that one file can hold lines of several runs.
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

/// One host's result in a cell.
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

/// Writes a line per cell; with `hosts`, followed by a line for each host of a fleet.
///
/// # Errors
/// The results file cannot be read, or the output cannot be written.
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

/// Writes a line per interval.
///
/// # Errors
/// The results file cannot be read, or the output cannot be written.
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
