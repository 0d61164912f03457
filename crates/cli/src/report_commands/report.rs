//! `manometer report`: a run as one HTML file.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use report::Document;

use super::{ended, write};
use crate::messages::Messages;
use crate::results::ResultsFile;

/// Writes a run's report: one self-contained HTML file.
///
/// Shows the verdict and figures of every cell with their intervals, charts and tables over the matrix, load
/// over time with the reported window marked, latency percentiles and heat maps, steady-state criteria,
/// errors, stages, the plan and the environment. Prints well. Embeds the document that `manometer export`
/// writes; every figure names the field it comes from.
///
/// Exit code: 0 written, 1 the file cannot be read or written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// The run: its id or the beginning of it, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Write to this file; `-` is standard output [default: NAME-RUN.html]
    #[arg(short, long = "output-file", alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the report; returns the process's exit code.
pub fn run(arguments: &ReportArguments, messages: &Messages) -> u8 {
    ended(make(arguments, messages), messages)
}

fn make(arguments: &ReportArguments, messages: &Messages) -> Result<u8> {
    let store = arguments.file.open()?;
    let document = Document::load(&store, store.run(&arguments.run)?)?;
    write(arguments.output.as_deref(), &document.run, "html", &report::html(&document), messages)?;
    Ok(0)
}
