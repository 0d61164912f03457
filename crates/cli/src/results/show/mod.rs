//! `manometer show`: shows a run and the outcome of its cells.

pub mod baseline;
mod cell;
mod hosts;
mod procedures;
mod text;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use store::RunRecord;

use super::destination::BufferedOutput;
use super::export::json;
use super::{ResultsFile, ResultsFormat, WrongInput, ended};
use crate::messages::{self, Messages};

pub use hosts::evenness;
pub use text::text;

/// Shows a run: each cell's throughput, IOPS and latency with 95 % intervals, steadiness, verdict with
/// reasons, gates, stages and errors; and the environment.
///
/// Exit code: 0 shown, 1 the file cannot be read, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// The run: its id or the beginning of it, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Only this cell, in full detail; the first is 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cell: Option<u32>,
    /// Also show each cell and host as a share of this baseline (text output)
    #[arg(long, value_name = "NAME", conflicts_with = "output")]
    baseline: Option<String>,
    /// Format of the run; JSON follows schemas/run.schema.json
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: ResultsFormat,
}

/// Shows the run; returns the process's exit code.
pub fn run(arguments: &ShowArguments, messages: &Messages) -> u8 {
    ended(show(arguments), messages)
}

fn show(arguments: &ShowArguments) -> Result<()> {
    let store = arguments.file.open()?;
    let run = store.run(&arguments.run)?;
    let only = arguments.cell.map(|number| number - 1);
    let cells = run.plan.cells.len();
    if let Some(number) = arguments.cell.filter(|number| *number as usize > cells) {
        return Err(WrongInput(match cells {
            0 => format!("--cell {number}: run {} has no cells; next: leave --cell out", run.id),
            _ => format!("--cell {number}: run {} has cells 1 to {cells}; next: give one of these", run.id),
        })
        .into());
    }
    let mut out = BufferedOutput::open(None, store.path())?;
    match arguments.output {
        ResultsFormat::Json => json::write(&store, &run, only, None, &mut out)?,
        ResultsFormat::Text => {
            let baseline = arguments.baseline.as_ref().map(|name| store.baseline(name)).transpose()?;
            out.write_all(text(&store, &run, only, messages::width())?.as_bytes())?;
            if let Some(baseline) = baseline {
                let mut cells = store.cells(&run.id)?;
                cells.retain(|cell| only.is_none_or(|only| only == cell.index));
                out.write_all(baseline::shares(&run, &cells, &baseline).as_bytes())?;
            }
        }
    }
    Ok(out.finish()?)
}

/// The name of a cell, from the plan.
pub fn name_of(run: &RunRecord, index: u32) -> &str {
    run.planned(index).map_or("", |cell| &cell.name)
}
