//! Turns what a run reports into events of its log.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use runner::progress::SharedProgress;
use runner::{Events, RunEvent, Severity};

use crate::event::{CellEvent, IntervalEvent, MessageEvent, MessageSeverity, points};
use crate::event_log::EventLog;
use crate::host_points::WaitingPoints;

/// Writes a run's events to its log, and keeps how far it is.
pub(crate) struct Observer {
    pub log: Arc<EventLog>,
    /// Set once the run begins.
    pub progress: Arc<OnceLock<Arc<SharedProgress>>>,
    waiting: Mutex<WaitingPoints>,
}

impl Observer {
    /// For a run with this log.
    pub(crate) fn new(log: Arc<EventLog>, progress: Arc<OnceLock<Arc<SharedProgress>>>) -> Self {
        Self { log, progress, waiting: Mutex::default() }
    }

    /// The hosts of its fleet, if they are known before it starts.
    pub(crate) fn with_hosts(mut self, names: Vec<String>) -> Self {
        self.waiting = Mutex::new(WaitingPoints::new(names));
        self
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingPoints> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
                let hosts = self.waiting().take(cell, (stage, trial), interval.index);
                let event = IntervalEvent::of(cell, stage, trial, interval, points(interval));
                match hosts.is_empty() {
                    true => self.log.add("interval", &event),
                    false => self.log.add_interval(event, hosts),
                }
            }
            RunEvent::HostInterval { cell, stage, trial, host, interval } => {
                self.waiting().add(cell, (stage, trial), host, interval);
            }
            RunEvent::CellEnded(record) => {
                self.waiting().end(record.index);
                self.log.add("cell", &CellEvent::of(record));
            }
            // Each run has an observer of its own.
            RunEvent::Began(progress) => drop(self.progress.set(Arc::clone(progress))),
            // The queue reports the end, a message a lost host, and experiments have no phases, rounds or steps.
            RunEvent::HostLost { .. }
            | RunEvent::PhaseBegan { .. }
            | RunEvent::PhaseInterval { .. }
            | RunEvent::PhaseEnded { .. }
            | RunEvent::RoundBegan { .. }
            | RunEvent::StepBegan { .. }
            | RunEvent::Ended => {}
        }
    }
}
