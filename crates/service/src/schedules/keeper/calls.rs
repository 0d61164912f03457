//! The calls of webhooks that wait.

use super::{LOOK, Schedules};

impl Schedules {
    /// Calls webhooks, until the service ends.
    pub(super) fn call(&self, runtime: &tokio::runtime::Runtime) {
        // Calls of an earlier process may wait.
        let mut waiting = true;
        while self.is_open() {
            if waiting {
                waiting = self.call_due(runtime);
            }
            waiting |= self.calls.wait(LOOK);
        }
    }

    /// Makes each call that is due; tells whether some are left for later.
    fn call_due(&self, runtime: &tokio::runtime::Runtime) -> bool {
        let pending = match self.queue.database().pending_calls() {
            Ok(pending) => pending,
            Err(error) => {
                self.queue.note(&error.to_string());
                return true;
            }
        };
        let mut left = false;
        for (run, call) in pending {
            if !self.is_open() {
                return true;
            }
            if !call.is_due(self.now()) {
                left = true;
                continue;
            }
            let call = runtime.block_on(call.attempt(&self.webhooks, || self.now()));
            left |= call.is_pending();
            if let Some(error) = &call.error {
                let then = if call.is_pending() { "it is tried again" } else { "given up" };
                self.queue.note(&format!("webhook for run {run}: {error}; {then}"));
            }
            if let Err(error) = self.queue.database().set_call(&run, &call) {
                self.queue.note(&error.to_string());
                left = true;
            }
        }
        left
    }
}
