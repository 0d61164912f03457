//! A calibration in the results file: a run whose cells are its loads, each with its repetitions in sequence.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::StageResult;
use experiment::Plan;
use fleet::probe::HostSample;
use jiff::Timestamp;
use metrics::Interval;
use runner::bottleneck::own_host;
use runner::{StopToken, timestamp};
use stats::{Calibration, Window};
use store::{CellRecord, State};

use super::WARM_UP;
use super::microbenchmarks::{BlockSize, Microbenchmark};
use crate::cell_measure::CellMeasure;
use crate::error::CheckError;
use crate::stored::{StoredRun, judged};

/// Stores the loads of a calibration as they are measured, also two at the same time.
pub struct StoredCalibration {
    host: String,
    seconds: f64,
    repetitions: u32,
    inner: Mutex<Inner>,
}

struct Inner {
    run: StoredRun,
    /// By name.
    cells: BTreeMap<String, StoredLoad>,
}

/// A load, planned or under way.
struct StoredLoad {
    index: u32,
    started: Option<Timestamp>,
    measure: CellMeasure,
    /// Completed repetitions.
    ended: u32,
    /// The merged intervals of the current repetition.
    repetition: Interval,
    /// Intervals so far, and their length in nanoseconds.
    intervals: u32,
    length_ns: u64,
    /// Load per second of processor time, for each repetition.
    per_cpu_second: Vec<f64>,
}

impl StoredCalibration {
    /// Stores the cells of the run's plan.
    pub fn new(run: StoredRun, plan: &Plan, seconds: f64, repetitions: u32) -> Self {
        let all_s = seconds * f64::from(repetitions);
        let load = |index| StoredLoad {
            index,
            started: None,
            measure: CellMeasure::new(all_s),
            ended: 0,
            repetition: Interval::default(),
            intervals: 0,
            length_ns: 0,
            per_cpu_second: Vec::new(),
        };
        let cells = plan.cells.iter().map(|cell| (cell.name.clone(), load(cell.index))).collect();
        Self { host: own_host(), seconds, repetitions, inner: Mutex::new(Inner { run, cells }) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a repetition of a load.
    pub fn begin(&self, step: Microbenchmark) {
        let Inner { run, cells } = &mut *self.inner();
        if let Some(load) = cells.get_mut(&step.name()) {
            load.started.get_or_insert_with(|| run.begin_cell(load.index));
        }
    }

    /// Adds an interval of a load. The intervals of its repetitions are joined as if there were no gaps.
    pub fn interval(&self, step: Microbenchmark, interval: &Interval) {
        let Inner { run, cells } = &mut *self.inner();
        let Some(load) = cells.get_mut(&step.name()) else { return };
        let interval = Interval { index: load.intervals, start_ns: load.length_ns, ..interval.clone() };
        load.intervals += 1;
        load.length_ns += interval.length_ns;
        run.interval(load.index, &interval);
        load.repetition.merge(&interval);
        load.repetition.length_ns += interval.length_ns;
    }

    /// Stores a sample of this host; `since_ns` counts from the start of the repetition's first interval.
    pub fn sample(&self, step: Microbenchmark, since_ns: u64, sample: &HostSample) {
        let Inner { run, cells } = &mut *self.inner();
        if let Some(load) = cells.get(&step.name()) {
            let before_ns = (f64::from(load.ended) * self.seconds * 1e9) as u64;
            run.sample(load.index, &self.host, before_ns + since_ns, sample);
        }
    }

    /// Ends a repetition of a load; the last repetition ends the load.
    pub fn end(&self, step: Microbenchmark, result: &StageResult, block: BlockSize) {
        let Inner { run, cells } = &mut *self.inner();
        let Some(load) = cells.get_mut(&step.name()) else { return };
        // Random variation is between repetitions, not between moments within one.
        let whole = Interval { index: load.ended, ..std::mem::take(&mut load.repetition) };
        load.measure.add(&whole);
        load.measure.end_stage(self.seconds * WARM_UP, result);
        load.per_cpu_second.extend(super::load::found(result, block).per_cpu_second);
        load.ended += 1;
        if load.ended == self.repetitions
            && let Some(record) = load.take_record(State::Finished, None)
        {
            run.finish_cell(&record);
        }
    }

    /// Ends a completed calibration: results without a target and remarks on what limits measurements become facts of
    /// the run. Reports where it is stored.
    pub fn finish(self, calibration: &Calibration, stop: &StopToken) {
        let Inner { mut run, cells } = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let without_target = calibration.measures.iter().filter(|measure| !cells.contains_key(&measure.name));
        let facts: Vec<(String, String)> =
            without_target.map(|measure| (format!("calibration.{}", measure.name), words(measure))).collect();
        run.facts(&facts);
        calibration.remarks.iter().for_each(|remark| run.event("warning", remark));
        run.finish(stop);
    }

    /// Ends an incomplete calibration, with the error of this step if one is named.
    pub fn fail(self, step: Option<Microbenchmark>, error: &CheckError, stop: &StopToken) {
        let Inner { mut run, mut cells } = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failed: Vec<String> = match stop.is_requested() {
            true => Vec::new(),
            false => step.iter().flat_map(|step| step.all_of_step()).map(Microbenchmark::name).collect(),
        };
        for (name, load) in cells.iter_mut().filter(|(_, load)| load.ended < self.repetitions) {
            let record = match failed.contains(name) {
                true => load.take_record(State::Failed, Some(error.to_string())),
                false => load.take_record(State::Interrupted, None),
            };
            record.iter().for_each(|record| run.finish_cell(record));
        }
        run.fail(error, stop);
    }
}

impl StoredLoad {
    /// The record of a load; `None` if it did not start.
    fn take_record(&mut self, state: State, failure: Option<String>) -> Option<CellRecord> {
        let measure = std::mem::replace(&mut self.measure, CellMeasure::new(0.0));
        let result = (self.ended > 0 && failure.is_none()).then(|| {
            let mut result = measure.finish();
            // In terms of the stored intervals.
            result.steady.window = Window { first: 0, end: self.intervals };
            if let Some(spread) = stats::Spread::of(&self.per_cpu_second) {
                result.client.insert("per-cpu-second".to_owned(), spread.median);
            }
            result.verdict = judged(&result, state == State::Interrupted, None, &[]);
            result
        });
        let (index, started) = (self.index, Some(self.started?));
        Some(CellRecord { index, state, started, finished: Some(timestamp::now()), result, failure })
    }
}

/// `12.1 GB/s (11.9 GB/s to 12.4 GB/s)`: the median of the repetitions, with the min and the max.
fn words(measure: &stats::CalibrationMeasure) -> String {
    let one = |value: f64| measure.unit.text(value);
    let spread = &measure.by_clock;
    format!("{} ({} to {})", one(spread.median), one(spread.low), one(spread.high))
}
