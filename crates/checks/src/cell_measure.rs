//! Builds a cell's result from its intervals and stages, as a run stores it.

use std::collections::BTreeMap;

use engine::StageResult;
use experiment::SteadyRule;
use metrics::{Interval, PathFacts};
use reactor::Backend;
use runner::MEASURE;
use stats::{Floors, Monitor, WindowSums};
use store::{CellResult, ErrorSample, StageRecord, Validity, Verdict};

/// Maximum error details kept.
const EXAMPLES: usize = 8;

/// A measurement that ends only by its time: one stage, or several of the same load in sequence.
pub struct CellMeasure {
    sums: WindowSums,
    monitor: Monitor,
    stages: u32,
    warm_up: StageRecord,
    measured: StageRecord,
    error_samples: Vec<ErrorSample>,
    /// Sums over the stages.
    client: BTreeMap<String, f64>,
    /// From the last stage.
    backend: Backend,
    /// From the last stage.
    paths: Vec<PathFacts>,
}

impl CellMeasure {
    /// An empty measurement with this total length.
    pub fn new(seconds: f64) -> Self {
        Self {
            sums: WindowSums::default(),
            monitor: Monitor::new(&SteadyRule::None, Floors { seconds, bytes: 0, limit_seconds: seconds }),
            stages: 0,
            warm_up: StageRecord::new("warm-up", 0.0),
            measured: StageRecord::new(MEASURE, 0.0),
            error_samples: Vec::new(),
            client: BTreeMap::new(),
            backend: Backend::Simulated,
            paths: Vec::new(),
        }
    }

    /// Adds the next interval of the measurement.
    pub fn add(&mut self, interval: &Interval) {
        self.sums.add(interval);
        self.monitor.push(interval);
    }

    /// Ends a stage, which had a warm-up of this many seconds.
    pub fn end_stage(&mut self, warm_up_s: f64, result: &StageResult) {
        self.stages += 1;
        add(&mut self.warm_up, &runner::warm_up_record(warm_up_s, result));
        add(&mut self.measured, &runner::stage_record(MEASURE, result));
        let room = EXAMPLES.saturating_sub(self.error_samples.len());
        self.error_samples.extend(
            result
                .error_samples
                .iter()
                .take(room)
                .map(|(kind, detail)| ErrorSample { kind: *kind, detail: detail.clone() }),
        );
        for (name, value) in runner::stage_facts(result) {
            *self.client.entry(name).or_default() += value;
        }
        self.backend = result.backend;
        self.paths.clone_from(&result.paths);
    }

    /// The result as a run stores it, not judged yet. Client facts are means over the stages.
    pub fn finish(self) -> CellResult {
        let reported = self.sums.finish(None);
        let stages = f64::from(self.stages.max(1));
        let mut measured = self.measured;
        if self.stages > 1 {
            measured.note = Some(format!("{} repetitions", self.stages));
        }
        let reactor = if self.backend == Backend::Epoll { "epoll" } else { "io_uring" };
        CellResult {
            measured_s: measured.seconds,
            window_start_s: 0.0,
            window_end_s: measured.seconds,
            steady: self.monitor.outcome(),
            total: reported.total.summary,
            ops: reported.ops.into_iter().map(|figure| figure.summary).collect(),
            open_loop: None,
            stages: vec![self.warm_up, measured],
            gates: Vec::new(),
            verdict: Verdict { validity: Validity::Valid, reasons: Vec::new() },
            error_samples: self.error_samples,
            cache: "kept".to_owned(),
            client: self.client.into_iter().map(|(name, sum)| (name, sum / stages)).collect(),
            target: BTreeMap::from([("reactor".to_owned(), reactor.to_owned())]),
            points: Vec::new(),
            found_ops_per_s: None,
            hosts: Vec::new(),
            fleet: None,
            paths: self.paths,
            limit: None,
            server_calls: Vec::new(),
        }
    }
}

fn add(sum: &mut StageRecord, stage: &StageRecord) {
    sum.seconds += stage.seconds;
    sum.ok += stage.ok;
    sum.failed += stage.failed;
    sum.bytes += stage.bytes;
}
