//! Stages that write data anew and read it back, without anything that was there before: the phases of a check, and the pieces of a
//! calibration.

use std::time::Duration;

use engine::{DataShape, Schedule, StageContext, StagePlan, StageWorkload, StopRule, VisitOrder};
use experiment::Access;
use fleet::{HostRefusal, StageRequest};

use super::host_target::HostTarget;
use crate::load::{self, CONNECT, DRAIN, duration};

/// The longest intervals.
const INTERVAL: Duration = Duration::from_secs(1);
/// Of a short stage there are at least so many: this host is looked at between them.
const MIN_INTERVALS: u32 = 4;

impl HostTarget {
    /// Writes as much as the cell's data is: `once`, or over again until the stage's time is over.
    pub(super) fn writing(
        &self,
        request: &StageRequest,
        once: bool,
        reactor: reactor::BackendChoice,
    ) -> StagePlan {
        let workload = StageWorkload::Write { shape: self.own.shape(), limit_bytes: self.own.bytes() };
        let stop = if once { StopRule::Exhausted } else { StopRule::Window };
        StagePlan { stop, ..self.phase(request, workload, reactor) }
    }

    /// Reads again what was written anew.
    pub(super) fn reading(
        &self,
        request: &StageRequest,
        reactor: reactor::BackendChoice,
    ) -> Result<StagePlan, HostRefusal> {
        let data_set = self.new_data();
        let data_set =
            data_set.ok_or_else(|| HostRefusal::failed("nothing was written that could be read"))?;
        let cell = &self.cell.workload;
        let largest = cell.block_sizes().iter().map(|size| size.bytes).max();
        let block_bytes = match data_set.shape() {
            DataShape::Files { block_bytes, .. } => Some(largest.unwrap_or(block_bytes)),
            DataShape::Objects { .. } | DataShape::Device { .. } => None,
        };
        let order = match cell.access() {
            Access::Sequential => VisitOrder::Sequential,
            _ => VisitOrder::Random,
        };
        Ok(self.phase(request, StageWorkload::Read { data_set, block_bytes, order }, reactor))
    }

    fn phase(
        &self,
        request: &StageRequest,
        workload: StageWorkload,
        reactor: reactor::BackendChoice,
    ) -> StagePlan {
        let cell = &self.cell.workload;
        let (window, op_timeout) = (duration(request.limit_s), duration(cell.op_timeout_s));
        StagePlan {
            workers: cell.jobs,
            lanes_per_worker: cell.queue_depth,
            reactor,
            pin: request.alone,
            ramp: duration(request.warm_up_s),
            window,
            drain: DRAIN.min(op_timeout),
            interval: INTERVAL.min(window / MIN_INTERVALS),
            schedule: Schedule::Closed,
            stop: StopRule::Window,
            workload,
            payload: load::payload(&self.cell, self.seed),
            sink: self.sink(),
            op_timeout,
            connect_timeout: CONNECT,
            error_limit: load::error_limit(self.cell.errors),
            beside: StageContext::default(),
        }
    }
}
