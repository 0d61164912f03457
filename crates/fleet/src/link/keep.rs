//! Periodic work for a link, and its end.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Events, Wire};
use crate::message::{ToAgent, Welcome, encode};
use crate::outlet::Need;

/// How long a broken pipe is left to its reader, which knows more about the cause, in nanoseconds.
const READERS_TURN_NS: u64 = 2_000_000_000;
/// Maximum unanswered pings: many more than fit into any allowed silence.
const MAX_PINGS: usize = 4096;
/// Pings sent back to back when a clock must be known well.
const BURST: u32 = 6;

impl Wire {
    /// Makes it a member of a host group.
    pub(crate) fn welcome(&self, member: usize, welcome: &Welcome, events: &Events) {
        // Each is set only here, once.
        let _ = self.member.set(member);
        let _ = self.events.set(Arc::clone(events));
        self.heard_ns.store(reactor::clock::now_ns(), Ordering::Relaxed);
        self.send(&ToAgent::Welcome(welcome.clone()));
        // Answered before anything else, so that its clock is known when a stage is to start.
        for _ in 0..BURST {
            self.ping();
        }
    }

    /// Requests a precise clock estimate soon.
    pub(crate) fn know_clock(&self) {
        self.pings_due.fetch_max(BURST, Ordering::Relaxed);
    }

    /// Sends a ping.
    pub(crate) fn ping(&self) {
        let mut state = self.state();
        if self.lost().is_some() || state.pings.len() >= MAX_PINGS {
            return;
        }
        let number = state.next_ping;
        state.next_ping += 1;
        let body = encode(&ToAgent::Ping { number });
        state.pings.push_back((number, reactor::clock::now_ns()));
        // Under the lock, so that pings are sent in the order of their numbers.
        self.outlet.send(&body, Need::Must);
    }

    /// Sends waiting data; true when some still waits. Marks an agent as lost that was silent, or read nothing, for too
    /// long.
    pub(crate) fn look_after(&self, now_ns: u64, silence: Duration) -> bool {
        if self.lost().is_some() {
            return false;
        }
        let waits = self.outlet.flush();
        if self.pings_due.load(Ordering::Relaxed) > 0 {
            self.pings_due.fetch_sub(1, Ordering::Relaxed);
            self.ping();
        }
        let limit = u64::try_from(silence.as_nanos()).unwrap_or(u64::MAX);
        let seconds = silence.as_secs_f64();
        let quiet = now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed));
        if quiet > limit && !self.holding.load(Ordering::Relaxed) {
            self.lose(&format!("nothing was heard of it for {seconds} s"));
        } else if self.outlet.stuck_ns(now_ns) > limit {
            self.lose(&format!("it has taken nothing of what it is sent for {seconds} s"));
        }
        waits
    }

    /// Why its pipe broke, once, when its reader has not reported it in time.
    pub(crate) fn broken(&self, now_ns: u64) -> Option<String> {
        let (why, since_ns) = self.outlet.broken().filter(|_| self.lost().is_none())?;
        let late = now_ns.saturating_sub(since_ns) > READERS_TURN_NS;
        (late && !self.dying.swap(true, Ordering::Relaxed)).then_some(why)
    }

    /// Marks it as lost; waits briefly for the process behind its pipe, which may know more about the cause.
    pub(crate) fn lose_asking(&self, why: &str) {
        let words = self.last_words();
        self.lose(&format!("{why}{words}"));
    }

    /// Says farewell.
    pub(crate) fn dismiss(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        if self.lost().is_none() {
            self.send(&ToAgent::End);
        }
    }

    /// Waits until its reader has ended, up to `patience`; then closes its pipe.
    pub(crate) fn wait_for_end(&self, patience: Duration) {
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, patience, |state| !state.ended && self.lost().is_none()));
        self.outlet.close();
        // Its reader ends now, if it has not.
        let _ = self.lost.set("the fleet has ended".to_owned());
    }

    /// Waits this long for the process behind the pipe, then ends it.
    pub(crate) fn end_process(&self, patience: Duration) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut process) = process.take() {
            process.end(patience);
        }
    }

    /// Whether there is a process to be ended.
    pub(crate) fn has_process(&self) -> bool {
        // Whoever holds the lock ends it, or asks it for its last words.
        self.process.try_lock().is_ok_and(|process| process.is_some())
    }
}
