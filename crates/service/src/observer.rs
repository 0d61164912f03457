//! Turns what a run reports into events of its log.

use std::sync::Arc;

use metrics::{Interval, SeriesPoint};
use runner::{Events, RunEvent, Severity};
use serde::Serialize;
use serde_json::json;
use store::CellRecord;

use crate::current::Current;
use crate::event_log::EventLog;

/// Writes a run's events to its log, and its latest intervals to where samplers find them.
pub(crate) struct Observer {
    pub log: Arc<EventLog>,
    pub current: Arc<Current>,
}

/// An interval of a stage.
#[derive(Serialize)]
struct IntervalView<'a> {
    cell: u32,
    stage: &'a str,
    trial: u32,
    interval: u32,
    start_s: f64,
    length_s: f64,
    ops: Vec<PointView>,
}

/// One operation in an interval; latencies are response times.
#[derive(Serialize)]
pub(crate) struct PointView {
    op: &'static str,
    ops_per_s: f64,
    bytes_per_s: f64,
    ok: u64,
    failed: u64,
    bytes: u64,
    retries: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

impl PointView {
    /// A stored or current point.
    pub(crate) fn of(point: &SeriesPoint) -> Self {
        Self {
            op: report::op_name(point.op),
            ops_per_s: point.ops_per_s(),
            bytes_per_s: point.bytes_per_s(),
            ok: point.ok,
            failed: point.failed,
            bytes: point.bytes,
            retries: point.retries,
            mean_ns: point.mean_ns,
            p50_ns: point.p50_ns,
            p99_ns: point.p99_ns,
            p999_ns: point.p999_ns,
            max_ns: point.max_ns,
        }
    }
}

impl Events for Observer {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Message(severity, text) => {
                let severity = match severity {
                    Severity::Note => "note",
                    Severity::Warning => "warning",
                    Severity::Error => "error",
                };
                self.log.add("message", &json!({ "severity": severity, "text": text }));
            }
            RunEvent::Interval { cell, stage, trial, interval } => {
                let points: Vec<SeriesPoint> = interval
                    .ops
                    .iter()
                    .filter(|(_, stats)| !stats.is_empty())
                    .map(|(op, stats)| SeriesPoint::of(interval, Some(*op), stats))
                    .collect();
                self.log.add("interval", &view(cell, stage, trial, interval, &points));
                self.current.lock().cells.insert(cell, (stage.to_owned(), points));
            }
            RunEvent::CellEnded(record) => {
                self.log.add("cell", &ended(record));
                let mut current = self.current.lock();
                current.cells.remove(&record.index);
                if let Some(result) = &record.result {
                    current.ended = Some((record.index, result.verdict.validity));
                }
            }
            RunEvent::Began(progress) => self.current.lock().progress = Some(Arc::clone(progress)),
            // The queue reports the end, and experiments have no phases, rounds or steps.
            RunEvent::PhaseBegan { .. }
            | RunEvent::PhaseInterval { .. }
            | RunEvent::PhaseEnded { .. }
            | RunEvent::RoundBegan { .. }
            | RunEvent::StepBegan { .. }
            | RunEvent::Ended => {}
        }
    }
}

fn view<'a>(
    cell: u32,
    stage: &'a str,
    trial: u32,
    interval: &Interval,
    points: &[SeriesPoint],
) -> IntervalView<'a> {
    IntervalView {
        cell,
        stage,
        trial,
        interval: interval.index,
        start_s: interval.start_ns as f64 / 1e9,
        length_s: interval.length_ns as f64 / 1e9,
        ops: points.iter().map(PointView::of).collect(),
    }
}

fn ended(record: &CellRecord) -> serde_json::Value {
    let validity = record.result.as_ref().map(|result| result.verdict.validity);
    json!({ "cell": record.index, "state": record.state.name(), "validity": validity, "failure": record.failure })
}
