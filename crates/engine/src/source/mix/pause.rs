//! A mix lane with pauses: each lane pauses independently, like users who look at what they received.

use drivers::{Op, OpError};
use metrics::ErrorKind;

use super::Mixer;
use crate::source::Next;
use crate::source::think::{Thinker, Thought, compute};

/// A mix lane, with the schedule of its pauses.
#[derive(Debug)]
pub(crate) struct PausingMixer<'a> {
    mixer: Mixer<'a>,
    thinker: Thinker,
    /// Whether computing takes time, as it does on a real clock only.
    spins: bool,
}

impl<'a> PausingMixer<'a> {
    pub(crate) fn new(mixer: Mixer<'a>, thinker: Thinker, spins: bool) -> Self {
        PausingMixer { mixer, thinker, spins }
    }

    pub(crate) fn next(&mut self, now: u64) -> Next {
        // Nothing of the lane is in flight when it asks.
        match self.thinker.look(now, 0) {
            Thought::Go | Thought::Settle => self.mixer.peek().map_or(Next::Done, Next::Op),
            Thought::Wait(until_ns) => Next::Wait(until_ns),
            Thought::Begin { spin_ns, until_ns } => {
                if self.spins {
                    compute(spin_ns);
                }
                Next::Wait(until_ns)
            }
        }
    }

    pub(crate) fn begin(&mut self, op: &Op) {
        self.thinker.begun();
        self.mixer.begin(op);
    }

    pub(crate) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        self.thinker.ended();
        self.mixer.finished(op, error);
    }

    pub(crate) fn judge(&self, op: &Op, error: &mut OpError) {
        self.mixer.judge(op, error);
    }

    pub(crate) fn closing(&self) -> Option<Op> {
        self.mixer.closing()
    }

    pub(crate) fn closed(&mut self, error: Option<ErrorKind>) {
        self.mixer.closed(error);
    }
}
