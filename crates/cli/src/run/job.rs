//! Cells whose workload is a job: its files, its load, its verification, and what its end means.

use std::sync::Arc;
use std::time::Duration;

use drivers::{Payload, Sink};
use engine::{Beside, JobLoad, Reason, Schedule, StagePlan, StopRule, Workload};
use experiment::{Cell, Job, Placement};
use metrics::{ErrorKind, OpKind};
use reactor::clock;
use store::StageRecord;

use super::context::{Context, Fault, Order};
use super::fill::record;
use super::ground::Ready;
use super::load::{self, CONNECT, DRAIN, duration};
use super::measure::Measured;
use super::replay;
use crate::fio::logs::{self, LogPlan, Running};
use crate::fio::outcome::Failure;
use crate::target::{LaidOut, Opened};

/// Length of the intervals of a job that takes long, or nobody knows how long: that of fio's samples.
const INTERVAL: Duration = Duration::from_millis(500);
/// And of one that is over sooner than this.
const SHORT_S: f64 = 10.0;
/// In which case they are so long.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);

/// Makes the files of a job as it says, each step as a stage of its own.
///
/// # Errors
/// One line: which file, and why; or a signal came.
pub fn lay_out(
    context: &Context,
    cell: &Cell,
    job: &Job,
    opened: &Opened,
    stages: &mut Vec<StageRecord>,
) -> Result<LaidOut, Fault> {
    let begun_ns = clock::now_ns();
    let laid_out = opened.lay_out(cell).map_err(|error| Fault::Failed(error.to_string()))?;
    for (trial, stage) in laid_out.stages.iter().enumerate() {
        let opened = stage.opened.as_ref().unwrap_or(opened);
        let workers = stage.load.files.len().max(1) as u32;
        let reading = stage.load.ops.iter().all(|op| op.op == OpKind::Read);
        let workload = Workload::Job(stage.load.clone());
        let mut plan = load::mass(cell, workload, opened.reactor(context.reactor), context.seed);
        plan.workers = workers;
        plan.payload = Payload::for_job(job.seed, &job.content, None);
        plan.sink = if reading { Sink::Discard } else { Sink::Buffer };
        let order = Order {
            cell,
            opened,
            name: super::PREPARE,
            trial: trial as u32,
            plan: &plan,
            bytes_expected: (stage.bytes > 0).then_some(stage.bytes),
            together: None,
        };
        let result = context.stage(&order, &mut |_, _| false)?;
        if result.stopped {
            return Err(Fault::Interrupted);
        }
        if let Some(failure) = result.job.failures.first() {
            return Err(Fault::Failed(format!("{}: {}", stage.name, failure.detail)));
        }
        if !result.exhausted {
            let cause = result.error_samples.first().map_or_else(
                || "look at the target's health, then run again".to_owned(),
                |(kind, detail)| format!("{kind}: {detail}"),
            );
            return Err(Fault::Failed(format!("{} did not come to its end: {cause}", stage.name)));
        }
        stages.push(StageRecord {
            seconds: result.window_ns as f64 / 1e9,
            ok: result.total.ok(),
            failed: result.total.failed(),
            bytes: result.total.bytes(),
            ..record(super::PREPARE, 0.0)
        });
    }
    if let Some(first) = stages.first_mut() {
        first.seconds = clock::now_ns().saturating_sub(begun_ns) as f64 / 1e9;
    }
    Ok(laid_out)
}

/// Whether pages of a job's files that this machine's memory holds are given up before the load.
pub fn gives_up_pages(cell: &Cell, opened: &Opened) -> bool {
    opened.uses_page_cache() && cell.workload.job.as_ref().is_some_and(|job| job.files.layout.invalidate)
}

/// What is done to the files right before the load.
///
/// # Errors
/// One line: which file, and why.
pub fn begin(cell: &Cell, opened: &Opened, ready: &Ready) -> Result<(), Fault> {
    match cell.workload.job {
        Some(_) => opened.begin_job(cell, &ready.laid_out).map_err(|error| Fault::Failed(error.to_string())),
        None => Ok(()),
    }
}

/// Opens the logs that a job asks for, and begins to write them.
///
/// # Errors
/// A file cannot be made.
pub fn logs(context: &Context, cell: &Cell) -> Result<Option<Running>, Fault> {
    let failed = |error: std::io::Error| Fault::Failed(format!("the job's logs cannot be made: {error}"));
    let directory = std::env::current_dir().map_err(failed)?;
    let started_ms = u64::try_from(crate::moment::now().as_millisecond()).unwrap_or(0);
    match LogPlan::of(&context.plan, cell.index as usize, &directory, started_ms) {
        Some(plan) => logs::begin(plan).map_err(failed),
        None => Ok(None),
    }
}

/// What is done to the files when the job is over.
pub fn end(context: &Context, cell: &Cell, opened: &Opened, ready: &Ready) {
    if cell.workload.job.is_some()
        && let Err(error) = opened.finish_job(cell, &ready.laid_out)
    {
        context.remark(cell, "warning", &format!("not removed: {error}"));
    }
}

/// The load of a job.
///
/// # Errors
/// A file with operations cannot be read.
pub fn plan(
    cell: &Cell,
    job: &Job,
    ready: &Ready,
    measurement: &load::Measurement,
    reactor: reactor::Choice,
) -> Result<StagePlan, Fault> {
    let workload = &cell.workload;
    let op_timeout = duration(workload.op_timeout_s);
    let window = duration(measurement.limit_s);
    let load = JobLoad {
        replay: replay::operations(cell, job).map_err(Fault::Failed)?,
        ..JobLoad::new(Arc::new(job.clone()), workload.ops.clone(), ready.laid_out.files.clone())
    };
    Ok(StagePlan {
        workers: workload.jobs,
        lanes_per_worker: workload.queue_depth,
        reactor,
        pin: true,
        ramp: duration(measurement.warm_up_s),
        window,
        drain: DRAIN.min(op_timeout),
        interval: if measurement.limit_s < SHORT_S { SHORT_INTERVAL.min(window) } else { INTERVAL },
        schedule: Schedule::Closed,
        stop: if job.ending.time_based { StopRule::Window } else { StopRule::Exhausted },
        workload: Workload::Job(load),
        payload: super::dumps::payload(job),
        sink: match &*workload.sink {
            _ if job.check.is_some() => Sink::Verify,
            "discard" => Sink::Discard,
            _ => Sink::Buffer,
        },
        op_timeout,
        connect_timeout: CONNECT,
        // The job itself says what its errors mean.
        error_limit: None,
        beside: Beside {
            start_delay: duration(job.ending.start_delay_s),
            placement: (job.placement != Placement::default()).then(|| job.placement.clone()),
            ..Beside::default()
        },
    })
}

/// Why a job ended badly, if it did.
pub fn failure(measured: &Measured) -> Option<Failure> {
    measured.result.job.failures.first().map(|failure| Failure {
        code: match failure.reason {
            Reason::Failed(_, kind) => code(kind),
            Reason::TooSlow => libc::ETIME,
            Reason::BelowRate | Reason::NoDepth => libc::EIO,
        },
        text: failure.detail.clone(),
    })
}

/// What fio says of a job's end: also of errors that it was told to go on after.
pub fn fault(measured: &Measured) -> Option<Failure> {
    let gone_on = || {
        let (kind, text) = measured.result.error_samples.first()?;
        let counted = measured.failed() > measured.result.job.overlooked;
        counted.then(|| Failure { code: code(*kind), text: text.clone() })
    };
    failure(measured).or_else(gone_on)
}

/// The number of errno(3) that is nearest to a kind of error.
fn code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::ConnectFailed => libc::ECONNREFUSED,
        ErrorKind::ConnectionLost => libc::ECONNRESET,
        ErrorKind::AccessDenied => libc::EACCES,
        ErrorKind::ReadOnly => libc::EROFS,
        ErrorKind::NoSpace => libc::ENOSPC,
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::Stale => libc::ESTALE,
        ErrorKind::Busy => libc::EAGAIN,
        ErrorKind::Rejected => libc::EINVAL,
        ErrorKind::Protocol => libc::EPROTO,
        ErrorKind::Corrupt => libc::EILSEQ,
        ErrorKind::Local => libc::ENOMEM,
        ErrorKind::ServerFault | ErrorKind::Length | ErrorKind::VerifierChanged | ErrorKind::Tls => libc::EIO,
    }
}
