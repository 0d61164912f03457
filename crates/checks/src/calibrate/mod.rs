//! What could this host drive at most?
//!
//! One way: request, the array in a child process, rounds in which each step is measured once, the calibration. Rounds, so
//! that a disturbance of some seconds does not fall on all repetitions of one step.

mod array_process;
mod host;
mod load;
mod machine;
mod microbenchmarks;
mod socket;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ::runner::{Events, RunEvent, StopToken, timestamp};
use stats::{CALIBRATION_VERSION, Calibration};

use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;
use array_process::ArrayProcess;
use load::{BenchmarkRunner, FilledData};
pub use microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult, TransferDirection, gather};

/// TCP connections of the step with many streams.
const STREAMS: u32 = 8;
/// Threads that make load beside a server that has as many: half of the cores, within these bounds.
const CLIENTS: (u32, u32) = (1, 16);

/// How a host is calibrated.
#[derive(Clone, Debug)]
pub struct CalibrateRequest {
    /// Measured seconds of each step in each repetition.
    pub seconds: f64,
    /// How often each step is measured, in turn with the others.
    pub repetitions: u32,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
    /// The program `manometer`, which is started as a simulated array in a process of its own.
    pub program: PathBuf,
    /// A directory for what that process needs; nothing stays in it.
    pub scratch: PathBuf,
}

/// Measures what this host could drive at most, whatever the storage.
///
/// # Errors
/// Something could not be measured, or a stop came.
pub fn calibrate(
    request: &CalibrateRequest,
    events: &dyn Events,
    stop: &StopToken,
) -> Result<Calibration, CheckError> {
    let taken = timestamp::now();
    let chosen = ReactorFacts::of(request.reactor)?;
    let cores = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    let runner = BenchmarkRunner {
        window: Duration::from_secs_f64(request.seconds),
        clients: (cores / 2).clamp(CLIENTS.0, CLIENTS.1),
        reactor: request.reactor,
        stop: stop.clone(),
    };
    let found = rounds(&runner, cores, request, events)?;
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
        reactor: chosen.backend.into(),
        seconds: request.seconds,
        repetitions: request.repetitions,
        measures: Vec::new(),
        ceilings: Vec::new(),
        remarks: host::remarks(&facts),
        facts,
    };
    gather(&mut calibration, &found);
    Ok(calibration)
}

/// Measures each step once a round.
fn rounds(
    runner: &BenchmarkRunner,
    cores: u32,
    request: &CalibrateRequest,
    events: &dyn Events,
) -> Result<Vec<(Microbenchmark, Vec<RepetitionResult>)>, CheckError> {
    let server = ArrayProcess::start(&request.program, &request.scratch, runner.clients)?;
    let filled = FilledData::new(runner, &server)?;
    let all = steps();
    let rounds = request.repetitions;
    let steps = u64::from(rounds) * all.len() as u64;
    let mut done = 0;
    let mut found: BTreeMap<usize, (Microbenchmark, Vec<RepetitionResult>)> = BTreeMap::new();
    for round in 1..=rounds {
        events.event(RunEvent::RoundBegan { round, rounds });
        for step in &all {
            events.event(RunEvent::StepBegan { done, steps, label: &step.name() });
            done += 1;
            let measured = measure(runner, cores, &server, &filled, *step);
            for (benchmark, value) in of_step(measured, *step)? {
                // In the order in which they come first.
                let next = found.len();
                let known = found.iter().find(|(_, (other, _))| *other == benchmark).map(|(at, _)| *at);
                found.entry(known.unwrap_or(next)).or_insert_with(|| (benchmark, Vec::new())).1.push(value);
            }
        }
    }
    events.event(RunEvent::Ended);
    Ok(found.into_values().collect())
}

/// Says which step failed.
fn of_step<T>(measured: Result<T, CheckError>, step: Microbenchmark) -> Result<T, CheckError> {
    measured.map_err(|error| match error {
        CheckError::Failure(line) => CheckError::Failure(format!("{}: {line}", step.name())),
        other => other,
    })
}

/// What is measured, in order; receiving is measured together with sending.
fn steps() -> Vec<Microbenchmark> {
    let mut steps = vec![Microbenchmark::NullOne, Microbenchmark::NullAll];
    for block in [BlockSize::Large, BlockSize::Small] {
        steps.extend(
            [TransferDirection::Read, TransferDirection::Write]
                .map(|operation| Microbenchmark::Nfs(operation, block)),
        );
    }
    for block in [BlockSize::Large, BlockSize::Small] {
        steps.extend(
            [TransferDirection::Read, TransferDirection::Write]
                .map(|operation| Microbenchmark::S3(operation, block)),
        );
    }
    steps.extend([
        Microbenchmark::TcpSend(1),
        Microbenchmark::TcpSend(STREAMS),
        Microbenchmark::CopyOne,
        Microbenchmark::CopyAll,
    ]);
    steps.extend([
        Microbenchmark::PayloadMake,
        Microbenchmark::PayloadCompare,
        Microbenchmark::Clock,
        Microbenchmark::Timer,
    ]);
    steps
}

fn measure(
    runner: &BenchmarkRunner,
    cores: u32,
    server: &ArrayProcess,
    filled: &FilledData,
    step: Microbenchmark,
) -> Result<Vec<(Microbenchmark, RepetitionResult)>, CheckError> {
    if runner.stop.is_requested() {
        return Err(CheckError::Stopped("interrupted".to_owned()));
    }
    // What needs no other process settles at once.
    let brief = runner.window.min(Duration::from_millis(300));
    let found = match step {
        Microbenchmark::NullOne => runner.null(1)?,
        Microbenchmark::NullAll => runner.null(cores)?,
        Microbenchmark::Nfs(TransferDirection::Read, block) => filled.nfs(runner, block)?,
        Microbenchmark::Nfs(TransferDirection::Write, block) => runner.nfs_write(server, block)?,
        Microbenchmark::S3(TransferDirection::Read, block) => filled.s3(runner, block)?,
        Microbenchmark::S3(TransferDirection::Write, block) => runner.s3_write(server, block)?,
        Microbenchmark::TcpSend(streams) | Microbenchmark::TcpReceive(streams) => {
            let (sent, received) = socket::streams(runner, streams)?;
            return Ok(vec![
                (Microbenchmark::TcpSend(streams), sent),
                (Microbenchmark::TcpReceive(streams), received),
            ]);
        }
        Microbenchmark::CopyOne => machine::copy(1, brief)?,
        Microbenchmark::CopyAll => machine::copy(cores, brief)?,
        Microbenchmark::PayloadMake => machine::payload(false, brief),
        Microbenchmark::PayloadCompare => machine::payload(true, brief),
        Microbenchmark::Clock => machine::clock_cost(brief),
        Microbenchmark::Timer => machine::timer(runner.reactor, brief)?,
    };
    Ok(vec![(step, found)])
}
