//! A job expressed in the terms common to all loads, for code that only reads plans.

use metrics::{OpDirection, OpKind};

use super::{Amount, Directions, Distribution, Job, SizeChoice};
use crate::figures::TRIAL_WARM_UP;
use crate::plan::{Access, Prepare, Stages, WeightedOp, WeightedSize};

/// Stands for no limit in a job without a runtime, in seconds: ten years.
pub const WITHOUT_LIMIT_S: f64 = 10.0 * 365.0 * 86_400.0;

impl Stages {
    /// Duration of a probe, in seconds: two trials with their warm-ups.
    pub fn probing_s(&self) -> f64 {
        2.0 * (1.0 + TRIAL_WARM_UP) * self.probe_s
    }

    /// The stages around a job that is measured from `ramp_s` seconds after its start; the job prepares its own files.
    pub fn of_job(job: &Job, ramp_s: f64) -> Self {
        let limit_s = if job.ending.runtime_s > 0.0 { job.ending.runtime_s } else { WITHOUT_LIMIT_S };
        Stages {
            prepare: Prepare::None,
            warm_up_s: ramp_s,
            measure_at_least_s: if job.ending.time_based { limit_s } else { 0.0 },
            measure_at_least_bytes: 0,
            measure_at_most_s: limit_s,
            probe_s: 0.0,
            verify: false,
            clean_up: false,
        }
    }
}

impl Job {
    pub(crate) fn access(&self) -> Access {
        if !self.pattern.random {
            return match (self.pattern.skip, self.block_sizes.sizes.read.least()) {
                (skip, block) if skip > 0 => Access::Strided { stride_bytes: block + skip.unsigned_abs() },
                _ => Access::Sequential,
            };
        }
        let Directions { read, write, .. } = &self.pattern.distribution;
        match if *read == Distribution::Even { write } else { read } {
            Distribution::Zipf { theta, .. } => Access::Zipf { theta: *theta },
            Distribution::Pareto { h, .. } => Access::Pareto { h: *h },
            _ if self.pattern.with_repeats => Access::Random,
            Distribution::Even => Access::Shuffled,
            Distribution::Normal { .. } | Distribution::Zoned { .. } => Access::Random,
        }
    }

    /// The sizes of all directions; for a range, its ends.
    pub(crate) fn weighted_sizes(&self, ops: &[WeightedOp]) -> Vec<WeightedSize> {
        let mut all: Vec<WeightedSize> = Vec::new();
        let mut add = |bytes: u64, weight: f64| match all.iter_mut().find(|size| size.bytes == bytes) {
            Some(size) => size.weight += weight,
            None => all.push(WeightedSize { bytes, weight }),
        };
        let whole: f64 = ops.iter().filter_map(|op| self.choice_of(op.op).map(|_| op.weight)).sum();
        for op in ops {
            let Some(choice) = self.choice_of(op.op) else { continue };
            let share = op.weight / whole;
            match choice {
                SizeChoice::Fixed(bytes) => add(*bytes, share),
                SizeChoice::Range { least, most } if least == most => add(*least, share),
                SizeChoice::Range { least, most } => {
                    add(*least, share / 2.0);
                    add(*most, share / 2.0);
                }
                SizeChoice::Split(sizes) => {
                    let sum: f64 = sizes.iter().map(|size| size.weight).sum();
                    sizes.iter().for_each(|size| add(size.bytes, share * size.weight / sum));
                }
            }
        }
        all
    }

    /// Block sizes of an operation; `None` if it has none.
    pub fn choice_of(&self, op: OpKind) -> Option<&SizeChoice> {
        let sizes = &self.block_sizes.sizes;
        match op.traits().direction? {
            OpDirection::Read => Some(&sizes.read),
            OpDirection::Write => Some(&sizes.write),
            OpDirection::Trim => op.is_of_ranges().then_some(&sizes.trim),
        }
    }

    /// Total files of this many workers, which may share theirs.
    pub(crate) fn all_files(&self, workers: u32) -> u64 {
        let sets = if self.files.names.are_shared() { 1 } else { workers.max(1) };
        u64::from(self.files.per_worker()) * u64::from(sets)
    }

    /// Size of each file if the plan knows it, otherwise 0.
    pub(crate) fn known_file_bytes(&self) -> u64 {
        match (self.files.bytes, self.region.size) {
            (0, Amount::Bytes(bytes)) => bytes / u64::from(self.files.per_worker().max(1)),
            (bytes, _) => bytes,
        }
    }
}
