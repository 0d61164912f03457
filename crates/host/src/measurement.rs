//! Builds a cell's measurement for the engine: the only place where the kinds of load differ.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use drivers::Sink;
use engine::{JobLoad, Mix, PassLoad, Schedule, StageContext, StagePlan, StageWorkload, StopRule};
use experiment::{Arrivals, Job, Load, MixLoad, Pass};
use fleet::{HostRefusal, StageRequest};

use super::host_target::HostTarget;
use super::load::{self, DRAIN, duration};
use super::replay::{self, ReplayError};
use super::verify_dump;

/// Interval length of a long job, or one of unknown length: that of fio's samples.
const JOB_INTERVAL: Duration = Duration::from_millis(500);
/// Interval length of a pass, whose length is unknown.
const PASS_INTERVAL: Duration = Duration::from_millis(200);
/// A job shorter than this is short.
const SHORT_JOB_S: f64 = 10.0;
/// Interval length of a short job.
const SHORT_JOB_INTERVAL: Duration = Duration::from_millis(100);

impl HostTarget {
    /// The engine's plan, on data of this generation.
    pub(super) fn measurement(
        &self,
        request: &StageRequest,
        generation: u32,
        reactor: reactor::BackendChoice,
    ) -> Result<StagePlan, HostRefusal> {
        let workload = &self.cell.workload;
        let mut plan = match &workload.load {
            Load::Mix(mix) => self.mix(mix, request, generation, reactor),
            Load::Pass(pass) => self.pass(pass, request, reactor),
            Load::Stream(job) => {
                self.stream(job, request, reactor).map_err(|error| HostRefusal::failed(error.to_string()))?
            }
        };
        let mut placement = workload.placement().cloned();
        if let Some(placement) = placement.as_mut().filter(|placement| placement.near_card) {
            let refused = |problem: &dyn std::error::Error| {
                let next = "name cores or numa_nodes instead";
                HostRefusal::failed(format!("placement: numa: nic: {problem}; {next}"))
            };
            let card = self.opened.interface().map_err(|problem| refused(&problem))?;
            let node = drivers::interfaces::numa_node(&card).map_err(|problem| refused(&problem))?;
            placement.numa_nodes = vec![node];
        }
        plan.beside.placement = placement;
        Ok(plan)
    }

    /// A stage of the requested length with the cell's workers and lanes (or the request's): a closed loop until its
    /// time is over.
    pub(super) fn timed(
        &self,
        request: &StageRequest,
        workload: StageWorkload,
        reactor: reactor::BackendChoice,
    ) -> StagePlan {
        let load = &self.cell.workload;
        let op_timeout = duration(load.op_timeout_s);
        StagePlan {
            workers: load.jobs,
            lanes_per_worker: request.queue_depth.unwrap_or(load.queue_depth),
            reactor,
            // Otherwise each cell would pin its workers starting at the first core.
            pin: request.alone,
            ramp: duration(request.warm_up_s),
            window: duration(request.limit_s),
            drain: DRAIN.min(op_timeout),
            interval: duration(load::interval_s(request.limit_s)),
            schedule: Schedule::Closed,
            stop: StopRule::Window,
            workload,
            payload: load::payload(&self.cell, self.seed),
            sink: self.sink(),
            op_timeout,
            connect_timeout: self.patience.connect,
            error_limit: load::error_limit(self.cell.errors),
            beside: StageContext::default(),
        }
    }

    fn mix(
        &self,
        mix: &MixLoad,
        request: &StageRequest,
        generation: u32,
        reactor: reactor::BackendChoice,
    ) -> StagePlan {
        let workload = StageWorkload::Mix(Mix {
            data_set: self.loaded.clone(),
            ops: self.cell.workload.ops.clone(),
            access: mix.access,
            block_sizes: mix.block_sizes.clone(),
            fsync_every: mix.fsync_every,
            batch_size: mix.batch_size,
            think: mix.think,
            on_own: mix.on_own,
            verify: load::verifies(&self.cell),
            generation,
            seed: self.draws,
        });
        let schedule = self.schedule(request, Schedule::Closed);
        StagePlan { schedule, ..self.timed(request, workload, reactor) }
    }

    fn pass(&self, pass: &Pass, request: &StageRequest, reactor: reactor::BackendChoice) -> StagePlan {
        let workload = StageWorkload::Pass(PassLoad::new(Arc::new(pass.clone())));
        StagePlan {
            stop: StopRule::Exhausted,
            interval: PASS_INTERVAL,
            ..self.timed(request, workload, reactor)
        }
    }

    /// Fails if a file of operations cannot be read.
    fn stream(
        &self,
        job: &Job,
        request: &StageRequest,
        reactor: reactor::BackendChoice,
    ) -> Result<StagePlan, ReplayError> {
        let files = self.laid_out.lock().unwrap_or_else(PoisonError::into_inner).files.clone();
        let ops = self.cell.workload.ops.clone();
        let load = JobLoad {
            replay: replay::operations(&self.cell, job)?,
            ..JobLoad::new(Arc::new(job.clone()), ops, files)
        };
        let plan = self.timed(request, StageWorkload::Job(load), reactor);
        Ok(StagePlan {
            schedule: self.schedule(request, Schedule::of_job(job)),
            stop: if job.ending.time_based { StopRule::Window } else { StopRule::Exhausted },
            payload: verify_dump::payload(job, &self.directory),
            interval: match request.limit_s < SHORT_JOB_S {
                true => SHORT_JOB_INTERVAL.min(plan.window),
                false => JOB_INTERVAL,
            },
            beside: StageContext {
                start_delay: duration(job.ending.start_delay_s),
                ..StageContext::default()
            },
            ..plan
        })
    }

    /// One rate for all operations, else the load's own schedule.
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

    fn sink(&self) -> Sink {
        let workload = &self.cell.workload;
        match &*workload.sink {
            _ if workload.verifies() => Sink::Verify,
            "discard" => Sink::Discard,
            _ => Sink::Buffer,
        }
    }
}
