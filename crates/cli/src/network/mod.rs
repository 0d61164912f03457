//! `manometer network`: from its arguments to its output.

pub mod arguments;
mod output;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use checks::{LinkChoice, NetworkReport, NetworkRequest, RecordOptions};
use runner::{Events, StopToken};
use stats::NetworkMatrix;
use store::{Baseline, BaselineContent, Store};

use crate::exit::of_check_error;
use crate::interrupt::whole_or_nothing;
use crate::messages::{self, Messages};
use crate::progress::ProgressView;
use crate::results::{ResultsFormat, WrongInput};
use arguments::NetworkArguments;

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
    let text = match arguments.output {
        ResultsFormat::Text => output::text(&report.matrix, &report.judgement, messages::width()),
        ResultsFormat::Json => report.json(),
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        network: NetworkArguments,
    }

    #[test]
    fn the_defaults_are_those_of_every_network_test() {
        let arguments = Command::try_parse_from(["network", "--local", "2"]).unwrap().network;
        let mut given = request(&arguments).unwrap();
        given.record = RecordOptions::default();
        let usual = NetworkRequest::new(experiment::Launcher::Local { count: 2 });
        assert_eq!(format!("{given:?}"), format!("{usual:?}"));
    }
}
