//! Ending a run from outside: a signal, a request to a service, a caller that has seen enough.
//!
//! A token belongs to one run. Whoever holds a clone can end that run, and no other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Control;
use provision::Cancel;

/// Who or what ended a run early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal or the ssh session is gone.
    HangUp,
    /// The program that started the run.
    Caller,
}

impl StopReason {
    /// Its name in results and messages.
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Interrupt => "SIGINT",
            StopReason::Terminate => "SIGTERM",
            StopReason::HangUp => "SIGHUP",
            StopReason::Caller => "a request",
        }
    }
}

/// Ends a run on request. Clones share one state.
#[derive(Clone, Default)]
pub struct StopToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    cancel: Cancel,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    /// The first reason given.
    reason: Option<StopReason>,
    /// The stages under way.
    stages: Vec<Stage>,
    /// Number of the next stage.
    next: u64,
    /// What exists until the run has cleaned up, and the command that removes it.
    leftovers: Option<String>,
}

/// A stage under way.
struct Stage {
    number: u64,
    control: Control,
    /// It is a measurement that ends cleanly by itself once it sees the request.
    ends_well: bool,
}

/// A stage that the token can stop, until this is dropped.
pub struct Governed {
    token: StopToken,
    number: u64,
}

impl Governed {
    /// From now on the stage ends cleanly by itself when it sees that the run must end: [`StopToken::finish`] does not
    /// stop it.
    pub fn ends_well(&self) {
        let mut parts = self.token.parts();
        if let Some(stage) = parts.stages.iter_mut().find(|stage| stage.number == self.number) {
            stage.ends_well = true;
        }
    }
}

impl Drop for Governed {
    fn drop(&mut self) {
        self.token.parts().stages.retain(|stage| stage.number != self.number);
    }
}

impl StopToken {
    /// A token that nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run cleanly: a measurement under way ends with its current interval and is kept, anything else stops;
    /// what was created is removed.
    pub fn finish(&self, reason: StopReason) {
        self.end(reason, |stage| stage.ends_well);
    }

    /// Ends the run now: everything under way stops; what was created is removed.
    pub fn stop(&self, reason: StopReason) {
        self.end(reason, |_| false);
    }

    /// Stops the stages that do not end by themselves; cancels management calls unless a stage is waited for.
    fn end(&self, reason: StopReason, ends_well: impl Fn(&Stage) -> bool) {
        let mut parts = self.parts();
        parts.reason.get_or_insert(reason);
        if !parts.stages.iter().any(&ends_well) {
            self.0.cancel.cancel();
        }
        parts.stages.iter().filter(|stage| !ends_well(stage)).for_each(|stage| stage.control.stop());
    }

    /// The switch that cancels management calls.
    pub fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// Whether the run must end.
    pub fn is_requested(&self) -> bool {
        self.reason().is_some()
    }

    /// The first reason given.
    pub fn reason(&self) -> Option<StopReason> {
        self.parts().reason
    }

    /// Lets the token stop the stage that is about to start through `control`; stops it at once if the run must already
    /// end.
    pub fn governs(&self, control: &Control) -> Governed {
        let mut parts = self.parts();
        if parts.reason.is_some() {
            control.stop();
        }
        let number = parts.next;
        parts.next += 1;
        parts.stages.push(Stage { number, control: control.clone(), ends_well: false });
        drop(parts);
        Governed { token: self.clone(), number }
    }

    /// Sets what a process that exits without waiting for the run would leave behind, and the command that removes it.
    pub fn set_leftovers(&self, text: Option<String>) {
        self.parts().leftovers = text;
    }

    /// What a process that exits now would leave behind.
    pub fn leftovers(&self) -> Option<String> {
        self.parts().leftovers.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_ends_well_is_not_stopped_by_the_first_request() {
        let token = StopToken::new();
        let (measuring, filling) = (Control::new(), Control::new());
        let governed = token.governs(&measuring);
        governed.ends_well();
        let _filling = token.governs(&filling);
        token.finish(StopReason::Interrupt);
        assert!(filling.is_stopped() && !measuring.is_stopped());
        assert!(!token.cancel().is_cancelled(), "the measurement is waited for");
        token.stop(StopReason::Terminate);
        assert!(measuring.is_stopped() && token.cancel().is_cancelled());
        assert_eq!(token.reason(), Some(StopReason::Interrupt), "the first counts");
    }

    #[test]
    fn a_token_reaches_stages_that_begin_later_and_no_other_run() {
        let (token, other) = (StopToken::new(), StopToken::new());
        token.stop(StopReason::Caller);
        let (late, foreign) = (Control::new(), Control::new());
        let _late = token.governs(&late);
        let _foreign = other.governs(&foreign);
        assert!(late.is_stopped() && !foreign.is_stopped());
        assert!(token.is_requested() && !other.is_requested());
    }
}
