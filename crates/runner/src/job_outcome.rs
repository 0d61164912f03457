//! The in-memory results of a run of jobs: the source of fio's output formats. The results file has the rest.

use engine::StageResult;
use experiment::{Cell, Plan};
use jiff::Timestamp;
use stats::SteadyOutcome;
use store::Verdict;

use crate::{RunOutcome, nothing};

/// Results of a run of jobs.
#[derive(Clone, Debug)]
pub struct JobsOutcome {
    /// The run's id in the results file.
    pub run: String,
    /// The plan.
    pub plan: Plan,
    /// Start, on the wall clock.
    pub started: Timestamp,
    /// End, or when this snapshot was taken (`--status-interval`).
    pub finished: Timestamp,
    /// Every cell of the plan, in plan order, including cells that did not run.
    pub cells: Vec<CellOutcome>,
    /// The disks under the jobs' files, over the whole run.
    pub disks: Vec<DiskUse>,
}

impl JobsOutcome {
    /// The results of a run of this plan, kept in memory ([`RunOptions::keep_outcomes`](crate::RunOptions)), in plan
    /// order.
    pub fn of(plan: Plan, run: &RunOutcome, started: Timestamp, finished: Timestamp) -> Self {
        let of = |cell: &Cell| {
            let found = run.found.iter().find(|found| found.cell.index == cell.index);
            found.cloned().unwrap_or_else(|| nothing(cell))
        };
        let cells = plan.cells.iter().map(of).collect();
        // This host's disks say nothing about jobs that ran elsewhere.
        let disks = if plan.fleet.is_some() { Vec::new() } else { run.disks.clone() };
        Self { run: run.record.id.clone(), started, finished, cells, disks, plan }
    }
}

/// Outcome of a cell: a job section, or one clone of it.
#[derive(Clone, Debug)]
pub struct CellOutcome {
    /// The cell as planned.
    pub cell: Cell,
    /// The load, verification included; `None` when it could not run or only laid out its files.
    pub load: Option<StageResult>,
    /// Throughput over time.
    pub samples: Samples,
    /// Result of the steady-state rule (`steadystate`); `None` without a rule.
    pub steady: Option<SteadyOutcome>,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// The measurement's verdict.
    pub verdict: Option<Verdict>,
    /// What limited it.
    pub limit: Option<stats::limit::Bottleneck>,
    /// What each host of a fleet did; empty where this host alone ran it.
    pub hosts: Vec<HostOutcome>,
}

impl CellOutcome {
    /// What each host did, with its name in the fleet; without a fleet this host's part, without a name.
    pub fn loads(&self) -> impl Iterator<Item = (Option<&str>, &StageResult)> {
        let of_hosts = self.hosts.iter().map(|host| (Some(host.name.as_str()), &host.load));
        let own = self.load.iter().filter(|_| self.hosts.is_empty()).map(|load| (None, load));
        of_hosts.chain(own)
    }
}

/// A host's part in a cell.
#[derive(Clone, Debug)]
pub struct HostOutcome {
    /// Its name in the fleet.
    pub name: String,
    /// Its load.
    pub load: StageResult,
    /// Its throughput over time.
    pub samples: Samples,
    /// Why it failed there.
    pub failure: Option<JobFailure>,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// An errno(3) value: the system's own if there was one, else the nearest; 5 (EIO) when none is close.
    pub code: i32,
    /// One line.
    pub text: String,
}

/// Throughput over time, in samples of half a second (fio's default `bwavgtime` and `iopsavgtime`).
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Reads.
    pub read: SampleSeries,
    /// Writes.
    pub write: SampleSeries,
    /// Trims.
    pub trim: SampleSeries,
}

/// One direction over time.
#[derive(Clone, Debug, Default)]
pub struct SampleSeries {
    /// Bytes per second.
    pub bytes_per_s: SampleSummary,
    /// Operations per second.
    pub ops_per_s: SampleSummary,
}

/// Summary statistics of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSummary {
    /// The minimum; 0 without samples.
    pub min: f64,
    /// The maximum; 0 without samples.
    pub max: f64,
    /// The mean; 0 without samples.
    pub mean: f64,
    /// The samples' standard deviation; 0 with fewer than two.
    pub deviation: f64,
    /// Number of samples.
    pub count: u64,
    /// Sum of squared deviations from the mean, for the standard deviation.
    squares: f64,
}

impl SampleSummary {
    /// Adds a sample.
    pub fn add(&mut self, value: f64) {
        // Welford's algorithm, which keeps its precision.
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.deviation = match self.count {
            1 => 0.0,
            count => (self.squares / (count - 1) as f64).max(0.0).sqrt(),
        };
    }
}

/// A disk over a period (`/proc/diskstats`, Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Its name, `sda`.
    pub name: String,
    /// Operations: reads, writes.
    pub operations: [u64; 2],
    /// Merged with others.
    pub merged: [u64; 2],
    /// Sectors of 512 bytes.
    pub sectors: [u64; 2],
    /// Total waiting time of each, in milliseconds.
    pub waited_ms: [u64; 2],
    /// Total waiting time of all operations, in milliseconds.
    pub queued_ms: u64,
    /// Milliseconds during which the disk was busy.
    pub busy_ms: u64,
    /// Milliseconds for which it was watched.
    pub watched_ms: u64,
    /// The disks below it, such as the members of a RAID or a volume.
    pub parts: Vec<DiskUse>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_that_of_its_samples() {
        let mut summary = SampleSummary::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| summary.add(value));
        assert_eq!((summary.min, summary.max, summary.count), (2.0, 9.0, 8));
        assert!((summary.mean - 5.0).abs() < 1e-12);
        assert!((summary.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
