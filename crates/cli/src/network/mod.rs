//! `manometer network`: what the network between the hosts of a fleet gives, and which link is worse than the others.
//!
//! One way: arguments, agents, rounds of links, the matrix, the judgement, the output.

mod addresses;
pub mod arguments;
mod facts;
mod links;
mod output;
mod pairs;
mod path_mtu;

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use experiment::Fleet;
use fleet::Event;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use stats::{NETWORK_VERSION, NetworkJudgement, NetworkMatrix, judge_network};
use store::{Baseline, BaselineContent, Store};
use units::ByteRate;

use crate::interrupt::whole_or_nothing;
use crate::messages::Messages;
use crate::results::{Format, WrongInput};
use arguments::NetworkArguments;
use host::ADDRESS;
use links::{CrewLinks, Load, Measures};
use pairs::Direction;
use runner::{Events, RunError, StopToken, start_fleet, timestamp};

/// What `--output json` writes, after `schemas/network.schema.json`.
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

/// Measures the network; the process's exit code.
pub fn run(arguments: &NetworkArguments, messages: &Messages) -> u8 {
    whole_or_nothing(messages, |interrupt| network(arguments, interrupt, messages))
}

fn network(arguments: &NetworkArguments, interrupt: &StopToken, messages: &Messages) -> Result<u8> {
    let wrong = |line: String| anyhow!(WrongInput(line));
    let launcher = arguments.fleet.launcher().map_err(wrong)?;
    let launcher = launcher.ok_or_else(|| {
        wrong("no hosts are named; next: give --hosts a,b,c, --local N, --slurm or --kubernetes".into())
    })?;
    let taken = timestamp::now();
    let told = messages.clone();
    let events = move |event: Event| match event {
        Event::Lost { name, why, .. } => told.warn(&format!("{name}: lost: {why}")),
        Event::Said { name, text, .. } => told.note(&format!("{name}: {text}")),
    };
    let fleet = Fleet::of(launcher.clone());
    let password = arguments.fleet.password().map_err(wrong)?;
    let told: Arc<dyn Events> = Arc::new(messages.clone());
    let crew = start_fleet(&fleet, password.as_ref(), &told, interrupt, Arc::new(events));
    let crew = crew.map_err(|error| match error {
        RunError::Failure(line) => anyhow!(line),
        RunError::Usage(line) => wrong(line),
    })?;
    let hosts = crew.names();
    let outcome = (|| {
        let links = wanted(arguments, &hosts).map_err(wrong)?;
        let own = |member: usize| crew.host_facts(member).get(ADDRESS)?.parse().ok();
        let addresses = addresses::of(&launcher, &hosts, &arguments.address, &own).map_err(wrong)?;
        let load = Load {
            seconds: arguments.duration.0.as_secs_f64(),
            ramp_s: arguments.ramp.0.as_secs_f64(),
            block_bytes: arguments.block_size.0,
            port: arguments.port,
            reactor: arguments.reactor.to_string(),
        };
        let measures = CrewLinks::new(&crew, addresses, load, interrupt.clone());
        measure(&measures, arguments, hosts, &links, interrupt, messages)
    })();
    crew.end();
    let matrix = outcome?;
    let judgement = judge_network(&matrix);
    show(arguments, taken, &matrix, &judgement)?;
    draw(arguments, &matrix)?;
    keep(arguments, taken, &matrix, messages)?;
    let good = judgement.findings.is_empty() && judgement.failed.is_empty();
    Ok(u8::from(!good))
}

/// The links that are asked for.
fn wanted(arguments: &NetworkArguments, hosts: &[String]) -> Result<Vec<Direction>, String> {
    let count = u32::try_from(hosts.len()).map_err(|_| "more hosts than can be numbered".to_owned())?;
    if count < 2 {
        return Err("one host has no link; next: name two or more".to_owned());
    }
    match &arguments.pairs {
        Some(text) => pairs::named(text, hosts),
        None => Ok(pairs::every(count, arguments.both_directions)),
    }
}

/// Measures all links in all ways, in rounds.
fn measure(
    measures: &dyn Measures,
    arguments: &NetworkArguments,
    hosts: Vec<String>,
    links: &[Direction],
    interrupt: &StopToken,
    messages: &Messages,
) -> Result<NetworkMatrix> {
    let count = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let mut rounds = pairs::rounds(links, count);
    if !arguments.parallel {
        // One link at a time, in the order of the rounds: a host rests between its links where that can be.
        rounds = rounds.into_iter().flatten().map(|link| vec![link]).collect();
    }
    let mut ways: Vec<(u32, bool)> = arguments.streams.iter().map(|streams| (*streams, false)).collect();
    if arguments.duplex {
        ways.extend(arguments.streams.iter().map(|streams| (*streams, true)));
    }
    let steps = (rounds.len() * ways.len()) as u64;
    let mut matrix = NetworkMatrix { hosts, ..NetworkMatrix::default() };
    let progress = Progress::begin(messages, steps);
    for (streams, both_ways) in ways {
        for round in &rounds {
            // A pair that is measured both ways is measured once.
            let both_listed =
                |link: &&Direction| both_ways && link.0 > link.1 && links.contains(&(link.1, link.0));
            let now: Vec<Direction> = round.iter().filter(|link| !both_listed(link)).copied().collect();
            if interrupt.is_requested() {
                return Err(anyhow!("interrupted"));
            }
            probe(measures, &mut matrix, &now, both_ways);
            let measured = measures.measure(&now, streams, both_ways);
            for link in measured {
                progress.link(&matrix, &link);
                matrix.links.push(link);
            }
            progress.step();
        }
    }
    Ok(matrix)
}

/// Finds how large packets may be on links of which that is not known yet, before they are loaded: probes of a full link get
/// lost, and what the kernel learns by them the load needs.
fn probe(measures: &dyn Measures, matrix: &mut NetworkMatrix, links: &[Direction], both_ways: bool) {
    let back = links.iter().map(|(from, to)| (*to, *from)).filter(|_| both_ways);
    let all = links.iter().copied().chain(back);
    let new: Vec<Direction> = all.filter(|(from, to)| matrix.path_mtu(*from, *to).is_none()).collect();
    if !new.is_empty() {
        matrix.path_mtus.extend(measures.path_mtus(&new));
    }
}

fn show(
    arguments: &NetworkArguments,
    taken: jiff::Timestamp,
    matrix: &NetworkMatrix,
    judgement: &NetworkJudgement,
) -> Result<()> {
    let text = match arguments.output {
        Format::Text => output::text(matrix, judgement),
        Format::Json => {
            let document = Document {
                schema: "manometer.network",
                schema_version: NETWORK_VERSION,
                manometer_version: env!("CARGO_PKG_VERSION"),
                taken,
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

/// Draws the matrix of the most streams, one way before both ways.
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

/// Keeps the result as a baseline, if that is asked for.
fn keep(
    arguments: &NetworkArguments,
    taken: jiff::Timestamp,
    matrix: &NetworkMatrix,
    messages: &Messages,
) -> Result<()> {
    let Some(name) = &arguments.save_baseline else { return Ok(()) };
    let store = Store::open(&arguments.file.path()?)?;
    let content = BaselineContent::Network(matrix.clone());
    store.save_baseline(&Baseline { name: name.clone(), kept: taken, content })?;
    messages.note(&format!("kept as baseline {name} in {}", store.path().display()));
    Ok(())
}

/// How far it is: a bar for a person, a line a link for a log.
struct Progress {
    messages: Messages,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn begin(messages: &Messages, steps: u64) -> Self {
        let bar = messages.bars().map(|bars| {
            let style = ProgressStyle::with_template(
                "{spinner} measuring links [{bar:30}] {pos} of {len}, {eta} left",
            )
            .expect("the template is a constant that is valid")
            .progress_chars("=> ");
            let bar = bars.add(ProgressBar::new(steps).with_style(style));
            bar.enable_steady_tick(std::time::Duration::from_millis(100));
            bar
        });
        Self { messages: messages.clone(), bar }
    }

    fn link(&self, matrix: &NetworkMatrix, link: &stats::NetworkLink) {
        let way = if link.both_ways { ", both ways" } else { "" };
        let streams =
            if link.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", link.streams) };
        let outcome = match (&link.throughput, &link.failure) {
            (Some(estimate), _) => ByteRate(estimate.mean).to_string(),
            (None, why) => format!("failed: {}", why.as_deref().unwrap_or("unknown")),
        };
        self.messages.note(&format!("{}, {streams}{way}: {outcome}", matrix.name(link.from, link.to)));
    }

    fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            if let Some(bars) = self.messages.bars() {
                bars.remove(&bar);
            }
        }
    }
}

#[cfg(test)]
mod tests;
