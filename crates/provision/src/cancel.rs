//! Cancels a call in progress from another thread.

use std::sync::Arc;

use tokio::sync::watch;

/// Once set, ends calls that query or create; removal is never interrupted.
///
/// A signal handler thread keeps one clone, the [`crate::ArraySession`] another.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Ends the call in progress and rejects new ones.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once cancelled.
    pub(crate) async fn cancelled(&self) {
        // The sender lives as long as this borrow, so the wait can only end by cancellation.
        let _ = self.0.subscribe().wait_for(|&cancelled| cancelled).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
