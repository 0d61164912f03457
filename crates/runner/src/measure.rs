//! One measurement: load until the rule calls it steady, while the client is observed.

use std::collections::BTreeMap;

use engine::{StageContext, StageResult};
use experiment::{Arrivals, ErrorPolicy, Reporting, SteadyRule};
use fleet::probe::{CoreLoad, core_loads};
use fleet::{HostGroupResult, PartResult, StageRequest, StageTask};
use host::load;
use stats::{Decision, Floors, Monitor, SteadyOutcome, WindowFigures};
use store::{HostResult, OpenLoop, ServerCalls, StageRecord};

use super::accounting;
use super::cell_run::CellRun;
use super::context::{CellFailure, CellStage};
use super::hosts;
use super::job;
use super::limits;
use super::recorder::MeasuredSpan;
use super::samples::{HostSamplers, Sampler};
use crate::bottleneck::HostEvidence;
use crate::job_outcome::Samples;
use crate::op_logs::CellLogs;
use crate::progress::Steady;
use crate::servers::ObservedServer;
use crate::stages;

/// The results of a measurement.
pub struct Measured {
    /// The hosts' combined result.
    pub result: StageResult,
    /// Each host's part.
    pub parts: Vec<PartResult>,
    /// Reported figures of each host of a fleet.
    pub hosts: Vec<HostResult>,
    /// How far apart the hosts started.
    pub skew: Skew,
    /// Result of the steady-state rule.
    pub steady: SteadyOutcome,
    /// The reported figures.
    pub figures: WindowFigures,
    /// The window that they cover.
    pub window: MeasuredSpan,
    /// Load of this host's cores; empty on a virtual clock, and when other hosts measured.
    pub cores: Vec<CoreLoad>,
    /// Samples of the hosts during the measurement.
    pub witness: HostEvidence,
    /// The observed hosts of the server.
    pub servers: Vec<ObservedServer>,
    /// Throughput of each direction over time.
    pub samples: Samples,
    /// The same for each host of a fleet, by host number.
    pub host_samples: BTreeMap<usize, Samples>,
    /// What servers were asked to do meanwhile.
    pub server_calls: Vec<ServerCalls>,
    /// A signal ended it.
    pub interrupted: bool,
}

/// How far apart the hosts of a stage started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skew {
    /// Between the first and the last, in nanoseconds.
    pub ns: u64,
    /// Uncertainty of that skew, in nanoseconds.
    pub uncertainty_ns: u64,
}

impl CellRun<'_> {
    /// Takes the one measurement of a cell.
    ///
    /// # Errors
    /// It could not start, or its results could not be stored; a signal arrived before anything was measured.
    pub fn measure(&mut self) -> Result<Measured, CellFailure> {
        let cell = self.cell;
        let limit_s = load::limit_s(cell);
        let floors = Floors {
            // Without a rule, only the load itself or its time limit ends it.
            seconds: match cell.steady {
                SteadyRule::None if cell.workload.ends_by_itself() => limit_s,
                _ => cell.stages.measure_at_least_s,
            },
            bytes: cell.stages.measure_at_least_bytes,
            limit_seconds: limit_s,
        };
        let request = self.request(cell.workload.arrivals.clone(), cell.stages.warm_up_s, limit_s);
        self.measure_until(0, request, Monitor::new(&cell.steady, floors))
    }

    /// Takes a measurement of fixed length at a given rate: the one with this number in a study.
    ///
    /// # Errors
    /// As [`CellRun::measure`].
    pub fn measure_at(
        &mut self,
        trial: u32,
        arrivals: Arrivals,
        seconds: f64,
    ) -> Result<Measured, CellFailure> {
        // The warm-up drains what the previous load left behind, queues above all.
        let warm_up_s = self.cell.stages.warm_up_s.min(seconds / 4.0);
        let floors = Floors { seconds, bytes: 0, limit_seconds: seconds };
        let request = self.request(arrivals, warm_up_s, seconds);
        self.measure_until(trial, request, Monitor::new(&SteadyRule::None, floors))
    }

    /// The request to the hosts.
    pub(super) fn request(&self, arrivals: Arrivals, warm_up_s: f64, limit_s: f64) -> StageRequest {
        let task = StageTask::Measure { generation: self.ready.generation() };
        let alone = self.group.is_alone();
        StageRequest { arrivals, warm_up_s, limit_s, alone, ..StageRequest::to_the_end(self.site.id, task) }
    }

    fn measure_until(
        &mut self,
        trial: u32,
        request: StageRequest,
        mut monitor: Monitor,
    ) -> Result<Measured, CellFailure> {
        let CellRun { context, cell, site, group, .. } = *self;
        if cell.workload.holds_lanes_back() || !request.arrivals.is_even() {
            monitor = monitor.of_uneven_load();
        }
        let logs = job::logs(context, cell)?;
        let trace = logs.as_ref().map(CellLogs::trace);
        let beside = StageContext { rendezvous: self.start.take(), trace, ..StageContext::default() };
        let lanes = u64::from(cell.workload.jobs) * u64::from(cell.workload.queue_depth);
        let report = cell.workload.stream().map(|job| &job.report);
        let usual = Reporting::default();
        let mut sampler = Sampler::new(report.unwrap_or(&usual));
        // Only callers that ask for outcomes see them.
        let samplers = context.outcomes.as_ref().map(|_| HostSamplers::new(report.unwrap_or(&usual)));
        let mut began = false;
        let mut decided = false;
        let witness = HostEvidence::default();
        let observed = context.servers.as_ref().filter(|_| !site.virtual_clock());
        let servers = observed.map(|servers| servers.watch(request.warm_up_s + request.limit_s));
        let stage = CellStage {
            trial,
            witness: Some(&witness),
            servers: servers.as_ref(),
            samplers: samplers.as_ref(),
            beside,
            group: Some(group),
            ..CellStage::new(cell, site, stages::MEASURE, request)
        };
        let watches = accounting::watch(context, cell, site);
        let result = context.stage(stage, &mut |interval, model| {
            began = true;
            // Intervals that arrive after the decision are kept but not judged.
            if !decided {
                decided = monitor.push(interval) != Decision::GoOn;
            }
            sampler.add(interval);
            if model.leads(cell.index as usize) {
                let progress = monitor.progress();
                model.steady = Some(Steady {
                    rule: monitor.rule().name().to_owned(),
                    next_look_s: progress.next_look_s,
                    criteria: progress.criteria,
                });
                // With several hosts, this host's limits are not theirs.
                if context.host_group.sees_the_load() && !site.virtual_clock() {
                    model.limits = limits::look(witness.latest(0).as_ref(), interval, lanes);
                }
            }
            decided
        });
        // Read at once: what is done from here on is not the measurement's.
        let server_calls = match &result {
            Ok(result) => accounting::counted(context, cell, watches, &result.whole),
            Err(_) => Vec::new(),
        };
        let servers = servers.map(|watch| watch.servers()).unwrap_or_default();
        let logged = logs.map_or(Ok(Vec::new()), CellLogs::finish);
        let HostGroupResult { whole: result, parts, start_skew_ns, skew_uncertainty_ns } = result?;
        logged.map_err(|error| CellFailure::Failed(format!("the job's logs cannot be written: {error}")))?;
        if let Some(error) = context.recorder().failure() {
            return Err(CellFailure::Failed(error.to_string()));
        }
        let stopped = result.stopped && group.closed_by(cell.index).is_none();
        let interrupted = stopped || (context.stop.is_requested() && !decided && !result.exhausted);
        if !began && interrupted {
            return Err(CellFailure::Interrupted);
        }
        let mut steady = monitor.outcome();
        if result.exhausted && cell.workload.ends_by_itself() && *monitor.rule() == SteadyRule::None {
            // It ran for its planned time: nothing is missing.
            steady.reached = true;
            steady.reason = "the job ended when it had moved its amount of data".to_owned();
            steady.criteria.clear();
        }
        let (figures, window) =
            context.recorder().figures(cell.index, trial, steady.window, Some(&steady))?;
        let hosts = hosts::figures(context, (cell.index, trial), steady.window, &parts)?;
        let cores = match context.host_group.sees_the_load() {
            true => core_loads(&witness.of(0)),
            false => Vec::new(),
        };
        let samples = sampler.samples();
        let host_samples = samplers.map(HostSamplers::samples).unwrap_or_default();
        let skew = Skew { ns: start_skew_ns, uncertainty_ns: skew_uncertainty_ns };
        Ok(Measured {
            result,
            parts,
            hosts,
            skew,
            steady,
            figures,
            window,
            cores,
            witness,
            servers,
            samples,
            host_samples,
            server_calls,
            interrupted,
        })
    }
}

impl Measured {
    /// Length of the whole measurement, in seconds.
    pub fn seconds(&self) -> f64 {
        self.result.window_ns as f64 / 1e9
    }

    /// How well an open loop kept its schedule.
    pub fn open_loop(&self) -> Option<OpenLoop> {
        if !self.result.open_loop {
            return None;
        }
        let seconds = self.seconds();
        let offered = if seconds > 0.0 { self.result.offered as f64 / seconds } else { 0.0 };
        Some(OpenLoop {
            offered_ops_per_s: offered,
            late_starts: self.result.late_starts,
            deepest_backlog: self.result.deepest_backlog,
            shed: self.result.shed,
            missed_starts: self.result.missed_starts,
        })
    }

    /// Its stages.
    pub fn stages(&self, warm_up_s: f64) -> Vec<StageRecord> {
        let warm_up = (warm_up_s > 0.0).then(|| stages::warm_up(warm_up_s, &self.result));
        warm_up.into_iter().chain([stages::record(stages::MEASURE, &self.result)]).collect()
    }

    /// Failed operations, including the warm-up and the time after the window.
    pub fn failed(&self) -> u64 {
        self.result.before.failed + self.result.total.failed() + self.result.after.failed
    }

    /// Whether errors ended it under the cell's policy.
    pub fn ended_by_errors(&self, policy: ErrorPolicy) -> bool {
        self.result.error_limit_reached && policy != ErrorPolicy::Continue
    }
}
