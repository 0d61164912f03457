//! What is the most this host can drive?
//!
//! The stages, in order: request, the array in a child process, rounds that measure each step once, the calibration.
//! Rounds keep a disturbance of a few seconds from hitting all repetitions of one step.

mod array_process;
mod host;
mod load;
mod machine;
mod microbenchmarks;
mod plan;
mod served;
mod socket;
mod stored;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::runner::{Events, RunEvent, StopToken, timestamp};
use stats::{CALIBRATION_VERSION, Calibration};
use store::RunMaker;

use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;
use crate::record_options::RecordOptions;
use crate::stored::StoredRun;
use array_process::ArrayProcess;
use load::{LoadRunner, interrupted};
pub use microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult, gather};
use served::ServedTargets;
use stored::StoredCalibration;

/// TCP connections of the step with many streams.
const STREAMS: u32 = 8;
/// Threads that generate load beside a server with equally many: half of the cores, within these bounds.
const CLIENTS: (u32, u32) = (1, 16);
/// Length of the warm-up, as a share of the measured time.
const WARM_UP: f64 = 0.2;

/// How to calibrate a host.
#[derive(Clone, Debug)]
pub struct CalibrateRequest {
    /// Measured seconds of each step in each repetition.
    pub seconds: f64,
    /// Number of measurements of each step, alternating with the others.
    pub repetitions: u32,
    /// How to submit I/O to the kernel.
    pub reactor: reactor::BackendChoice,
    /// The `manometer` program, which is started as a simulated array in a separate process.
    pub program: PathBuf,
    /// A directory for that process's files; nothing remains in it.
    pub scratch: PathBuf,
    /// How it is recorded.
    pub record: RecordOptions,
}

impl CalibrateRequest {
    /// Measured seconds of each step in each repetition, unless somebody says otherwise.
    pub const USUAL_SECONDS: f64 = 1.0;
    /// Number of measurements of each step, unless somebody says otherwise.
    pub const USUAL_REPETITIONS: u32 = 5;
    /// The seconds that are useful.
    pub const SECONDS: RangeInclusive<f64> = 0.05..=600.0;
    /// The numbers of measurements that are useful.
    pub const REPETITIONS: RangeInclusive<u32> = 1..=100;
}

/// Measures the most that this host can drive, whatever the storage. It is stored like a run, with a cell per load.
///
/// # Errors
/// The results file cannot be written, something could not be measured, or a stop was requested.
pub fn calibrate(
    request: &CalibrateRequest,
    observer: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<Calibration, CheckError> {
    let taken = timestamp::now();
    let store = request.record.open()?;
    let chosen = ReactorFacts::of(request.reactor)?;
    let cores = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    let clients = (cores / 2).clamp(CLIENTS.0, CLIENTS.1);
    let facts = host::facts(&chosen);
    let plan = plan::of_calibration(request, cores, clients)?;
    let known = facts.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let id = request.record.id().to_string();
    let record =
        crate::stored::record(RunMaker::Calibrate, &id, plan.clone(), taken, known, &request.record.command);
    let run = StoredRun::begin(Some(store), RunMaker::Calibrate, &record, observer)?;
    let stored = Arc::new(StoredCalibration::new(run, &plan, request.seconds, request.repetitions));
    let mut step = None;
    let found = rounds((cores, clients), request, &stored, &**observer, stop, &mut step);
    // All users of the store are gone.
    let stored = Arc::into_inner(stored)
        .ok_or_else(|| CheckError::failure("the calibration is still measured; this is a defect"))?;
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            stored.fail(step, &error, stop);
            return Err(error);
        }
    };
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
    stored.finish(&calibration, stop);
    Ok(calibration)
}

/// Measures each step once per round. `current` is the step under way, for error messages.
fn rounds(
    (cores, clients): (u32, u32),
    request: &CalibrateRequest,
    stored: &Arc<StoredCalibration>,
    events: &dyn Events,
    stop: &StopToken,
    current: &mut Option<Microbenchmark>,
) -> Result<Vec<(Microbenchmark, Vec<RepetitionResult>)>, CheckError> {
    let server = ArrayProcess::start(&request.program, &request.scratch, clients)?;
    let runner = LoadRunner::new(request, clients, stop, &server, stored)?;
    let served = ServedTargets::filled(&runner, &server)?;
    let all = steps();
    let rounds = request.repetitions;
    let steps = u64::from(rounds) * all.len() as u64;
    let mut done = 0;
    // In order of first appearance.
    let mut found: Vec<(Microbenchmark, Vec<RepetitionResult>)> = Vec::new();
    for round in 1..=rounds {
        events.event(RunEvent::RoundBegan { round, rounds });
        for step in &all {
            events.event(RunEvent::StepBegan { done, steps, label: &step.name() });
            done += 1;
            *current = Some(*step);
            let measured = measure(&runner, cores, &served, *step);
            for (benchmark, value) in measured.map_err(|error| error.during(step.name()))? {
                match found.iter_mut().find(|(other, _)| *other == benchmark) {
                    Some((_, values)) => values.push(value),
                    None => found.push((benchmark, vec![value])),
                }
            }
        }
    }
    events.event(RunEvent::Ended);
    Ok(found)
}

/// The steps, in order; receiving is measured together with sending.
fn steps() -> Vec<Microbenchmark> {
    let mut steps = vec![Microbenchmark::NullOne, Microbenchmark::NullAll];
    steps.extend(served::steps());
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
    runner: &LoadRunner,
    cores: u32,
    served: &ServedTargets<'_>,
    step: Microbenchmark,
) -> Result<Vec<(Microbenchmark, RepetitionResult)>, CheckError> {
    if runner.stop.is_requested() {
        return Err(interrupted());
    }
    // Steps without another process settle at once.
    let brief = runner.window.min(Duration::from_millis(300));
    let found = match step {
        Microbenchmark::NullOne => runner.null(step, 1)?,
        Microbenchmark::NullAll => runner.null(step, cores)?,
        Microbenchmark::Served(scheme, op, block) => served.measure((scheme, op, block))?,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that is never executed.
    pub fn request() -> CalibrateRequest {
        CalibrateRequest {
            seconds: 1.0,
            repetitions: 5,
            reactor: reactor::BackendChoice::Auto,
            program: PathBuf::new(),
            scratch: PathBuf::new(),
            record: RecordOptions::default(),
        }
    }
}
