//! `manometer report`: a run as one HTML file.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use report::Document;

use super::{ended, write};
use crate::messages::Messages;
use crate::results::ResultsFile;

/// Writes a run's report: one HTML file that needs no network and no other file.
///
/// It shows the verdict and the figures of every cell with their intervals, cross tables of the matrix, time lines
/// with the reported window marked, latency percentiles, the spread of latencies over time, the steady-state
/// criteria, errors, stages, the plan and the environment. It prints well. Within it is the document that
/// `manometer export --format json` gives; every figure says which of its fields it shows.
///
/// Exit code: 0 written, 1 the file cannot be read or written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// The run: its id, the beginning of one, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Write to this file; `-` is standard output [default: NAME-RUN.html]
    #[arg(short, long = "output-file", alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the report; the process's exit code.
pub fn run(arguments: &ReportArguments, messages: &Messages) -> u8 {
    ended(make(arguments, messages), messages)
}

fn make(arguments: &ReportArguments, messages: &Messages) -> Result<u8> {
    let store = arguments.file.open()?;
    let document = Document::load(&store, store.run(&arguments.run)?)?;
    write(arguments.output.as_deref(), &document.run, "html", &report::html(&document), messages)?;
    Ok(0)
}
