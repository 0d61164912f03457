//! `manometer network`: from its arguments to its output.

pub mod arguments;
mod output;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use checks::{LinkChoice, NetworkReport, NetworkRequest, RecordOptions};
use runner::{Events, StopToken};
use serde::Serialize;
use stats::{NETWORK_VERSION, NetworkJudgement, NetworkMatrix};
use store::{Baseline, BaselineContent, Store};

use crate::exit::of_check_error;
use crate::interrupt::whole_or_nothing;
use crate::messages::{self, Messages};
use crate::progress::ProgressView;
use crate::results::{ResultsFormat, WrongInput};
use arguments::NetworkArguments;

/// The output of `--output json`, conforming to `schemas/network.schema.json`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    manometer_version: &'static str,
    taken: jiff::Timestamp,
    seconds: f64,
    parallel: bool,
    #[serde(flatten)]
    matrix: &'a NetworkMatrix,
    judgement: &'a NetworkJudgement,
    verdict: Vec<String>,
}

/// Measures the network; returns the process's exit code.
pub fn run(arguments: &NetworkArguments, messages: &Messages) -> u8 {
    whole_or_nothing(messages, |stop| network(arguments, stop, messages))
}

fn network(arguments: &NetworkArguments, stop: &StopToken, messages: &Messages) -> Result<u8> {
    let request = request(arguments).map_err(|line| anyhow!(WrongInput(line)))?;
    let events: Arc<dyn Events> = Arc::new(ProgressView::new(messages));
    let report = checks::network(&request, &events, stop).map_err(of_check_error)?;
    show(arguments, &report)?;
    draw(arguments, &report.matrix)?;
    keep(arguments, &report, messages)?;
    Ok(u8::from(!report.success()))
}

/// Builds the request from the arguments.
fn request(arguments: &NetworkArguments) -> Result<NetworkRequest, String> {
    let launcher = arguments.fleet.launcher()?;
    let launcher =
        launcher.ok_or("no hosts are named; next: give --hosts a,b,c, --local N, --slurm or --kubernetes")?;
    Ok(NetworkRequest {
        launcher,
        login: arguments.fleet.login()?,
        links: match (&arguments.pairs, arguments.both_directions) {
            (Some(text), _) => LinkChoice::Named(text.clone()),
            (None, true) => LinkChoice::BothDirections,
            (None, false) => LinkChoice::EachPair,
        },
        duplex: arguments.duplex,
        streams: arguments.streams.clone(),
        duration: arguments.duration.0,
        ramp: arguments.ramp.0,
        parallel: arguments.parallel,
        block_bytes: arguments.block_size.0,
        addresses: arguments.address.clone(),
        port: arguments.port,
        reactor: arguments.reactor,
        record: RecordOptions {
            results: arguments.file.path.clone(),
            command: host::environment::command_line(std::env::args()),
            ..RecordOptions::default()
        },
    })
}

fn show(arguments: &NetworkArguments, report: &NetworkReport) -> Result<()> {
    let NetworkReport { taken, matrix, judgement } = report;
    let text = match arguments.output {
        ResultsFormat::Text => output::text(matrix, judgement, messages::width()),
        ResultsFormat::Json => {
            let document = Document {
                schema: "manometer.network",
                schema_version: NETWORK_VERSION,
                manometer_version: env!("CARGO_PKG_VERSION"),
                taken: *taken,
                seconds: arguments.duration.0.as_secs_f64(),
                parallel: arguments.parallel,
                matrix,
                judgement,
                verdict: output::verdict(matrix, judgement),
            };
            serde_json::to_string_pretty(&document)? + "\n"
        }
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Draws the matrix for the largest number of streams, preferring one-way over both-ways results.
fn draw(arguments: &NetworkArguments, matrix: &NetworkMatrix) -> Result<()> {
    let Some(path) = &arguments.picture else { return Ok(()) };
    let kinds = matrix.kinds();
    let Some(kind) = kinds.iter().rfind(|(_, both_ways)| !both_ways).or(kinds.last()) else { return Ok(()) };
    std::fs::write(path, report::network_picture(matrix, *kind)).map_err(|error| {
        anyhow!(
            "--picture {}: cannot be written: {error}; next: name a file where you may write",
            path.display()
        )
    })
}

/// Keeps the result as a baseline, if requested.
fn keep(arguments: &NetworkArguments, report: &NetworkReport, messages: &Messages) -> Result<()> {
    let Some(name) = &arguments.save_baseline else { return Ok(()) };
    let store = Store::open(&arguments.file.path()?)?;
    let content = BaselineContent::Network(report.matrix.clone());
    store.save_baseline(&Baseline { name: name.clone(), kept: report.taken, content })?;
    messages.note(&format!("kept as baseline {name} in {}", store.path().display()));
    Ok(())
}
