//! `manometer show`: a run and what became of its cells.

mod cell;
mod text;

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use store::RunRecord;

use super::destination::Destination;
use super::export::json;
use super::{Format, ResultsFile, ended};
use crate::exit;
use crate::messages::Messages;

pub use text::text;

/// Shows a run: per cell throughput, operations a second and latency with 95 % intervals, whether it was
/// steady, verdict and reasons, gates, stages, errors; and the environment.
///
/// Exit code: 0 shown, 1 the file cannot be read, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// The run: its id, the beginning of one, its name, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Only this cell, with all that is known of it
    #[arg(long, value_name = "N")]
    cell: Option<u32>,
    /// How the run is shown; json follows schemas/run.schema.json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// Shows the run; the process's exit code.
pub fn run(arguments: &ShowArguments, messages: &Messages) -> u8 {
    if let Some(cell) = arguments.cell
        && let Err(error) = has_cell(arguments, cell)
    {
        return exit::input(messages, &error.to_string());
    }
    ended(show(arguments), messages)
}

fn has_cell(arguments: &ShowArguments, cell: u32) -> Result<()> {
    let run = arguments.file.open()?.run(&arguments.run)?;
    match run.plan.cells.len() {
        cells if (cell as usize) < cells => Ok(()),
        0 => bail!("--cell {cell}: run {} has no cells", run.id),
        cells => bail!("--cell {cell}: run {} has cells 0 to {}", run.id, cells - 1),
    }
}

fn show(arguments: &ShowArguments) -> Result<()> {
    let store = arguments.file.open()?;
    let run = store.run(&arguments.run)?;
    let mut out = Destination::open(None, store.path())?;
    match arguments.output {
        Format::Json => json::write(&store, &run, arguments.cell, false, &mut out)?,
        Format::Text => out.write_all(text(&store, &run, arguments.cell)?.as_bytes())?,
    }
    Ok(out.finish()?)
}

/// The name of a cell, from the plan.
pub fn name_of(run: &RunRecord, index: u32) -> &str {
    run.plan.cells.iter().find(|cell| cell.index == index).map_or("", |cell| &cell.name)
}
