//! What to log.

use std::path::{Path, PathBuf};

use experiment::{Job, Plan};

/// Input for the logs of one cell.
#[derive(Clone, Debug)]
pub struct LogPlan {
    /// The job.
    pub job: Job,
    /// Workers of the cell.
    pub workers: u32,
    /// Number of the cell's first worker among those of all jobs, from 1; part of the file names.
    pub first_log: u32,
    /// Load before the measurement, in nanoseconds: it is not logged, and times count from its end.
    pub ramp_ns: u64,
    /// Added to all times, in milliseconds: the start time since 1970 if the job asks for it (`log_unix_epoch`).
    pub epoch_ms: u64,
    /// Directory for relative names.
    pub directory: PathBuf,
}

impl LogPlan {
    /// For the plan's cell at this index; `None` if it is not a job. `started_ms` is the current time in milliseconds
    /// since 1970.
    pub fn of(plan: &Plan, place: usize, directory: &Path, started_ms: u64) -> Option<LogPlan> {
        let cell = plan.cells.get(place)?;
        let job = cell.workload.stream()?.clone();
        let before = plan.cells[..place].iter().filter(|cell| cell.workload.stream().is_some());
        let ramp_ns = (cell.stages.warm_up_s * 1e9) as u64;
        Some(LogPlan {
            workers: cell.workload.jobs,
            first_log: 1 + before.map(|cell| cell.workload.jobs).sum::<u32>(),
            ramp_ns,
            epoch_ms: if job.logs.unix_epoch { started_ms + ramp_ns / 1_000_000 } else { 0 },
            directory: directory.to_owned(),
            job,
        })
    }

    /// Path of a worker's log of this kind: `NAME_bw.3.log`, or `NAME_bw.log` when all workers share it.
    pub fn path(&self, name: &str, kind: &str, worker: u32) -> PathBuf {
        let name = if name.is_empty() { &self.job.name } else { name };
        let file = match self.job.logs.together {
            true => format!("{name}_{kind}.log"),
            false => format!("{name}_{kind}.{}.log", self.first_log + worker),
        };
        self.directory.join(file)
    }

    /// Number of files of each kind.
    pub fn files(&self) -> u32 {
        if self.job.logs.together { 1 } else { self.workers }
    }

    /// Index of the file that holds a worker's lines.
    pub fn file_of(&self, worker: u32) -> usize {
        if self.job.logs.together { 0 } else { worker as usize }
    }
}
