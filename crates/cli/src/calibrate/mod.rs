//! `manometer calibrate`: what could this client drive at most?
//!
//! One way: arguments, the array in a child process, rounds in which each piece is measured once, the calibration, its
//! output. Rounds, so that a disturbance of some seconds does not fall on all repetitions of one piece.

pub mod arguments;
mod host;
mod load;
mod machine;
mod output;
mod pieces;
mod server;
mod socket;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use reactor::{Backend, Reactor};
use runner::StopToken;
use stats::{CALIBRATION_VERSION, Calibration};

use crate::interrupt::whole_or_nothing;
use crate::messages::Messages;
use crate::results::Format;
use arguments::CalibrateArguments;
use host::Chosen;
use load::{Bench, Filled};
use pieces::{Block, Found, Operation, Piece};
use runner::timestamp;
use server::Server;

/// TCP connections of the piece with many streams.
const STREAMS: u32 = 8;
/// Threads that make load beside a server that has as many: half of the cores, within these bounds.
const CLIENTS: (u32, u32) = (1, 16);

/// Calibrates this host; the process's exit code.
pub fn run(arguments: &CalibrateArguments, messages: &Messages) -> u8 {
    whole_or_nothing(messages, |interrupt| calibrate(arguments, interrupt, messages).map(|()| 0))
}

fn calibrate(arguments: &CalibrateArguments, interrupt: &StopToken, messages: &Messages) -> Result<()> {
    let results = arguments.file.path()?;
    let taken = timestamp::now();
    let chosen = reactor(arguments.reactor)?;
    let cores = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    let bench = Bench {
        window: Duration::from_secs_f64(arguments.seconds),
        clients: (cores / 2).clamp(CLIENTS.0, CLIENTS.1),
        reactor: arguments.reactor,
        interrupt: interrupt.clone(),
    };
    let found = rounds(&bench, cores, arguments.repetitions, messages)?;
    let facts = host::facts(&chosen);
    let fact = |name: &str| facts.get(name).cloned().unwrap_or_default();
    let mut calibration = Calibration {
        schema: "manometer.calibration".into(),
        schema_version: CALIBRATION_VERSION,
        manometer_version: env!("CARGO_PKG_VERSION").into(),
        host: fact("host"),
        kernel: fact("kernel"),
        taken: taken.to_string(),
        cores,
        reactor: chosen.name.into(),
        seconds: arguments.seconds,
        repetitions: arguments.repetitions,
        measures: Vec::new(),
        ceilings: Vec::new(),
        remarks: host::remarks(&facts),
        facts,
    };
    pieces::gather(&mut calibration, &found);
    let kept = store::save_calibration(&results, &calibration)?;
    let text = match arguments.output {
        Format::Text => output::text(&calibration),
        Format::Json => serde_json::to_string_pretty(&calibration)? + "\n",
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    messages.note(&format!("kept in {}: later results on this host are judged against it", kept.display()));
    Ok(())
}

fn reactor(choice: reactor::Choice) -> Result<Chosen> {
    let reactor = Reactor::open(choice).with_context(|| format!("--reactor {choice}"))?;
    let name = match reactor.backend() {
        Backend::Epoll => "epoll",
        Backend::Uring | Backend::Simulated => "io_uring",
    };
    Ok(Chosen { name, refusal: reactor.refusal() })
}

/// Measures each piece once a round.
fn rounds(
    bench: &Bench,
    cores: u32,
    repetitions: u32,
    messages: &Messages,
) -> Result<Vec<(Piece, Vec<Found>)>> {
    let server = Server::start(bench.clients)?;
    let filled = Filled::new(bench, &server)?;
    let all = steps();
    let mut progress = Progress::begin(messages, repetitions, all.len());
    let mut found: BTreeMap<usize, (Piece, Vec<Found>)> = BTreeMap::new();
    for round in 0..repetitions {
        for step in &all {
            progress.step(round, &step.name());
            let measured = measure(bench, cores, &server, &filled, *step);
            for (piece, value) in measured.with_context(|| step.name())? {
                // In the order in which they come first.
                let next = found.len();
                let known = found.iter().find(|(_, (other, _))| *other == piece).map(|(at, _)| *at);
                found.entry(known.unwrap_or(next)).or_insert_with(|| (piece, Vec::new())).1.push(value);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// What is measured, in order; receiving is measured together with sending.
fn steps() -> Vec<Piece> {
    let mut steps = vec![Piece::NullOne, Piece::NullAll];
    for block in [Block::Large, Block::Small] {
        steps.extend([Operation::Read, Operation::Write].map(|operation| Piece::Nfs(operation, block)));
    }
    for block in [Block::Large, Block::Small] {
        steps.extend([Operation::Read, Operation::Write].map(|operation| Piece::S3(operation, block)));
    }
    steps.extend([Piece::TcpSend(1), Piece::TcpSend(STREAMS), Piece::CopyOne, Piece::CopyAll]);
    steps.extend([Piece::PayloadMake, Piece::PayloadCompare, Piece::Clock, Piece::Timer]);
    steps
}

fn measure(
    bench: &Bench,
    cores: u32,
    server: &Server,
    filled: &Filled,
    step: Piece,
) -> Result<Vec<(Piece, Found)>> {
    if bench.interrupt.is_requested() {
        anyhow::bail!("interrupted");
    }
    // What needs no other process settles at once.
    let brief = bench.window.min(Duration::from_millis(300));
    let found = match step {
        Piece::NullOne => bench.null(1)?,
        Piece::NullAll => bench.null(cores)?,
        Piece::Nfs(Operation::Read, block) => filled.nfs(bench, block)?,
        Piece::Nfs(Operation::Write, block) => bench.nfs_write(server, block)?,
        Piece::S3(Operation::Read, block) => filled.s3(bench, block)?,
        Piece::S3(Operation::Write, block) => bench.s3_write(server, block)?,
        Piece::TcpSend(streams) | Piece::TcpReceive(streams) => {
            let (sent, received) = socket::streams(bench, streams)?;
            return Ok(vec![(Piece::TcpSend(streams), sent), (Piece::TcpReceive(streams), received)]);
        }
        Piece::CopyOne => machine::copy(1, brief)?,
        Piece::CopyAll => machine::copy(cores, brief)?,
        Piece::PayloadMake => machine::payload(false, brief),
        Piece::PayloadCompare => machine::payload(true, brief),
        Piece::Clock => machine::clock_cost(brief),
        Piece::Timer => machine::timer(bench.reactor, brief)?,
    };
    Ok(vec![(step, found)])
}

/// How far it is: a bar for a person, a line a round for a log.
struct Progress {
    messages: Messages,
    repetitions: u32,
    noted: Option<u32>,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn begin(messages: &Messages, repetitions: u32, steps: usize) -> Self {
        let bar = messages.bars().map(|bars| {
            let style = ProgressStyle::with_template("{spinner} calibrating [{bar:30}] {msg}, {eta} left")
                .expect("the template is a constant that is valid")
                .progress_chars("=> ");
            bars.add(ProgressBar::new(u64::from(repetitions) * steps as u64).with_style(style))
        });
        Self { messages: messages.clone(), repetitions, noted: None, bar }
    }

    fn step(&mut self, round: u32, name: &str) {
        let text = format!("round {} of {}", round + 1, self.repetitions);
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{text}: {name}"));
                bar.inc(1);
            }
            None if self.noted != Some(round) => {
                self.noted = Some(round);
                self.messages.note(&format!("calibrating: {text}"));
            }
            None => {}
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
