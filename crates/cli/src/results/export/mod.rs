//! `manometer export`: a run for other programs.

mod csv;
pub mod json;
mod lines;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::destination::Destination;
use super::{ResultsFile, ended};
use crate::messages::Messages;

/// Writes a run for other programs: its plan, environment, results, and on request every interval.
///
/// JSON is one document after schemas/run.schema.json. JSONL has a line a cell, CSV a row a cell and
/// operation; with --intervals a line an interval, a row an interval and operation. Units are part of the
/// names: _ns, _s, _bytes, _per_s. Whatever the length of the run, little of it is in memory at once.
///
/// Exit code: 0 written, 1 the file cannot be read or written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// The run: its id, the beginning of one, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// What comes out
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Every interval of every stage too; in JSON and JSONL with its histograms (HdrHistogram V2, base64)
    #[arg(long)]
    intervals: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

/// How a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One document.
    Json,
    /// A document a line.
    Jsonl,
    /// A table.
    Csv,
}

/// Writes the run; the process's exit code.
pub fn run(arguments: &ExportArguments, messages: &Messages) -> u8 {
    ended(export(arguments), messages)
}

fn export(arguments: &ExportArguments) -> Result<()> {
    let store = arguments.file.open()?;
    let run = store.run(&arguments.run)?;
    let mut out = Destination::open(arguments.output_file.as_deref(), store.path())?;
    match (arguments.format, arguments.intervals) {
        (Format::Json, intervals) => json::write(&store, &run, None, intervals, &mut out)?,
        (Format::Jsonl, false) => lines::cells(&store, &run, &mut out)?,
        (Format::Jsonl, true) => lines::intervals(&store, &run, &mut out)?,
        (Format::Csv, false) => csv::cells(&store, &run, &mut out)?,
        (Format::Csv, true) => csv::intervals(&store, &run, &mut out)?,
    }
    Ok(out.finish()?)
}
