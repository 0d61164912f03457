//! What a run reports while it runs, to whoever started it: a terminal, a service, a notebook.

use std::sync::Arc;
use std::time::Duration;

use metrics::Interval;
use store::CellRecord;

use crate::progress::SharedProgress;

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something that happened.
    Note,
    /// Something that looks wrong but does not stop the run.
    Warning,
    /// What failed, where, and what to do next.
    Error,
}

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// A line for the user.
    Message(Severity, &'a str),
    /// The run starts. Any thread can read its state from now on.
    Began(&'a Arc<SharedProgress>),
    /// An interval of a stage, combined over all hosts.
    Interval {
        /// Index of the cell.
        cell: u32,
        /// `prepare`, `measure`, `verify`.
        stage: &'a str,
        /// Number of the measurement in a study.
        trial: u32,
        /// What was done in it.
        interval: &'a Interval,
    },
    /// One host's part of an interval, before the combined one; only with several hosts, or agents.
    HostInterval {
        /// Index of the cell.
        cell: u32,
        /// `prepare`, `measure`, `verify`.
        stage: &'a str,
        /// Number of the measurement in a study.
        trial: u32,
        /// The host's name in the fleet.
        host: &'a str,
        /// What it did.
        interval: &'a Interval,
    },
    /// A host of the fleet is gone for good; a warning says why.
    HostLost {
        /// The host's name in the fleet.
        host: &'a str,
    },
    /// A cell has ended.
    CellEnded(&'a CellRecord),
    /// A phase of a check starts.
    PhaseBegan {
        /// Protocol, address and direction, such as `nfs 10.0.0.1 write`.
        label: &'a str,
        /// Planned length of the measurement.
        window: Duration,
    },
    /// One second of the current phase.
    PhaseInterval {
        /// The phase.
        label: &'a str,
        /// What was done in it.
        interval: &'a Interval,
    },
    /// A phase of a check has ended; a message reports its result.
    PhaseEnded {
        /// The phase.
        label: &'a str,
    },
    /// A round of a calibration starts; each round runs every step once.
    RoundBegan {
        /// Number of the round, from 1.
        round: u32,
        /// Total number of rounds.
        rounds: u32,
    },
    /// A step starts, in a measurement with a known number of steps: a calibration, or the network between hosts.
    StepBegan {
        /// Completed steps.
        done: u64,
        /// Total steps.
        steps: u64,
        /// What is measured.
        label: &'a str,
    },
    /// Last event: what was created has been removed, and the state no longer changes.
    Ended,
}

/// An observer of a run. It is called from the threads that drive cells, one event at a time from each, and must return
/// quickly: the run waits for it.
pub trait Events: Send + Sync {
    /// Something happened.
    fn event(&self, event: RunEvent<'_>);
}

/// Several observers of the same run: each sees every event, in this order.
impl Events for Vec<Arc<dyn Events>> {
    fn event(&self, event: RunEvent<'_>) {
        self.iter().for_each(|observer| observer.event(event));
    }
}

impl dyn Events + '_ {
    /// Reports something that happened.
    pub fn note(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Note, text));
    }

    /// Reports something that looks wrong but does not stop the run.
    pub fn warn(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Warning, text));
    }

    /// Reports what failed, where, and what to do next.
    pub fn error(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Error, text));
    }
}

/// Reports the end of a run when dropped, however the run ends.
pub struct EndOnDrop<'a>(pub &'a dyn Events);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.event(RunEvent::Ended);
    }
}
