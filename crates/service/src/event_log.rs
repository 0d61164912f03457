//! The events of one run for any number of readers: bounded, and written without waiting for anybody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;
use utoipa::ToSchema;

use crate::database::AskedState;
use crate::event::{EndEvent, IntervalEvent};
use crate::host_points::HostPoints;

/// Maximum number of events kept.
const MAX_EVENTS: usize = 4096;
/// Maximum size of their data.
const MAX_BYTES: usize = 4 << 20;
/// Maximum size of the data with single hosts, which is kept besides for the newest intervals.
const MAX_HOST_BYTES: usize = 4 << 20;
/// Events handed to a reader at once.
const BATCH: usize = 64;

/// One event.
#[derive(Clone, Debug, ToSchema)]
#[schema(as = RunEvent)]
pub(crate) struct LoggedEvent {
    /// Its number, from 1.
    #[schema(value_type = String, pattern = "^[0-9]+$")]
    pub id: u64,
    /// `state`, `message`, `interval`, `cell`, `missed`, `end`.
    #[schema(rename = "event")]
    pub kind: &'static str,
    /// Its content, as JSON: by the event's name a `StateEvent`, `MessageEvent`, `IntervalEvent`, `CellEvent`, `MissedEvent` or
    /// `EndEvent`.
    #[schema(value_type = String, content_media_type = "application/json")]
    pub data: Arc<str>,
    /// The same with single hosts, for readers that ask for them; absent if there are none, or no longer.
    #[schema(ignore)]
    pub with_hosts: Option<Arc<str>>,
}

impl LoggedEvent {
    /// An event with a number.
    pub(crate) fn new(id: u64, kind: &'static str, data: &impl Serialize) -> Self {
        Self { id, kind, data: text(data), with_hosts: None }
    }

    /// The last event of a run.
    pub(crate) fn end(id: u64, state: AskedState, reason: Option<&str>) -> Self {
        Self::new(id, "end", &EndEvent { state, reason })
    }
}

fn text(data: &impl Serialize) -> Arc<str> {
    serde_json::to_string(data).unwrap_or_default().into()
}

/// What a reader gets at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The events after the last one that the reader had.
    pub events: Vec<LoggedEvent>,
    /// Number of events between that one and these, which are no longer kept.
    pub lost: u64,
    /// No further events follow these.
    pub ended: bool,
}

/// The events of a run.
#[derive(Debug)]
pub(crate) struct EventLog {
    kept: Mutex<Kept>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<LoggedEvent>,
    bytes: usize,
    host_bytes: usize,
    /// Number of the last event whose single hosts were dropped.
    without_hosts: u64,
    last: u64,
    ended: bool,
}

impl Kept {
    /// Drops the oldest events that no longer fit.
    fn shrink(&mut self) {
        while self.events.len() > MAX_EVENTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.data.len();
            self.host_bytes -= oldest.with_hosts.map_or(0, |text| text.len());
        }
        while self.host_bytes > MAX_HOST_BYTES {
            let first = self.events.front().map_or(0, |event| event.id);
            self.without_hosts = first.max(self.without_hosts + 1);
            let Some(event) = self.events.get_mut((self.without_hosts - first) as usize) else { break };
            self.host_bytes -= event.with_hosts.take().map_or(0, |text| text.len());
        }
    }
}

impl EventLog {
    /// An empty log.
    pub(crate) fn new() -> Self {
        Self { kept: Mutex::default(), changed: watch::Sender::new(()) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event; drops the oldest ones that no longer fit.
    pub(crate) fn add(&self, kind: &'static str, data: &impl Serialize) {
        self.push(LoggedEvent::new(0, kind, data), false);
    }

    /// Adds an interval with the parts of single hosts.
    pub(crate) fn add_interval(&self, interval: IntervalEvent<'_>, hosts: Vec<HostPoints>) {
        let event = LoggedEvent::new(0, "interval", &interval);
        let with_hosts = Some(text(&interval.with_hosts(hosts)));
        self.push(LoggedEvent { with_hosts, ..event }, false);
    }

    /// Adds the last event.
    pub(crate) fn end(&self, state: AskedState, reason: Option<&str>) {
        self.push(LoggedEvent::end(0, state, reason), true);
    }

    /// Adds an event under the next number.
    fn push(&self, event: LoggedEvent, ended: bool) {
        let mut kept = self.kept();
        if kept.ended {
            return;
        }
        kept.last += 1;
        kept.bytes += event.data.len();
        kept.host_bytes += event.with_hosts.as_ref().map_or(0, |text| text.len());
        let id = kept.last;
        kept.events.push_back(LoggedEvent { id, ..event });
        kept.shrink();
        kept.ended = ended;
        drop(kept);
        self.changed.send_replace(());
    }

    /// Tells when there is something new.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The next events after the one with number `last`; a number that was never given (by an earlier process, for
    /// example) counts as none.
    pub(crate) fn after(&self, last: u64) -> Batch {
        let kept = self.kept();
        let last = if last > kept.last { 0 } else { last };
        let first = kept.events.front().map_or(kept.last + 1, |event| event.id);
        let lost = first.saturating_sub(last + 1);
        let skip = usize::try_from((last + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let events: Vec<LoggedEvent> = kept.events.iter().skip(skip).take(BATCH).cloned().collect();
        let reached = events.last().map_or(last.max(first - 1), |event| event.id);
        Batch { events, lost, ended: kept.ended && reached == kept.last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Interval;

    #[test]
    fn a_reader_continues_where_it_was_and_learns_what_it_missed() {
        let log = EventLog::new();
        (0..3).for_each(|number| log.add("message", &number));
        let batch = log.after(1);
        assert_eq!(batch.events.iter().map(|event| event.id).collect::<Vec<_>>(), [2, 3]);
        assert!(batch.lost == 0 && !batch.ended);
        assert!(log.after(3).events.is_empty());
        assert_eq!(log.after(99).events.len(), 3, "a number of an earlier process");
        (0..MAX_EVENTS).for_each(|number| log.add("message", &number));
        let batch = log.after(1);
        assert_eq!((batch.lost, batch.events[0].id), (2, 4));
        log.end(AskedState::Finished, None);
        log.add("message", &"too late");
        let batch = log.after(MAX_EVENTS as u64 + 3);
        assert!(batch.ended && batch.events.len() == 1 && batch.events[0].kind == "end");
    }

    #[test]
    fn large_events_are_bounded_by_their_bytes() {
        let log = EventLog::new();
        let large = "x".repeat(1 << 20);
        (0..10).for_each(|_| log.add("message", &large));
        let batch = log.after(0);
        assert!(batch.events.len() <= 4 && batch.lost >= 6, "{} kept", batch.events.len());
    }

    #[test]
    fn single_hosts_are_dropped_before_the_events_they_belong_to() {
        let log = EventLog::new();
        let host = HostPoints { host: "h".repeat(1 << 20), ops: Vec::new() };
        for _ in 0..10 {
            let event = IntervalEvent::of(0, "measure", 0, &Interval::default(), Vec::new());
            log.add_interval(event, vec![host.clone()]);
            log.add("message", &"text");
        }
        let batch = log.after(0);
        assert_eq!((batch.events.len(), batch.lost), (20, 0), "all are kept");
        let with_hosts: Vec<u64> =
            batch.events.iter().filter(|event| event.with_hosts.is_some()).map(|event| event.id).collect();
        assert_eq!(with_hosts, [15, 17, 19], "those of the newest intervals");
        assert!(batch.events.iter().all(|event| !event.data.contains("hosts")));
    }
}
