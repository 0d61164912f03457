//! An entry in fio's output: a job, a clone of it, or with `group_reporting` several of them together.

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
    /// The job's name; for several jobs, the first one's.
    pub name: String,
    /// Number of the group whose summary includes it.
    pub group: u32,
    /// Number of workers.
    pub jobs: u32,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// The job's own options, as given.
    pub options: Vec<(String, String)>,
    /// Display options.
    pub report: Reporting,
    /// Reads, writes and trims.
    pub directions: [DirectionFigures; direction::COUNT],
    /// Latencies of all commits.
    pub sync: Histogram,
    /// Number of fsyncs between writes, the only commits that fio counts.
    pub syncs: u64,
    /// The workers' processor usage.
    pub usage: Usage,
    /// Total wall time of all workers, in nanoseconds: the base of the percentages.
    pub wall_ns: u64,
    /// Operations by the number in flight when they started.
    pub depths: [u64; 7],
    /// The queue depth: as planned, or as found for a target latency.
    pub depth: u32,
    /// The target latency to which the queue depth is fitted.
    pub target: Option<LatencyTarget>,
    /// The steady-state rule and its result.
    pub steady: Option<(SteadyRule, SteadyOutcome)>,
    /// Operations that failed.
    pub failed: u64,
    /// Errors do not end the job, and are shown.
    pub goes_on: bool,
    /// Figures that only manometer reports.
    pub own: Own,
}

/// Figures of an entry that only manometer reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// The cells of the run.
    pub cells: Vec<u32>,
    /// The worst verdict.
    pub verdict: Option<store::Verdict>,
    /// What limited it; for several jobs, the first one's.
    pub limit: Option<stats::limit::Bottleneck>,
    /// Why a job failed.
    pub failure: Option<String>,
    /// Failed operations by kind.
    pub errors: std::collections::BTreeMap<metrics::ErrorKind, u64>,
    /// Operations in flight at the end of the measured window, which no count includes.
    pub in_flight_at_end: u64,
    /// Number of times a worker waited for the log-writing thread.
    pub log_waits: u64,
    /// Block counts of a verifying job; `None` if it does not verify.
    pub verification: Option<CheckedBlocks>,
}

/// A job's display options.
pub fn reporting(cell: &Cell) -> Reporting {
    cell.workload.stream().map(|job| job.report.clone()).unwrap_or_default()
}

impl FioEntry {
    /// The entry of one cell.
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

    /// Adds a concurrent job. The description of the first job stays.
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

    /// Service-time figures, fio's `clat`.
    pub fn service(&self, direction: &DirectionFigures) -> LatencyOutput {
        match self.report.hide_service {
            true => LatencyOutput::default(),
            false => LatencyOutput::of(&direction.service, self.percentiles(!self.report.without_service)),
        }
    }

    /// Response-time figures, fio's `lat`.
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

    /// The list of percentiles, if wanted.
    pub fn percentiles(&self, wanted: bool) -> Option<&[f64]> {
        let list = &self.report.percentiles;
        wanted.then_some(if list.is_empty() { &USUAL_PERCENTILES } else { list })
    }

    /// All directions combined.
    pub fn together(&self) -> DirectionFigures {
        let mut all = DirectionFigures::default();
        self.directions.iter().for_each(|direction| all.merge(direction));
        all
    }

    /// Distribution of the service times of all operations.
    pub fn shares(&self) -> Shares {
        match self.report.hide_service {
            true => Shares::default(),
            false => Shares::of(self.directions.iter().map(|direction| &direction.service)),
        }
    }

    /// Shares of operations by number in flight, in percent.
    pub fn depth_shares(&self) -> [f64; 7] {
        let all: u64 = self.depths.iter().sum();
        self.depths.map(|count| if all == 0 { 0.0 } else { count as f64 * 100.0 / all as f64 })
    }

    /// Processor time in user and kernel mode, in percent of the workers' time.
    pub fn processor_percent(&self) -> [f64; 2] {
        let wall_ns = self.wall_ns;
        [self.usage.user_ns, self.usage.system_ns]
            .map(|ns| if wall_ns == 0 { 0.0 } else { ns as f64 * 100.0 / wall_ns as f64 })
    }

    /// The error number; 0 if there is none.
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

/// fio's steady-state report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadyFigures {
    /// `iops_slope:0.300000%`.
    pub rule: String,
    /// Length of the rule's window in seconds.
    pub window_s: u64,
    /// Whether the steady state was reached.
    pub reached: bool,
    /// Whether the slope is limited; otherwise the maximum deviation from the mean.
    pub slope: bool,
    /// The metric: `iops`, `bw`, `lat`.
    pub metric: String,
    /// The criterion's value, in percent of the mean.
    pub percent: f64,
    /// Mean bytes per second over the window.
    pub bytes_per_s: f64,
    /// Mean operations per second over the window.
    pub ops_per_s: f64,
}

impl SteadyFigures {
    /// The figures of a fio-style rule.
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
