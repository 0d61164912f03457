//! Stages that write new data and read it back, independent of existing data: the phases of a check.

use std::time::Duration;

use engine::{DataShape, StagePlan, StageWorkload, VisitOrder};
use experiment::Access;
use fleet::{HostRefusal, StageRequest};

use super::host_target::HostTarget;

/// Maximum interval length.
const INTERVAL: Duration = Duration::from_secs(1);
/// Minimum number of intervals of a short stage: host samples are taken between them.
const MIN_INTERVALS: u32 = 4;

impl HostTarget {
    /// Writes the cell's data repeatedly until the stage's time is over.
    pub(super) fn writing(&self, request: &StageRequest, reactor: reactor::BackendChoice) -> StagePlan {
        let workload = StageWorkload::Write { shape: self.own.shape(), limit_bytes: self.own.bytes() };
        self.phase(request, workload, reactor)
    }

    /// Reads the newly written data back.
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
        let plan = self.timed(request, workload, reactor);
        // A probe's trial is short, but its figure must be precise.
        let interval = match request.queue_depth {
            Some(_) => plan.interval,
            None => INTERVAL.min(plan.window / MIN_INTERVALS),
        };
        StagePlan { interval, ..plan }
    }
}

#[cfg(test)]
mod tests {
    use engine::{Control, StageContext, StageResult};
    use experiment::{Settings, SourceText};
    use fleet::{HostExecutor, HostShare, OpenOrder, StageTask};
    use metrics::OpKind;
    use provision::RunId;
    use targets::Patience;

    use super::*;
    use crate::LocalExecutor;

    #[test]
    fn what_was_written_anew_is_read_again() {
        let journals = tempfile::tempdir().unwrap();
        let host = LocalExecutor::new(Some(journals.path().to_owned()));
        let text = "targets: {t: 'sim:?latency=1ms'}\n\
                    workloads: {w: {ops: write, access: sequential, block_size: 4KiB, file_size: 16KiB, files: 8, \
                    jobs: 1, queue_depth: 2, verify: true}}\n";
        let source = SourceText { file: "t.yaml", text };
        let plan = experiment::parse(&source, &Settings::of(targets::kinds())).unwrap();
        let run = RunId::random().to_string();
        host.open(&OpenOrder {
            site: 1,
            cell: Box::new(plan.cells[0].clone()),
            part: HostShare::WHOLE,
            run: run.clone(),
            place: run,
            key: None,
            seed: 1,
            draws: 1,
            own_cores: false,
            reactor: "auto".to_owned(),
            patience: Patience::default(),
            destroy: Vec::new(),
            settled: Vec::new(),
        })
        .unwrap();
        let stage = |task| -> Result<StageResult, HostRefusal> {
            let request = StageRequest { limit_s: 1.0, ..StageRequest::to_the_end(1, task) };
            host.run_stage(&request, StageContext::default(), &Control::new(), &mut |_| {})
        };
        assert!(stage(StageTask::Read).unwrap_err().text.contains("nothing was written"));
        let wrote = stage(StageTask::Write).unwrap();
        assert_eq!((wrote.total.failed(), wrote.data_set.objects()), (0, 8), "written over again, not more");
        assert!(wrote.total.op(OpKind::Write).unwrap().ok > 4 * 8);
        let read = stage(StageTask::Read).unwrap();
        assert_eq!(read.total.failed(), 0, "every byte is compared");
        assert!(read.total.op(OpKind::Read).unwrap().ok > 4 * 8);
    }
}
