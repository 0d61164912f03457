//! The end of a stage: by the last interval, by a stop, or because a member is gone.

use std::time::Duration;

use super::Stage;
use crate::message::ToAgent;
use crate::seen::StageUpdate;

/// Time that a stopped stage has to deliver its result.
const STOPPING: Duration = Duration::from_secs(30);
/// How long before its end a last interval is named, besides the pipes' latency.
const NOTICE_NS: u64 = 100_000_000;

impl Stage<'_> {
    /// Records that an interval was shown as a whole: members on virtual clocks may go on.
    pub(super) fn interval_seen(&mut self, index: u32) {
        if !self.parts.iter().any(|part| part.site.virtual_clock) {
            return;
        }
        let id = self.id;
        if let Some(last) = self.control.last_interval().filter(|_| !self.finish_sent) {
            self.finish_sent = true;
            self.tell_all(&ToAgent::FinishAfter { id, index: last.max(index) }, false);
        }
        for place in self.going() {
            self.wire(place).with_guard(id, |guard| guard.interval_seen(index));
        }
        self.tell_all(&ToAgent::IntervalSeen { id, index }, true);
    }

    /// Tells the members the last interval: the first that all can still learn of in time.
    pub(super) fn name_last(&mut self) {
        let Some(last) = self.control.last_interval().filter(|_| !self.finish_sent) else { return };
        let Some(start_ns) = self.start_ns.filter(|_| self.interval_ns > 0) else { return };
        if self.parts.iter().any(|part| part.site.virtual_clock) {
            return;
        }
        let now = reactor::clock::now_ns();
        let slowest =
            self.going().filter_map(|place| self.wire(place).clock(now)).map(|c| c.round_trip_ns).max();
        let heard_ns = now + NOTICE_NS + slowest.unwrap_or(0);
        let window_ns = heard_ns.saturating_sub(start_ns + self.warm_up_ns);
        let soonest = u32::try_from(window_ns / self.interval_ns).unwrap_or(u32::MAX - 1);
        self.finish_sent = true;
        self.tell_all(&ToAgent::FinishAfter { id: self.id, index: last.max(soonest) }, false);
    }

    /// Stops all of them at once.
    pub(super) fn stop(&mut self) {
        if self.stop_sent_ns.is_none() {
            let now_ns = reactor::clock::now_ns();
            self.stop_sent_ns = Some(now_ns);
            let id = self.id;
            for place in self.going() {
                // One that waits for the start begins now, and ends at once.
                self.wire(place).with_guard(id, |guard| {
                    if guard.began_ns == 0 {
                        guard.began_ns = now_ns;
                    }
                });
            }
            self.tell_all(&ToAgent::Stop { id: self.id }, false);
        }
    }

    /// Ends the parts of members that are gone.
    pub(super) fn note_lost(&mut self, observer: &mut dyn FnMut(StageUpdate<'_>)) {
        for place in self.going().collect::<Vec<_>>() {
            if let Some(why) = self.wire(place).lost().map(str::to_owned) {
                self.parts[place].lost = Some(why);
                self.end(place, observer);
            }
        }
    }

    /// Stops if requested, and drops members that take too long.
    pub(super) fn look(&mut self, now_ns: u64) {
        if self.control.is_stopped() {
            self.stop();
        }
        let since = |from_ns: u64| Duration::from_nanos(now_ns.saturating_sub(from_ns));
        for place in self.going() {
            let part = &self.parts[place];
            let (why, limit, passed) = match (self.stop_sent_ns, self.start_ns) {
                (Some(stopped_ns), _) => ("did not stop", Some(STOPPING), since(stopped_ns)),
                (None, Some(start_ns)) if part.limit.is_none() => {
                    let limit = self.many.settings.progress_limit + part.site.patience;
                    ("moved nothing", Some(limit), since(start_ns.max(part.moved_ns)))
                }
                (None, Some(start_ns)) => ("did not end the stage", part.limit, since(start_ns)),
                (None, None) if part.ready => continue,
                (None, None) => {
                    let limit = self.many.settings.ready_limit + part.site.patience;
                    ("was not ready for the stage", Some(limit), since(self.ordered_ns))
                }
            };
            if let Some(limit) = limit.filter(|limit| passed > *limit) {
                self.wire(place).lose(&format!("it {why} within {} s", limit.as_secs()));
            }
        }
    }
}
