//! Lets several stages, with any drivers, start at the same instant.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a stage that waits for others checks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// Where stages that start together wait for each other. Clones refer to the same rendezvous.
///
/// Put a clone into the plans of as many [`crate::run_stage`] calls as it was created for, each on its own thread. A
/// stage that cannot start, or is stopped before, does not hold up the others. It can be used for one start only.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    meeting: Meeting,
}

#[derive(Clone)]
enum Meeting {
    /// Between threads of this process.
    Here(Arc<Shared>),
    /// The start is decided elsewhere.
    Elsewhere(Arc<dyn StartGate>),
}

impl std::fmt::Debug for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Meeting::Here(shared) => shared.fmt(f),
            Meeting::Elsewhere(_) => f.write_str("Elsewhere"),
        }
    }
}

/// Source of a start time shared by several stages, possibly on other hosts.
pub trait StartGate: Send + Sync {
    /// Called when all workers of the stage are ready. Waits for the common start, on the clock of this process's
    /// reactors; `None` if `stopped` becomes true first. Called at most once, and not if the stage cannot start.
    fn meet(&self, stopped: &dyn Fn() -> bool) -> Option<u64>;

    /// The stage will not take part.
    fn leave(&self);
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Stages that have not arrived yet.
    awaited: u32,
    start_ns: Option<u64>,
}

impl Rendezvous {
    /// A rendezvous of this many stages.
    pub fn new(stages: u32) -> Self {
        let state = Mutex::new(State { awaited: stages, start_ns: None });
        Rendezvous { meeting: Meeting::Here(Arc::new(Shared { state, changed: Condvar::new() })) }
    }

    /// A rendezvous of one stage, whose start is decided elsewhere.
    pub fn at_gate(gate: Arc<dyn StartGate>) -> Self {
        Rendezvous { meeting: Meeting::Elsewhere(gate) }
    }

    /// Reduces the number of expected stages by one: for callers that never reach [`crate::run_stage`], which otherwise
    /// does this itself.
    pub fn leave(&self) {
        match &self.meeting {
            Meeting::Here(shared) => drop(shared.come(0)),
            Meeting::Elsewhere(gate) => gate.leave(),
        }
    }

    /// Waits for the others and returns the common start, on the clock of real reactors; `None` if `stopped` becomes
    /// true first.
    pub fn meet(&self, lead_ns: u64, stopped: &dyn Fn() -> bool) -> Option<u64> {
        match &self.meeting {
            Meeting::Here(shared) => shared.meet(lead_ns, stopped),
            Meeting::Elsewhere(gate) => gate.meet(stopped),
        }
    }
}

impl Shared {
    /// One stage has arrived or left. The last one sets the start to `lead_ns` nanoseconds from now.
    fn come(&self, lead_ns: u64) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 && state.start_ns.is_none() {
            state.start_ns = Some(reactor::clock::now_ns() + lead_ns);
            self.changed.notify_all();
        }
        state
    }

    fn meet(&self, lead_ns: u64, stopped: &dyn Fn() -> bool) -> Option<u64> {
        let mut state = self.come(lead_ns);
        loop {
            if let Some(start_ns) = state.start_ns {
                // If the last one left, the others get no lead.
                return Some(start_ns.max(reactor::clock::now_ns()));
            }
            if stopped() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A stage's place at a rendezvous, given up if the stage fails before the start.
#[derive(Debug)]
pub(crate) struct Seat {
    rendezvous: Option<Rendezvous>,
}

impl Seat {
    pub(crate) fn new(rendezvous: Option<Rendezvous>) -> Self {
        Seat { rendezvous }
    }

    /// The start: after a short lead if there is nobody to wait for; `None` if the stage is to stop.
    pub(crate) fn meet(&mut self, lead_ns: u64, stopped: &dyn Fn() -> bool) -> Option<u64> {
        match self.rendezvous.take() {
            None => Some(reactor::clock::now_ns() + lead_ns),
            Some(rendezvous) => rendezvous.meet(lead_ns, stopped),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(rendezvous) = self.rendezvous.take() {
            rendezvous.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_start_at_one_instant() {
        let rendezvous = Rendezvous::new(3);
        let starts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let mut seat = Seat::new(Some(rendezvous.clone()));
                    scope.spawn(move || seat.meet(1_000_000_000, &|| false))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(starts[0].is_some() && starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    }

    #[test]
    fn who_fails_holds_nobody_up() {
        let rendezvous = Rendezvous::new(3);
        drop(Seat::new(Some(rendezvous.clone())));
        rendezvous.leave();
        assert!(Seat::new(Some(rendezvous)).meet(0, &|| false).is_some());
    }

    #[test]
    fn who_is_stopped_does_not_wait() {
        let rendezvous = Rendezvous::new(2);
        assert_eq!(Seat::new(Some(rendezvous.clone())).meet(0, &|| true), None);
        assert!(Seat::new(Some(rendezvous)).meet(0, &|| false).is_some(), "the first counts as come");
    }
}
