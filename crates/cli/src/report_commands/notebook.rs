//! `manometer notebook`: a run as a Jupyter notebook.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use report::Document;

use super::{ended, write};
use crate::messages::Messages;
use crate::results::ResultsFile;

/// Writes a run as a self-contained Jupyter notebook that plots its data with pandas, matplotlib and seaborn.
///
/// Run it with `jupyter nbconvert --to notebook --execute FILE`.
///
/// Exit code: 0 written, 1 the file cannot be read or written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct NotebookArguments {
    /// The run: its id or the beginning of it, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Write to this file; `-` is standard output [default: NAME-RUN.ipynb]
    #[arg(short, long = "output-file", alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the notebook; returns the process's exit code.
pub fn run(arguments: &NotebookArguments, messages: &Messages) -> u8 {
    ended(make(arguments, messages), messages)
}

fn make(arguments: &NotebookArguments, messages: &Messages) -> Result<u8> {
    let store = arguments.file.open()?;
    let document = Document::load(&store, store.run(&arguments.run)?)?;
    write(arguments.output.as_deref(), &document.run, "ipynb", &report::notebook(&document), messages)?;
    Ok(0)
}
