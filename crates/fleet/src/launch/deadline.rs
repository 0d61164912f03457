//! Limits of waiting.

use std::time::Duration;

use reactor::clock;

/// When to stop waiting: at a time, or at the user's request.
pub struct Deadline<'a> {
    at_ns: u64,
    patience: Duration,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Deadline<'a> {
    /// After this time, or when `stop` says so.
    pub fn after(patience: Duration, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        let ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        Self { at_ns: clock::now_ns().saturating_add(ns), patience, stop }
    }

    /// The time left.
    pub fn left(&self) -> Duration {
        Duration::from_nanos(self.at_ns.saturating_sub(clock::now_ns()))
    }

    /// Whether waiting is over, and why: `within 30 s`.
    pub fn over(&self) -> Option<String> {
        if (self.stop)() {
            return Some("before it was interrupted".to_owned());
        }
        self.left().is_zero().then(|| format!("within {} s", self.patience.as_secs_f64()))
    }
}
