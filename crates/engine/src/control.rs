//! Ending a stage from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A handle by which a signal handler's thread ends a stage. Clones are handles to the same.
///
/// A stopped stage starts nothing more, gives what is in flight a moment, and reports what it has.
#[derive(Clone, Debug, Default)]
pub struct Control {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    stopped: AtomicBool,
    /// The interval that is to be the last; `NEVER` when none was named.
    last: AtomicU32,
}

impl Default for State {
    fn default() -> Self {
        State { stopped: AtomicBool::new(false), last: AtomicU32::new(NEVER) }
    }
}

/// No interval is to be the last.
const NEVER: u32 = u32::MAX;

impl Control {
    /// A control that has not been stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the stage, and every later one that is given this control, within a tenth of a second.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the measured window of the running stage, as if it had been planned so, at the end of the interval with
    /// this number, on all workers; the result is not `stopped`. When that moment has passed, the window ends with the
    /// interval that is under way. Forgotten when the stage ends.
    ///
    /// On a virtual clock the workers wait at the end of each interval for the observer, so that what it decides on
    /// seeing an interval can take effect at the end of that very interval.
    pub fn finish_after(&self, interval: u32) {
        self.state.last.store(interval.min(NEVER - 1), Ordering::Relaxed);
    }

    /// The interval that was named by [`Control::finish_after`].
    pub fn last_interval(&self) -> Option<u32> {
        let last = self.state.last.load(Ordering::Relaxed);
        (last != NEVER).then_some(last)
    }

    /// A new stage begins: no interval is to be the last. For whoever leads a stage of other processes; [`crate::run_stage`] does so
    /// itself.
    pub fn begin(&self) {
        self.state.last.store(NEVER, Ordering::Relaxed);
    }

    /// True once [`Control::stop`] was called.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::Relaxed)
    }
}
