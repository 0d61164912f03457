//! The probe of a cell: its trials are ordinary stages, run after everything that is reported.

use std::sync::Mutex;

use experiment::Arrivals;
use fleet::StageRequest;
use host::load;
use metrics::Interval;
use stats::limit::Probe;
use store::StageRecord;

use super::cell_run::CellRun;
use super::context::{CellFailure, CellStage};
use super::data_sets::{self, DataSets};
use super::measure::Measured;
use super::probe::{NoProbe, ProbePlan, carry_out, point};
use crate::stages;

impl CellRun<'_> {
    /// Tries half and twice as much in flight, if the cell asks for it: for the verdict, outside the measurement.
    /// Reports the reason if that is impossible.
    pub fn probe(
        &self,
        measured: &Measured,
        data_sets: &Mutex<DataSets>,
        stages: &mut Vec<StageRecord>,
    ) -> Option<Probe> {
        let CellRun { context, cell, site, .. } = *self;
        let seconds = cell.stages.probe_s;
        if seconds <= 0.0 || measured.interrupted || measured.result.error_limit_reached {
            return None;
        }
        let workload = &cell.workload;
        let hosts = measured.parts.len().max(1) as f64;
        let lanes = f64::from(workload.jobs) * f64::from(workload.queue_depth) * hosts;
        let half_width = measured.figures.total.summary.ops_per_s.relative_half_width();
        let seen = (&measured.result.total, measured.result.window_ns);
        let before = point(seen, lanes, &workload.arrivals, half_width);
        let request = StageRequest {
            queue_depth: Some(workload.queue_depth),
            ..self.request(workload.arrivals.clone(), 0.0, seconds)
        };
        let mut run = |trial: u32, request: StageRequest, each: &mut dyn FnMut(&Interval)| {
            let note = match (trial, &request.arrivals) {
                (_, Arrivals::Closed) => {
                    format!("{} in flight of each job", request.queue_depth.unwrap_or(0))
                }
                (0, _) => "half the rate".to_owned(),
                _ => "twice the rate".to_owned(),
            };
            let stage = CellStage { trial, ..CellStage::new(cell, site, stages::PROBE, request) };
            let done = context.stage(stage, &mut |interval, _| {
                each(interval);
                false
            });
            let result = done.map_err(|failure| match failure {
                CellFailure::Failed(text) | CellFailure::Lost(text) => NoProbe::Trial(text),
                CellFailure::Interrupted => NoProbe::Interrupted,
            })?;
            stages.push(StageRecord { note: Some(note), ..stages::record(stages::PROBE, &result.whole) });
            Ok(result.whole)
        };
        let probed = ProbePlan::of(cell).and_then(|plan| {
            if load::writes(cell) {
                data_sets::lock(data_sets).about_to_change(context, cell);
            }
            carry_out(&plan, seconds, before, &request, &mut run)
        });
        match &probed {
            Ok(probe) => context.remark(cell, stages::PROBE, &probe.sentence()),
            Err(why) => context.remark(cell, stages::PROBE, &format!("no probe: {why}")),
        }
        probed.ok()
    }
}
