//! Turns what a run reports into events of its log.

use std::sync::Arc;

use metrics::SeriesPoint;
use runner::{Events, RunEvent, Severity};

use crate::current::Current;
use crate::event::{CellEvent, IntervalEvent, MessageEvent, MessageSeverity};
use crate::event_log::EventLog;

/// Writes a run's events to its log, and its latest intervals to where samplers find them.
pub(crate) struct Observer {
    pub log: Arc<EventLog>,
    pub current: Arc<Current>,
}

impl Events for Observer {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Message(severity, text) => {
                let severity = match severity {
                    Severity::Note => MessageSeverity::Note,
                    Severity::Warning => MessageSeverity::Warning,
                    Severity::Error => MessageSeverity::Error,
                };
                self.log.add("message", &MessageEvent { severity, text });
            }
            RunEvent::Interval { cell, stage, trial, interval } => {
                let points: Vec<SeriesPoint> = interval
                    .ops
                    .iter()
                    .filter(|(_, stats)| !stats.is_empty())
                    .map(|(op, stats)| SeriesPoint::of(interval, Some(*op), stats))
                    .collect();
                self.log.add("interval", &IntervalEvent::of(cell, stage, trial, interval, &points));
                self.current.lock().cells.insert(cell, (stage.to_owned(), points));
            }
            RunEvent::CellEnded(record) => {
                self.log.add("cell", &CellEvent::of(record));
                let mut current = self.current.lock();
                current.cells.remove(&record.index);
                if let Some(result) = &record.result {
                    current.ended = Some((record.index, result.verdict.validity));
                }
            }
            // The queue reports the start and the end, and experiments have no phases, rounds or steps.
            RunEvent::Began(_)
            | RunEvent::PhaseBegan { .. }
            | RunEvent::PhaseInterval { .. }
            | RunEvent::PhaseEnded { .. }
            | RunEvent::RoundBegan { .. }
            | RunEvent::StepBegan { .. }
            | RunEvent::Ended => {}
        }
    }
}
