//! Detects plans that the engine would not carry out as specified.

use drivers::Sink;
use experiment::Arrivals;
use metrics::{OpExtent, OpKind};

use crate::source::MAX_CHURNING_LANES;
use crate::{ContentSummary, DataSet, JobLoad, Mix, Schedule, StagePlan, StageWorkload};

/// Maximum number of waiting operations unless unlimited: each one is stored.
const MAX_BACKLOG: u64 = 1 << 24;

impl StagePlan {
    /// What is wrong with the plan, if anything: a reason why the engine would not do what was asked.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.workers == 0 || self.lanes_per_worker == 0 {
            return Some("a stage needs at least one worker and one lane");
        }
        if self.workers > u32::from(u16::MAX) || self.lanes_per_worker > u32::from(u16::MAX) {
            return Some("a stage can have at most 65535 workers of 65535 lanes each");
        }
        if self.window.is_zero() || self.interval.is_zero() {
            return Some("the measured window and the interval must be longer than zero");
        }
        if self.error_limit == Some(0) {
            return Some("the limit of errors must be above zero");
        }
        self.schedule_fault().or_else(|| self.workload_fault())
    }

    fn schedule_fault(&self) -> Option<&'static str> {
        let (arrivals, backlog_limit) = match &self.schedule {
            Schedule::Open { arrivals, backlog_limit, .. } => (arrivals, backlog_limit),
            Schedule::Directions { .. } if !matches!(self.workload, StageWorkload::Job(_)) => {
                return Some("only a job has a rate for each direction");
            }
            Schedule::Directions { .. } | Schedule::Closed => return None,
        };
        if *backlog_limit > MAX_BACKLOG && *backlog_limit != u64::MAX {
            return Some("at most 16777216 operations may wait for a lane, unless any number may");
        }
        arrivals_fault(arrivals)
    }

    fn workload_fault(&self) -> Option<&'static str> {
        match &self.workload {
            StageWorkload::Write { shape, .. } => shape.fault(),
            StageWorkload::Read { block_bytes: Some(0), .. }
            | StageWorkload::Fill { block_bytes: 0, .. }
            | StageWorkload::Check { block_bytes: 0, .. } => Some("the block size must be above zero"),
            StageWorkload::Read { data_set, .. } if data_set.bytes() == 0 => {
                Some("there is nothing to read: nothing was written")
            }
            StageWorkload::Fill { data_set, .. } => fill_fault(data_set),
            StageWorkload::Visit { kind, .. } => visit_fault(*kind),
            StageWorkload::Mix(mix) => self.mix_fault(mix),
            StageWorkload::Job(load) => self.job_fault(load),
            StageWorkload::Pass(load) if load.pass.fault(self.workers * self.lanes_per_worker).is_some() => {
                Some("a pass needs steps and files, and has at most 4096 lanes")
            }
            StageWorkload::Check { data_set, block_bytes, written } => {
                self.check_fault(data_set, *block_bytes, written)
            }
            _ => None,
        }
    }

    fn job_fault(&self, load: &JobLoad) -> Option<&'static str> {
        if load.files.len() != self.workers as usize {
            return Some("a job needs a list of files for each of its workers");
        }
        let own = Schedule::of_job(&load.job);
        let has_own = own != Schedule::Closed || load.has_times();
        if self.schedule != own && (has_own || !matches!(self.schedule, Schedule::Open { .. })) {
            return Some(
                "the schedule of a job is what its rates or times say, or one rate for all its operations",
            );
        }
        let compares = load.job.check.as_ref().is_some_and(|check| check.after_writes || check.only);
        if compares && self.sink != Sink::Verify {
            return Some("a job with a check compares what it reads: its sink must be verify");
        }
        load.fault()
    }

    fn mix_fault(&self, mix: &Mix) -> Option<&'static str> {
        if mix.churns() && self.lanes() > MAX_CHURNING_LANES {
            return Some("a load that creates and removes can have at most 16777216 lanes");
        }
        mix.fault(self.lanes())
    }

    fn check_fault(
        &self,
        data_set: &DataSet,
        block_bytes: u64,
        written: &ContentSummary,
    ) -> Option<&'static str> {
        if self.sink != Sink::Verify {
            return Some("a check compares what it reads: its sink must be verify");
        }
        let units = data_set.units(written.block_bytes().unwrap_or(block_bytes));
        (!written.fits(units.total()))
            .then_some("what was written is of another data set than is to be checked")
    }
}

fn fill_fault(data_set: &DataSet) -> Option<&'static str> {
    data_set.shape().fault().or_else(|| {
        (!data_set.is_laid_out()).then_some("what is filled must be a data set of complete files or objects")
    })
}

fn visit_fault(kind: OpKind) -> Option<&'static str> {
    let allowed = kind.traits().extent == OpExtent::Item;
    (!allowed).then_some("a visit creates, commits, looks at, removes or deletes")
}

fn arrivals_fault(arrivals: &Arrivals) -> Option<&'static str> {
    let rate = |rate: f64| rate >= 0.0 && rate.is_finite();
    let above = |rate: f64| rate > 0.0 && rate.is_finite();
    let good = match arrivals {
        Arrivals::Closed => true,
        Arrivals::Constant { ops_per_s } | Arrivals::Poisson { ops_per_s } => above(*ops_per_s),
        Arrivals::Ramp { from_ops_per_s, to_ops_per_s, over_s } => {
            rate(*from_ops_per_s)
                && rate(*to_ops_per_s)
                && *from_ops_per_s + *to_ops_per_s > 0.0
                && above(*over_s)
        }
        Arrivals::Steps { steps } => {
            steps.iter().all(|step| rate(step.ops_per_s) && above(step.for_s))
                && steps.iter().any(|step| step.ops_per_s > 0.0)
        }
        Arrivals::Times { times } => {
            times.iter().all(|from| rate(from.ops_per_s) && rate(from.at_s))
                && times.windows(2).all(|pair| pair[0].at_s < pair[1].at_s)
                && times.iter().any(|from| from.ops_per_s > 0.0)
        }
    };
    (!good).then_some("the rate must be a number of operations a second above zero, for lengths of time above zero, in order")
}
