//! Ending a stage from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A handle for ending a stage from a signal handler's thread. Clones refer to the same control.
///
/// A stopped stage starts nothing more, gives operations in flight a moment to finish, and reports what it has.
#[derive(Clone, Debug, Default)]
pub struct Control {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    stopped: AtomicBool,
    /// The last interval to run; `NEVER` if none was set.
    last: AtomicU32,
}

impl Default for State {
    fn default() -> Self {
        State { stopped: AtomicBool::new(false), last: AtomicU32::new(NEVER) }
    }
}

/// No last interval is set.
const NEVER: u32 = u32::MAX;

impl Control {
    /// A control that has not been stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the stage, and every later one with this control, within a tenth of a second.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the measured window of the running stage, as if planned, at the end of the interval with this number, on
    /// all workers; the result is not `stopped`. If that time has passed, the window ends with the current interval.
    /// The setting is cleared when the stage ends.
    ///
    /// On a virtual clock the workers wait for the observer at the end of each interval, so that a decision based on an
    /// interval can take effect at the end of that very interval.
    pub fn finish_after(&self, interval: u32) {
        self.state.last.store(interval.min(NEVER - 1), Ordering::Relaxed);
    }

    /// The interval set by [`Control::finish_after`].
    pub fn last_interval(&self) -> Option<u32> {
        let last = self.state.last.load(Ordering::Relaxed);
        (last != NEVER).then_some(last)
    }

    /// Starts a new stage without a last interval. Only for code that coordinates a stage in other processes;
    /// [`crate::run_stage`] calls it itself.
    pub fn begin(&self) {
        self.state.last.store(NEVER, Ordering::Relaxed);
    }

    /// True once [`Control::stop`] was called.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::Relaxed)
    }
}
