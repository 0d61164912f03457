//! What a run of jobs found, in memory: what fio's output shapes are made from. The results file has the rest.

use engine::StageResult;
use experiment::{Cell, Plan};
use jiff::Timestamp;
use stats::SteadyOutcome;
use store::Verdict;

/// A run of jobs.
#[derive(Clone, Debug)]
pub struct JobsOutcome {
    /// The run's id in the results file.
    pub run: String,
    /// What was asked for.
    pub plan: Plan,
    /// When it began, on the wall clock.
    pub started: Timestamp,
    /// When it ended, or when this snapshot was taken (`--status-interval`).
    pub finished: Timestamp,
    /// Every cell of the plan, in its order; also those that were not run.
    pub cells: Vec<CellOutcome>,
    /// The disks under the jobs' files, over the whole run.
    pub disks: Vec<DiskUse>,
}

/// What became of a cell: a job section, or one clone of it.
#[derive(Clone, Debug)]
pub struct CellOutcome {
    /// What was asked for.
    pub cell: Cell,
    /// The load, verification included; `None` when it could not be run, or only laid out its files.
    pub load: Option<StageResult>,
    /// Throughput over time.
    pub samples: Samples,
    /// What the rule said (`steadystate`); `None`: there was none.
    pub steady: Option<SteadyOutcome>,
    /// Why it ended badly.
    pub failure: Option<JobFailure>,
    /// What is thought of the measurement.
    pub verdict: Option<Verdict>,
    /// What held it back.
    pub limit: Option<stats::limit::Bottleneck>,
    /// What each host of a fleet did; none where this host alone ran it.
    pub hosts: Vec<HostOutcome>,
}

/// A host's part in a cell.
#[derive(Clone, Debug)]
pub struct HostOutcome {
    /// As the fleet names it.
    pub name: String,
    /// Its load.
    pub load: StageResult,
    /// Its throughput over time.
    pub samples: Samples,
    /// Why it ended badly there.
    pub failure: Option<JobFailure>,
}

/// Why a job ended badly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// A number of errno(3): the system's where there was one, else the nearest; 5 (EIO) when nothing is near.
    pub code: i32,
    /// One line.
    pub text: String,
}

/// Throughput over time, in samples of half a second (fio's usual `bwavgtime` and `iopsavgtime`).
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Of reads.
    pub read: SampleSeries,
    /// Of writes.
    pub write: SampleSeries,
    /// Of trims.
    pub trim: SampleSeries,
}

/// One direction over time.
#[derive(Clone, Debug, Default)]
pub struct SampleSeries {
    /// Bytes a second.
    pub bytes_per_s: SampleSummary,
    /// Operations a second.
    pub ops_per_s: SampleSummary,
}

/// Samples, without the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSummary {
    /// The smallest; 0 without samples.
    pub min: f64,
    /// The largest; 0 without samples.
    pub max: f64,
    /// The mean; 0 without samples.
    pub mean: f64,
    /// The samples' standard deviation; 0 of fewer than two.
    pub deviation: f64,
    /// How many.
    pub count: u64,
    /// Sum of the squared distances from the mean, from which the deviation comes.
    squares: f64,
}

impl SampleSummary {
    /// Takes a sample in.
    pub fn add(&mut self, value: f64) {
        // Welford's way, which keeps its precision.
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

/// A disk over a while (`/proc/diskstats`, Documentation/admin-guide/iostats.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Its name, `sda`.
    pub name: String,
    /// Reads, writes.
    pub operations: [u64; 2],
    /// Of them, put together with others.
    pub merged: [u64; 2],
    /// Sectors of 512 bytes.
    pub sectors: [u64; 2],
    /// Milliseconds that they waited, added up.
    pub waited_ms: [u64; 2],
    /// Milliseconds that all operations waited, added up.
    pub queued_ms: u64,
    /// Milliseconds during which the disk had something to do.
    pub busy_ms: u64,
    /// Milliseconds that it was watched.
    pub watched_ms: u64,
    /// The disks that it is made of, such as those of a RAID or a volume.
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
