//! Schedules: experiments that join the queue at given times, a gate for each of their runs, and webhooks.

mod due;
mod every;
mod gate;
mod keeper;
mod table;
mod webhook;

pub(crate) use due::{MissedRule, Timing};
pub(crate) use every::{Every, EveryError};
pub(crate) use gate::GateView;
pub(crate) use keeper::{NewSchedule, Schedules};
pub(crate) use table::{KeyedSchedule, ScheduleRecord, ScheduledRun, TABLES};
pub(crate) use webhook::{CallState, WebhookCall};
pub use webhook::{WebhookHost, WebhookHostError, WebhookPolicy};

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

/// The time of day, which schedules follow.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The wall clock of this host, which may be set while the service runs.
pub fn wall_clock() -> Clock {
    Arc::new(|| Timestamp::try_from(reactor::clock::wall()).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Wakes a thread that has something to do.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Wakes it.
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits until it rings, or for this long; tells whether it rang.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, at_most, |rung| !*rung);
        let (mut rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }
}
