//! What fio's output has an entry for: a job, a clone of it, or with `group_reporting` several of them together.

use engine::{CheckedBlocks, Usage};
use experiment::{Cell, LatencyTarget, Reporting, SteadyRule};
use metrics::{Histogram, OpKind, OpStats};
use stats::{Measure, SteadyOutcome};

use super::direction::DirectionFigures;
use super::latency::{LatencyOutput, Shares, USUAL_PERCENTILES};
use runner::op_logs::direction;
use runner::{CellOutcome, JobFailure};

/// An entry.
#[derive(Clone, Debug, Default)]
pub struct FioEntry {
    /// The job's name; of several, the first one's.
    pub name: String,
    /// Number of the group in whose summary it counts.
    pub group: u32,
    /// Workers.
    pub jobs: u32,
    /// Why it ended badly.
    pub failure: Option<JobFailure>,
    /// The job's own options, as given.
    pub options: Vec<(String, String)>,
    /// How it is shown.
    pub report: Reporting,
    /// Reads, writes and trims.
    pub directions: [DirectionFigures; direction::COUNT],
    /// Latencies of all commits.
    pub sync: Histogram,
    /// Commits that were fsyncs between writes, which is what fio counts.
    pub syncs: u64,
    /// What the workers used of the processors.
    pub usage: Usage,
    /// Wall time over which they used it, added up over them, in nanoseconds: what percentages refer to.
    pub wall_ns: u64,
    /// Operations by how many were in flight when they started.
    pub depths: [u64; 7],
    /// The queue depth: as planned, or as found for a latency.
    pub depth: u32,
    /// The latency that the queue depth is fitted to.
    pub target: Option<LatencyTarget>,
    /// The rule of the steady state, and what it said.
    pub steady: Option<(SteadyRule, SteadyOutcome)>,
    /// Operations that failed.
    pub failed: u64,
    /// Errors do not end the job, and are shown.
    pub goes_on: bool,
    /// What only manometer says.
    pub own: Own,
}

/// What only manometer says of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// The cells of the run.
    pub cells: Vec<u32>,
    /// The worst verdict, in a word.
    pub verdict: Option<store::Verdict>,
    /// What held it back; of several jobs the first's.
    pub limit: Option<stats::limit::Bottleneck>,
    /// Why a job ended badly.
    pub failure: Option<String>,
    /// Failed operations by kind.
    pub errors: std::collections::BTreeMap<metrics::ErrorKind, u64>,
    /// Operations that were in flight when the measured window ended, and are in no count.
    pub in_flight_at_end: u64,
    /// How often a worker waited for the thread that writes the logs.
    pub log_waits: u64,
    /// What became of the blocks of a job that verifies; `None`: it does not.
    pub verification: Option<CheckedBlocks>,
}

/// How a job wants to be shown.
pub fn reporting(cell: &Cell) -> Reporting {
    cell.workload.stream().map(|job| job.report.clone()).unwrap_or_default()
}

impl FioEntry {
    /// Of one cell.
    pub fn of(outcome: &CellOutcome) -> FioEntry {
        let cell = &outcome.cell;
        let report = reporting(cell);
        let job = cell.workload.stream().cloned().unwrap_or_default();
        let errors = &job.ending.errors;
        let name = if job.name.is_empty() { &cell.workload_name } else { &job.name };
        let mut entry = FioEntry {
            name: report.title.as_ref().unwrap_or(name).clone(),
            group: report.group.or(cell.group.map(|group| group.number)).unwrap_or(cell.index),
            jobs: cell.workload.jobs,
            failure: outcome.failure.clone(),
            options: report.options.clone().into_iter().collect(),
            depth: if report.depth > 0 { report.depth } else { cell.workload.queue_depth },
            target: job.ending.latency_target,
            steady: outcome.steady.clone().map(|steady| (cell.steady.clone(), steady)),
            goes_on: errors.go_on_read || errors.go_on_write || errors.go_on_verify,
            own: Own {
                cells: vec![cell.index],
                verdict: outcome.verdict.clone(),
                limit: outcome.limit.clone(),
                failure: outcome.failure.as_ref().map(|failure| failure.text.clone()),
                ..Own::default()
            },
            report,
            ..FioEntry::default()
        };
        if let Some(stage) = &outcome.load {
            for (kind, stats) in &stage.total.ops {
                entry.add(*kind, stats, stage.window_ns);
            }
            entry.add(OpKind::Commit, &stage.closing, 0);
            entry.usage = stage.usage;
            entry.wall_ns = stage.window_ns * u64::from(cell.workload.jobs);
            entry.own.in_flight_at_end += stage.in_flight_at_end;
            entry.own.log_waits += stage.job.trace_waits;
            entry.own.verification = job.check.is_some().then_some(stage.checked);
            entry.syncs += stage.job.fsyncs;
            entry.depth = stage.job.found_depth.unwrap_or(entry.depth);
            for (mine, theirs) in entry.depths.iter_mut().zip(stage.job.depths) {
                *mine += theirs;
            }
        }
        let series = &outcome.samples;
        for (direction, series) in
            entry.directions.iter_mut().zip([&series.read, &series.write, &series.trim])
        {
            direction.add_series(series);
        }
        entry
    }

    fn add(&mut self, kind: OpKind, stats: &OpStats, window_ns: u64) {
        match direction::of_kind(kind) {
            Some(direction) => self.directions[direction].add_stage(stats, window_ns),
            None if kind == OpKind::Commit => self.sync.merge(&stats.service),
            None => {}
        }
        self.failed += stats.failed();
        for (error, count) in metrics::ErrorKind::ALL.iter().zip(stats.errors).filter(|(_, count)| *count > 0)
        {
            *self.own.errors.entry(*error).or_default() += count;
        }
    }

    /// Adds a job that ran at the same time. What describes the job stays that of the first.
    pub fn merge(&mut self, other: FioEntry) {
        self.jobs += other.jobs;
        self.failure = self.failure.take().or(other.failure);
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.merge(theirs);
        }
        self.sync.merge(&other.sync);
        self.syncs += other.syncs;
        self.usage.add(other.usage);
        self.wall_ns += other.wall_ns;
        for (mine, theirs) in self.depths.iter_mut().zip(other.depths) {
            *mine += theirs;
        }
        self.steady = self.steady.take().or(other.steady);
        self.failed += other.failed;
        self.goes_on |= other.goes_on;
        self.own.merge(other.own);
    }

    /// Figures of the service time, fio's `clat`.
    pub fn service(&self, direction: &DirectionFigures) -> LatencyOutput {
        match self.report.hide_service {
            true => LatencyOutput::default(),
            false => LatencyOutput::of(&direction.service, self.percentiles(!self.report.without_service)),
        }
    }

    /// Figures of the response time, fio's `lat`.
    pub fn response(&self, direction: &DirectionFigures) -> LatencyOutput {
        match self.report.hide_response {
            true => LatencyOutput::default(),
            false => LatencyOutput::of(&direction.response, self.percentiles(self.report.response)),
        }
    }

    /// Figures of the commits.
    pub fn commits(&self) -> LatencyOutput {
        LatencyOutput::of(&self.sync, self.percentiles(true))
    }

    /// The list of percentiles, if they are wanted.
    pub fn percentiles(&self, wanted: bool) -> Option<&[f64]> {
        let list = &self.report.percentiles;
        wanted.then_some(if list.is_empty() { &USUAL_PERCENTILES } else { list })
    }

    /// All directions as one.
    pub fn together(&self) -> DirectionFigures {
        let mut all = DirectionFigures::default();
        self.directions.iter().for_each(|direction| all.merge(direction));
        all
    }

    /// How the service times of all operations are distributed.
    pub fn shares(&self) -> Shares {
        match self.report.hide_service {
            true => Shares::default(),
            false => Shares::of(self.directions.iter().map(|direction| &direction.service)),
        }
    }

    /// Shares of operations by how many were in flight, in percent.
    pub fn depth_shares(&self) -> [f64; 7] {
        let all: u64 = self.depths.iter().sum();
        self.depths.map(|count| if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 })
    }

    /// Processor time in the program and in the kernel, in percent of the workers' time.
    pub fn processor_percent(&self) -> [f64; 2] {
        let wall_ns = self.wall_ns;
        [self.usage.user_ns, self.usage.system_ns]
            .map(|ns| if wall_ns == 0 { 0.0 } else { ns as f64 * 100.0 / wall_ns as f64 })
    }

    /// The error's number; 0: none.
    pub fn error_code(&self) -> i32 {
        self.failure.as_ref().map_or(0, |failure| failure.code)
    }
}

impl Own {
    fn merge(&mut self, other: Own) {
        self.cells.extend(other.cells);
        let worse = |mine: &store::Verdict, theirs: &store::Verdict| theirs.validity > mine.validity;
        self.verdict = match (self.verdict.take(), other.verdict) {
            (Some(mine), Some(theirs)) if worse(&mine, &theirs) => Some(theirs),
            (mine, theirs) => mine.or(theirs),
        };
        self.limit = self.limit.take().or(other.limit);
        self.failure = self.failure.take().or(other.failure);
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.in_flight_at_end += other.in_flight_at_end;
        self.log_waits += other.log_waits;
        if let Some(checked) = other.verification {
            self.verification.get_or_insert_default().merge(checked);
        }
    }
}

/// What fio says of a steady state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadyFigures {
    /// `iops_slope:0.300000%`.
    pub rule: String,
    /// Length of the rule's window in seconds.
    pub window_s: u64,
    /// The state was reached.
    pub reached: bool,
    /// What is limited: the slope, else the largest distance from the mean.
    pub slope: bool,
    /// What is watched: `iops`, `bw`, `lat`.
    pub metric: String,
    /// The criterion's value, in percent of the mean.
    pub percent: f64,
    /// The mean of bytes a second over the window.
    pub bytes_per_s: f64,
    /// And of operations a second.
    pub ops_per_s: f64,
}

impl SteadyFigures {
    /// Of a rule of fio's kind.
    pub fn of(rule: &SteadyRule, outcome: &SteadyOutcome) -> Option<SteadyFigures> {
        let SteadyRule::Fio { metric, slope, limit, window_s } = rule else {
            return None;
        };
        let mean = |measure| {
            let of = outcome.series.iter().filter(|series| series.measure == measure);
            let total = of.clone().find(|series| series.op.is_none()).map(|series| series.estimate.mean);
            total.unwrap_or_else(|| of.map(|series| series.estimate.mean).sum())
        };
        let criterion =
            outcome.criteria.iter().find(|criterion| criterion.unit == stats::CriterionUnit::Share);
        let name = if *slope { format!("{metric}_slope") } else { metric.clone() };
        Some(SteadyFigures {
            rule: format!("{name}:{:.6}%", limit * 100.0),
            window_s: window_s.round() as u64,
            reached: outcome.reached,
            slope: *slope,
            metric: metric.clone(),
            percent: criterion.map_or(0.0, |criterion| criterion.value * 100.0),
            bytes_per_s: mean(Measure::BytesPerS),
            ops_per_s: mean(Measure::OpsPerS),
        })
    }
}
