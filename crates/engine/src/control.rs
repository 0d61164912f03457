//! Ending a stage from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle by which a signal handler's thread ends a stage. Clones are handles to the same.
///
/// A stopped stage starts nothing more, gives what is in flight a moment, and reports what it has.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stopped: Arc<AtomicBool>,
}

impl Control {
    /// A control that has not been stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the stage, and every later one that is given this control, within a tenth of a second.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// True once [`Control::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
