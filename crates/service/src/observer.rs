//! Turns what a run reports into events of its log.

use std::sync::{Arc, OnceLock};

use metrics::SeriesPoint;
use runner::progress::SharedProgress;
use runner::{Events, RunEvent, Severity};

use crate::event::{CellEvent, IntervalEvent, MessageEvent, MessageSeverity};
use crate::event_log::EventLog;

/// Writes a run's events to its log, and keeps how far it is.
pub(crate) struct Observer {
    pub log: Arc<EventLog>,
    /// Set once the run begins.
    pub progress: Arc<OnceLock<Arc<SharedProgress>>>,
}

impl Observer {
    /// For a run with this log.
    pub(crate) fn new(log: Arc<EventLog>, progress: Arc<OnceLock<Arc<SharedProgress>>>) -> Self {
        Self { log, progress }
    }
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
            }
            RunEvent::CellEnded(record) => self.log.add("cell", &CellEvent::of(record)),
            // Each run has an observer of its own.
            RunEvent::Began(progress) => drop(self.progress.set(Arc::clone(progress))),
            // The queue reports the end, single hosts are in the results, and experiments have no phases, rounds or steps.
            RunEvent::HostInterval { .. }
            | RunEvent::PhaseBegan { .. }
            | RunEvent::PhaseInterval { .. }
            | RunEvent::PhaseEnded { .. }
            | RunEvent::RoundBegan { .. }
            | RunEvent::StepBegan { .. }
            | RunEvent::Ended => {}
        }
    }
}
