//! What a run tells while it goes on, to whoever started it: a terminal, a service, a notebook.

use std::sync::Arc;
use std::time::Duration;

use metrics::Interval;
use store::CellRecord;

use crate::progress::SharedProgress;

/// How much a message matters.
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
    /// A line for people.
    Message(Severity, &'a str),
    /// The run begins. Its state can be looked at from now on, at any time and from any thread.
    Began(&'a Arc<SharedProgress>),
    /// An interval of a stage, of all hosts together.
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
    /// A cell is over.
    CellEnded(&'a CellRecord),
    /// A phase of a check begins.
    PhaseBegan {
        /// Protocol, address and direction, such as `nfs 10.0.0.1 write`.
        label: &'a str,
        /// How long it will be measured.
        window: Duration,
    },
    /// A second of the phase under way.
    PhaseInterval {
        /// Which.
        label: &'a str,
        /// What was done in it.
        interval: &'a Interval,
    },
    /// A phase of a check is over; a message says what came out.
    PhaseEnded {
        /// Which.
        label: &'a str,
    },
    /// A round of a calibration begins, in which each step is taken once.
    RoundBegan {
        /// Number of the round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
    },
    /// A step of a measurement whose number of steps is known begins: of a calibration or of the network between hosts.
    StepBegan {
        /// Steps that are over.
        done: u64,
        /// All of them.
        steps: u64,
        /// What is measured.
        label: &'a str,
    },
    /// Nothing more comes: what was created is removed, and the state does not change any more.
    Ended,
}

/// An observer of a run. It is called from the threads that lead cells, one event at a time from each, and must return
/// quickly: the run waits for it.
pub trait Events: Send + Sync {
    /// Something happened.
    fn event(&self, event: RunEvent<'_>);
}

impl dyn Events + '_ {
    /// Tells something that happened.
    pub fn note(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Note, text));
    }

    /// Tells something that looks wrong but does not stop the run.
    pub fn warn(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Warning, text));
    }

    /// Tells what failed, where, and what to do next.
    pub fn error(&self, text: &str) {
        self.event(RunEvent::Message(Severity::Error, text));
    }
}

/// Tells the end of a run when it is dropped, whichever way the run ends.
pub struct EndOnDrop<'a>(pub &'a dyn Events);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.event(RunEvent::Ended);
    }
}
