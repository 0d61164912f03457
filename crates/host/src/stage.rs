//! From what a stage is to do to what the engine is asked for.

use drivers::{Payload, Sink};
use engine::{ContentSummary, Schedule, StageContext, StagePlan, StageWorkload};
use fleet::{HostRefusal, StageRequest, StageTask};
use metrics::OpKind;

use super::host_target::HostTarget;
use crate::load;

impl HostTarget {
    /// What the engine is asked for; `beside` goes into it.
    pub(super) fn plan(
        &self,
        request: &StageRequest,
        beside: StageContext,
    ) -> Result<StagePlan, HostRefusal> {
        let reactor = self.opened.reactor(self.reactor);
        let mass = |workload| load::full_pass(&self.cell, workload, reactor, self.seed);
        let mut plan = match &request.task {
            StageTask::LayOut { step } => self.lay_out_plan(*step, reactor)?,
            StageTask::Create => {
                mass(StageWorkload::Visit { data_set: self.own.clone(), kind: OpKind::Create })
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
                // Everything is looked at, however much of it is wrong.
                StagePlan { error_limit: None, ..mass(workload) }
            }
        };
        // Each agent would begin to count cores at the first one.
        plan.pin &= self.own_cores;
        plan.connect_timeout = self.opened.connect_timeout(self.patience.connect);
        plan.beside = StageContext {
            rendezvous: beside.rendezvous,
            trace: beside.trace,
            scope: beside.scope,
            ..plan.beside
        };
        Ok(plan)
    }

    /// A step of making the files of a job.
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
            ..load::full_pass(&self.cell, workload, reactor, self.seed)
        })
    }
}
