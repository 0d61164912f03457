//! From what a stage is to do to what the engine is asked for.

use engine::{ContentSummary, StageContext, StagePlan, StageWorkload};
use fleet::{HostRefusal, StageRequest, StageTask};
use metrics::OpKind;

use super::host_target::HostTarget;
use crate::{job, load};

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
        plan.connect_timeout = self.opened.connect_timeout(plan.connect_timeout);
        plan.beside = StageContext {
            rendezvous: beside.rendezvous,
            trace: beside.trace,
            scope: beside.scope,
            ..plan.beside
        };
        Ok(plan)
    }

    fn lay_out_plan(&self, step: u32, reactor: reactor::BackendChoice) -> Result<StagePlan, HostRefusal> {
        let laid_out = self.laid_out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let stage = laid_out.stages.get(step as usize);
        let (Some(stage), Some(job)) = (stage, &self.cell.workload.job) else {
            return Err(HostRefusal::failed("there is no such step in laying out the job's files"));
        };
        let reactor = stage.opened.as_ref().map_or(reactor, |opened| opened.reactor(self.reactor));
        Ok(job::lay_out_plan(&self.cell, job, stage, reactor, self.seed))
    }

    fn measurement(
        &self,
        request: &StageRequest,
        generation: u32,
        reactor: reactor::BackendChoice,
    ) -> Result<StagePlan, HostRefusal> {
        let mut plan = match &self.cell.workload.job {
            Some(job) => {
                let laid_out = self.laid_out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                job::plan(&self.cell, job, &laid_out, request, reactor, &self.directory)
                    .map_err(HostRefusal::failed)?
            }
            None => {
                let seeds = (self.seed, self.draws);
                load::measure(&self.cell, (self.loaded.clone(), generation), request, reactor, seeds)
            }
        };
        if self.cell.workload.job.is_none() {
            plan.beside.placement.clone_from(&self.cell.workload.placement);
        }
        if let Some(placement) = plan.beside.placement.as_mut().filter(|placement| placement.near_card) {
            let node = self.opened.interface().and_then(|name| drivers::interfaces::numa_node(&name));
            let node = node.map_err(|problem| {
                let next = "name cores or numa_nodes instead";
                HostRefusal::failed(format!("placement: numa: nic: {problem}; {next}"))
            })?;
            placement.numa_nodes = vec![node];
        }
        // Each cell would begin to count cores at the first one.
        plan.pin &= request.alone;
        Ok(plan)
    }
}
