//! `manometer export`: exports a run for other programs.

mod csv;
mod intervals_csv;
pub mod json;
mod lines;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use store::{RunRecord, StageKey, Store};

use super::destination::BufferedOutput;
use super::{ResultsFile, WrongInput, ended};
use crate::messages::Messages;

/// Writes a run for other programs: plan, environment, results, and on request every interval.
///
/// JSON is one document that follows schemas/run.schema.json. JSONL has a line per cell, CSV a row per cell
/// and operation; with --intervals a line per interval, or a row per interval and operation. With --hosts,
/// each host's lines follow the fleet's, under the host's name. Names carry their units: _ns, _s, _bytes,
/// _per_s. Memory use does not grow with the length of the run.
///
/// storperf is the report of a StorPerf job, with its names, units and rule: a sample for each minute of each
/// cell. Measure with `steady: storperf`, or for ten minutes, if its criteria are to be met.
///
/// Exit code: 0 written, 1 the file cannot be read or written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// The run: its id or the beginning of it, its name, `last`, or `last~1` for the one before
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    file: ResultsFile,
    /// Format of the export
    #[arg(short = 'o', long = "output", alias = "format", value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Include every interval of every stage; JSON and JSONL include its histograms (HdrHistogram V2, base64)
    #[arg(long)]
    intervals: bool,
    /// Include each host of a fleet; JSON always has the hosts' figures, and with this their intervals too
    #[arg(long)]
    hosts: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

/// How a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One document.
    Json,
    /// One document per line.
    Jsonl,
    /// A table.
    Csv,
    /// One document in the structure of StorPerf's reports.
    Storperf,
}

/// Writes the run; returns the process's exit code.
pub fn run(arguments: &ExportArguments, messages: &Messages) -> u8 {
    ended(export(arguments), messages)
}

fn export(arguments: &ExportArguments) -> Result<()> {
    let store = arguments.file.open()?;
    let run = store.run(&arguments.run)?;
    let mut out = BufferedOutput::open(arguments.output_file.as_deref(), store.path())?;
    let hosts = arguments.hosts;
    let intervals = arguments.intervals.then_some(SeriesChoice { hosts });
    if arguments.format == Format::Storperf && (hosts || arguments.intervals) {
        let line = "--output=storperf has a sample for each minute of all hosts together; take --intervals and --hosts away";
        return Err(WrongInput(line.to_owned()).into());
    }
    match (arguments.format, intervals) {
        (Format::Json, intervals) => json::write(&store, &run, None, intervals, &mut out)?,
        (Format::Jsonl, None) => lines::cells(&store, &run, hosts, &mut out)?,
        (Format::Jsonl, Some(series)) => lines::intervals(&store, &run, series, &mut out)?,
        (Format::Storperf, _) => {
            serde_json::to_writer_pretty(&mut out, &report::storperf_report(&store, &run)?)?;
            out.write_all(b"\n")?;
        }
        (Format::Csv, None) => csv::cells(&store, &run, hosts, &mut out)?,
        (Format::Csv, Some(series)) => intervals_csv::write(&store, &run, series, &mut out)?,
    }
    Ok(out.finish()?)
}

/// Which intervals are written: those of all hosts combined, optionally followed by those of each host.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeriesChoice {
    /// Include each host.
    pub hosts: bool,
}

impl SeriesChoice {
    /// Calls `each` for every series of a cell, stage by stage: `None` is all hosts combined.
    ///
    /// # Errors
    /// The results file cannot be read, or `each` fails.
    fn each(
        self,
        store: &Store,
        run: &RunRecord,
        cell: u32,
        each: &mut dyn FnMut(&StageKey, Option<&str>) -> Result<()>,
    ) -> Result<()> {
        let hosts = if self.hosts { store.host_series(&run.id, cell)? } else { Vec::new() };
        for key in store.stages(&run.id, cell)? {
            each(&key, None)?;
            hosts.iter().try_for_each(|host| each(&key, Some(host)))?;
        }
        Ok(())
    }
}
