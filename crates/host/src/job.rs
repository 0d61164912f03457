//! Cells whose workload is a job: what the engine is asked to do to make its files and to load them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use drivers::{Payload, Sink};
use engine::{JobLoad, Schedule, StageContext, StagePlan, StageWorkload, StopRule};
use experiment::{Cell, Job, Placement};
use fleet::StageRequest;
use metrics::OpKind;
use targets::{LaidOut, LayOutStage};

use super::load::{self, CONNECT, DRAIN, duration};
use super::{replay, verify_dump};

/// Length of the intervals of a job that takes long, or nobody knows how long: that of fio's samples.
const INTERVAL: Duration = Duration::from_millis(500);
/// And of one that is over sooner than this.
const SHORT_S: f64 = 10.0;
/// In which case they are so long.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);

/// A step of making the files of a job.
pub fn lay_out_plan(
    cell: &Cell,
    job: &Job,
    stage: &LayOutStage,
    reactor: reactor::BackendChoice,
    seed: u64,
) -> StagePlan {
    let reading = stage.load.ops.iter().all(|op| op.op == OpKind::Read);
    StagePlan {
        workers: stage.load.files.len().max(1) as u32,
        schedule: Schedule::of_job(&stage.load.job),
        payload: Payload::of_content(job.seed, &job.content, None),
        sink: if reading { Sink::Discard } else { Sink::Buffer },
        ..load::full_pass(cell, StageWorkload::Job(stage.load.clone()), reactor, seed)
    }
}

/// The load of a job.
///
/// # Errors
/// A file with operations cannot be read.
pub fn plan(
    cell: &Cell,
    job: &Job,
    laid_out: &LaidOut,
    request: &StageRequest,
    reactor: reactor::BackendChoice,
    directory: &Path,
) -> Result<StagePlan, String> {
    let workload = &cell.workload;
    let op_timeout = duration(workload.op_timeout_s);
    let window = duration(request.limit_s);
    let load = JobLoad {
        replay: replay::operations(cell, job)?,
        ..JobLoad::new(Arc::new(job.clone()), workload.ops.clone(), laid_out.files.clone())
    };
    Ok(StagePlan {
        workers: workload.jobs,
        lanes_per_worker: workload.queue_depth,
        reactor,
        pin: true,
        ramp: duration(request.warm_up_s),
        window,
        drain: DRAIN.min(op_timeout),
        interval: if request.limit_s < SHORT_S { SHORT_INTERVAL.min(window) } else { INTERVAL },
        schedule: Schedule::of_job(job),
        stop: if job.ending.time_based { StopRule::Window } else { StopRule::Exhausted },
        workload: StageWorkload::Job(load),
        payload: verify_dump::payload(job, directory),
        sink: match &*workload.sink {
            _ if job.check.is_some() => Sink::Verify,
            "discard" => Sink::Discard,
            _ => Sink::Buffer,
        },
        op_timeout,
        connect_timeout: CONNECT,
        // The job itself says what its errors mean.
        error_limit: None,
        beside: StageContext {
            start_delay: duration(job.ending.start_delay_s),
            placement: (job.placement != Placement::default()).then(|| job.placement.clone()),
            ..StageContext::default()
        },
    })
}
