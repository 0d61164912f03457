//! Translates a stage request into the engine's plan.

use std::time::Duration;

use drivers::{Payload, Sink};
use engine::{ContentSummary, Schedule, StageContext, StagePlan, StageWorkload, StopRule};
use fleet::{HostRefusal, StageRequest, StageTask};
use metrics::OpKind;

use super::host_target::HostTarget;
use crate::load::{self, DRAIN, WITHOUT_LIMIT, duration};

/// Maximum threads that fill or verify, unless the cell has more jobs.
const MASS_WORKERS: u32 = 4;
/// Operations in flight of each.
const MASS_LANES: u32 = 8;
/// Filling and verifying give up after this many errors: they indicate a problem with the target.
const MASS_ERRORS: u64 = 100;

impl HostTarget {
    /// The engine's plan; it takes over `beside`.
    pub(super) fn plan(
        &self,
        request: &StageRequest,
        beside: StageContext,
    ) -> Result<StagePlan, HostRefusal> {
        let reactor = self.opened.reactor(self.reactor);
        let mass = |workload| self.full_pass(workload, reactor);
        let mut plan = match &request.task {
            StageTask::LayOut { step } => self.lay_out_plan(*step, reactor)?,
            StageTask::Visit { kind } => {
                mass(StageWorkload::Visit { data_set: self.own.clone(), kind: *kind })
            }
            StageTask::Fill { generation } => {
                let block_bytes = load::large_block(self.own.shape().item_bytes());
                mass(StageWorkload::Fill { data_set: self.own.clone(), block_bytes, generation: *generation })
            }
            StageTask::Measure { generation } => self.measurement(request, *generation, reactor)?,
            StageTask::Write => self.writing(request, reactor),
            StageTask::Read => self.reading(request, reactor)?,
            StageTask::Verify { content } => {
                let written = content.map_or_else(|| self.written(), ContentSummary::uniform);
                if !written.is_known() {
                    return Err(HostRefusal::failed("what was written could not be followed"));
                }
                let block_bytes = load::verify_block(&self.cell, self.own.shape().item_bytes());
                let workload = StageWorkload::Check { data_set: self.own.clone(), block_bytes, written };
                // Verification covers everything, however many errors there are.
                StagePlan { error_limit: None, ..mass(workload) }
            }
        };
        // Otherwise each agent would pin its workers starting at the first core.
        plan.pin &= self.own_cores;
        plan.connect_timeout = self.opened.connect_timeout(plan.connect_timeout);
        plan.beside = StageContext {
            rendezvous: beside.rendezvous,
            trace: beside.trace,
            scope: beside.scope,
            ..plan.beside
        };
        Ok(plan)
    }

    /// A step of laying out a job's files.
    fn lay_out_plan(&self, step: u32, reactor: reactor::BackendChoice) -> Result<StagePlan, HostRefusal> {
        let laid_out = self.laid_out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let stage = laid_out.stages.get(step as usize);
        let (Some(stage), Some(job)) = (stage, self.cell.workload.stream()) else {
            return Err(HostRefusal::failed("there is no such step in laying out the job's files"));
        };
        let reactor = stage.opened.as_ref().map_or(reactor, |opened| opened.reactor(self.reactor));
        let workload = StageWorkload::Job(stage.load.clone());
        let reading = stage.load.ops.iter().all(|op| op.op == OpKind::Read);
        Ok(StagePlan {
            workers: stage.load.files.len().max(1) as u32,
            schedule: Schedule::of_job(&stage.load.job),
            payload: Payload::of_content(job.seed, &job.content, None),
            sink: if reading { Sink::Discard } else { Sink::Buffer },
            ..self.full_pass(workload, reactor)
        })
    }

    /// A stage that passes over all the data once: filling, creating, verifying.
    fn full_pass(&self, workload: StageWorkload, reactor: reactor::BackendChoice) -> StagePlan {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let sink = match workload {
            StageWorkload::Check { .. } => Sink::Verify,
            _ => Sink::Buffer,
        };
        let op_timeout = duration(self.cell.workload.op_timeout_s);
        StagePlan {
            workers: cores.min(MASS_WORKERS).max(self.cell.workload.jobs),
            lanes_per_worker: MASS_LANES,
            reactor,
            pin: true,
            ramp: Duration::ZERO,
            window: WITHOUT_LIMIT,
            drain: DRAIN.min(op_timeout),
            interval: Duration::from_secs(1),
            schedule: Schedule::Closed,
            stop: StopRule::Exhausted,
            workload,
            payload: load::payload(&self.cell, self.seed),
            sink,
            op_timeout,
            connect_timeout: self.patience.connect,
            error_limit: Some(MASS_ERRORS),
            beside: StageContext::default(),
        }
    }
}
