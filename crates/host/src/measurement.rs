//! The measurement of a cell as the engine is asked for it: the one place where a mix and a stream part ways.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use drivers::{Payload, Sink};
use engine::{JobLoad, Mix, Schedule, StageContext, StagePlan, StageWorkload, StopRule};
use experiment::{Arrivals, Job, Load, MixLoad};
use fleet::{HostRefusal, StageRequest};

use super::host_target::HostTarget;
use super::load::{self, CONNECT, DRAIN, duration};
use super::{replay, verify_dump};

/// Length of the intervals of a job that takes long, or nobody knows how long: that of fio's samples.
const JOB_INTERVAL: Duration = Duration::from_millis(500);
/// And of one that is over sooner than this.
const SHORT_JOB_S: f64 = 10.0;
/// In which case they are so long.
const SHORT_JOB_INTERVAL: Duration = Duration::from_millis(100);

/// What a kind of load decides of a stage.
struct OfKind {
    workload: StageWorkload,
    schedule: Schedule,
    stop: StopRule,
    payload: Payload,
    sink: Sink,
    interval: Duration,
    start_delay: Duration,
}

impl HostTarget {
    /// What the engine is asked for, on data of this generation.
    pub(super) fn measurement(
        &self,
        request: &StageRequest,
        generation: u32,
        reactor: reactor::BackendChoice,
    ) -> Result<StagePlan, HostRefusal> {
        let workload = &self.cell.workload;
        let of_kind = match &workload.load {
            Load::Mix(mix) => self.mix(mix, request, generation),
            Load::Stream(job) => self.stream(job, request).map_err(HostRefusal::failed)?,
        };
        let op_timeout = duration(workload.op_timeout_s);
        let mut placement = workload.placement().cloned();
        if let Some(placement) = placement.as_mut().filter(|placement| placement.near_card) {
            let node = self.opened.interface().and_then(|name| drivers::interfaces::numa_node(&name));
            let node = node.map_err(|problem| {
                let next = "name cores or numa_nodes instead";
                HostRefusal::failed(format!("placement: numa: nic: {problem}; {next}"))
            })?;
            placement.numa_nodes = vec![node];
        }
        Ok(StagePlan {
            workers: workload.jobs,
            lanes_per_worker: workload.queue_depth,
            reactor,
            // Each cell would begin to count cores at the first one.
            pin: request.alone,
            ramp: duration(request.warm_up_s),
            window: duration(request.limit_s),
            drain: DRAIN.min(op_timeout),
            interval: of_kind.interval,
            schedule: of_kind.schedule,
            stop: of_kind.stop,
            workload: of_kind.workload,
            payload: of_kind.payload,
            sink: of_kind.sink,
            op_timeout,
            connect_timeout: CONNECT,
            error_limit: load::error_limit(self.cell.errors),
            beside: StageContext { start_delay: of_kind.start_delay, placement, ..StageContext::default() },
        })
    }

    fn mix(&self, mix: &MixLoad, request: &StageRequest, generation: u32) -> OfKind {
        let workload = &self.cell.workload;
        OfKind {
            schedule: self.schedule(request, Schedule::Closed),
            stop: StopRule::Window,
            payload: load::payload(&self.cell, self.seed),
            sink: self.sink(),
            interval: duration(load::interval_s(request.limit_s)),
            start_delay: Duration::ZERO,
            workload: StageWorkload::Mix(Mix {
                data_set: self.loaded.clone(),
                ops: workload.ops.clone(),
                access: mix.access,
                block_sizes: mix.block_sizes.clone(),
                fsync_every: mix.fsync_every,
                think: mix.think,
                verify: load::verifies(&self.cell),
                generation,
                seed: self.draws,
            }),
        }
    }

    /// Fails when a file with operations cannot be read.
    fn stream(&self, job: &Job, request: &StageRequest) -> Result<OfKind, String> {
        let files = self.laid_out.lock().unwrap_or_else(PoisonError::into_inner).files.clone();
        let ops = self.cell.workload.ops.clone();
        let load = JobLoad {
            replay: replay::operations(&self.cell, job)?,
            ..JobLoad::new(Arc::new(job.clone()), ops, files)
        };
        let short = request.limit_s < SHORT_JOB_S;
        Ok(OfKind {
            schedule: self.schedule(request, Schedule::of_job(job)),
            stop: if job.ending.time_based { StopRule::Window } else { StopRule::Exhausted },
            payload: verify_dump::payload(job, &self.directory),
            sink: self.sink(),
            interval: if short { SHORT_JOB_INTERVAL.min(duration(request.limit_s)) } else { JOB_INTERVAL },
            start_delay: duration(job.ending.start_delay_s),
            workload: StageWorkload::Job(load),
        })
    }

    /// One rate for all operations, or else what the load itself says.
    fn schedule(&self, request: &StageRequest, otherwise: Schedule) -> Schedule {
        match &request.arrivals {
            Arrivals::Closed => otherwise,
            arrivals => Schedule::Open {
                arrivals: arrivals.clone(),
                backlog_limit: self.cell.workload.backlog_limit,
                seed: self.draws,
            },
        }
    }

    pub(super) fn sink(&self) -> Sink {
        let workload = &self.cell.workload;
        match &*workload.sink {
            _ if workload.verifies() => Sink::Verify,
            "discard" => Sink::Discard,
            _ => Sink::Buffer,
        }
    }
}
