//! Interim results of jobs, for output before they end (fio's `--status-interval`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use engine::StageResult;
use experiment::{Cell, Plan};
use jiff::Timestamp;
use metrics::Interval;

use crate::job_outcome::{CellOutcome, JobsOutcome};
use crate::outcome::nothing;
use crate::progress::SharedProgress;
use crate::samples::Sampler;
use crate::stages::MEASURE;
use crate::{RunEvent, timestamp};

/// The jobs of a run in progress, assembled from the run's events.
#[derive(Debug)]
pub struct Interim {
    plan: Plan,
    started: Timestamp,
    progress: OnceLock<Arc<SharedProgress>>,
    cells: Mutex<BTreeMap<u32, Partial>>,
}

/// A cell's measurement so far.
#[derive(Debug)]
struct Partial {
    total: Interval,
    sampler: Sampler,
}

impl Interim {
    /// For a run of this plan that starts now.
    pub fn new(plan: &Plan) -> Self {
        Interim {
            plan: plan.clone(),
            started: timestamp::now(),
            progress: OnceLock::new(),
            cells: Mutex::default(),
        }
    }

    /// Processes an event of the run.
    pub fn event(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Began(progress) => {
                let _ = self.progress.set(Arc::clone(progress));
            }
            RunEvent::Interval { cell, stage, interval, .. } if *stage == MEASURE => {
                self.add(*cell, interval)
            }
            _ => {}
        }
    }

    fn add(&self, cell: u32, interval: &Interval) {
        let report = self.plan.cells.get(cell as usize).and_then(|cell| cell.workload.stream());
        let report = report.map(|job| job.report.clone()).unwrap_or_default();
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let partial = cells
            .entry(cell)
            .or_insert_with(|| Partial { total: Interval::default(), sampler: Sampler::new(&report) });
        partial.total.merge(interval);
        partial.total.length_ns += interval.length_ns;
        partial.sampler.add(interval);
    }

    /// Whether the run has begun, and so has an id.
    pub fn has_begun(&self) -> bool {
        self.progress.get().is_some()
    }

    /// All cells, each from its start until now, without what is known only at their end.
    pub fn outcome(&self) -> JobsOutcome {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |cell: &Cell| match cells.get(&cell.index) {
            Some(partial) => CellOutcome {
                load: Some(StageResult::of_intervals(partial.total.clone())),
                samples: partial.sampler.clone().samples(),
                ..nothing(cell)
            },
            None => nothing(cell),
        };
        JobsOutcome {
            run: self.progress.get().map(|progress| progress.lock().run.clone()).unwrap_or_default(),
            started: self.started,
            finished: timestamp::now(),
            cells: self.plan.cells.iter().map(of).collect(),
            disks: Vec::new(),
            plan: self.plan.clone(),
        }
    }
}
