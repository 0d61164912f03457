//! What a schedule does at a moment: a pure function of its timing and the clock.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::every::Every;

/// A start later than this was missed.
pub(crate) const GRACE: SignedDuration = SignedDuration::from_mins(5);
/// Missed times that are counted one by one.
const COUNTED: u64 = 100_000;

/// What happens to times at which the service was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MissedRule {
    /// One run starts for all of them together.
    #[default]
    Run,
    /// They are skipped.
    Skip,
}

/// When a schedule is due.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    /// How often.
    pub every: Every,
    /// Where its local times are.
    pub zone: TimeZone,
    /// The schedule's creation.
    pub anchor: Timestamp,
    /// What happens to missed times.
    pub missed: MissedRule,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The time for which a run starts, if one does.
    pub start: Option<Timestamp>,
    /// Times that passed without a run of their own.
    pub missed: u64,
    /// The next time; `None` at the end of the calendar.
    pub next: Option<Timestamp>,
}

impl Timing {
    /// What to do at `now`, if the next time was `next`; `None`: nothing yet.
    pub(crate) fn due(&self, next: Timestamp, now: Timestamp) -> Option<Due> {
        if next > now {
            return None;
        }
        let following = |time: Timestamp| self.every.next(&self.zone, self.anchor, time);
        let (mut last, mut passed) = (next, 1);
        while let Some(later) = following(last).filter(|later| *later <= now && passed < COUNTED) {
            last = later;
            passed += 1;
        }
        let on_time = now.duration_since(last) <= GRACE;
        let start = (on_time || self.missed == MissedRule::Run).then_some(last);
        Some(Due { start, missed: passed - u64::from(start.is_some()), next: following(now) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may fail loudly

    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn nightly(missed: MissedRule) -> Timing {
        let every = "1d at 02:00".parse().unwrap();
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        Timing { every, zone, anchor: time("2026-10-20T10:00:00Z"), missed }
    }

    #[test]
    fn a_clock_that_runs_through_a_week_starts_each_night_once() {
        let timing = nightly(MissedRule::Run);
        let mut now = timing.anchor;
        let mut next = timing.every.next(&timing.zone, timing.anchor, now).unwrap();
        let mut starts = Vec::new();
        while now < time("2026-10-27T10:00:00Z") {
            now = now.checked_add(SignedDuration::from_secs(7)).unwrap();
            if let Some(due) = timing.due(next, now) {
                assert_eq!(due.missed, 0);
                assert!(now.duration_since(due.start.unwrap()) < SignedDuration::from_secs(7));
                starts.push(due.start.unwrap().to_string());
                next = due.next.unwrap();
            }
        }
        // Clocks went back on 25 October.
        let days = [(21, 0), (22, 0), (23, 0), (24, 0), (25, 0), (26, 1), (27, 1)];
        let expected: Vec<String> =
            days.iter().map(|(day, hour)| format!("2026-10-{day}T0{hour}:00:00Z")).collect();
        assert_eq!(starts, expected);
    }

    #[test]
    fn times_missed_while_the_service_was_down_run_once_or_not_at_all() {
        let next = time("2026-10-21T00:00:00Z");
        let late = time("2026-10-24T09:00:00Z");
        let once = nightly(MissedRule::Run).due(next, late).unwrap();
        let following = Some(time("2026-10-25T00:00:00Z"));
        assert_eq!(once, Due { start: Some(time("2026-10-24T00:00:00Z")), missed: 3, next: following });
        let skipped = nightly(MissedRule::Skip).due(next, late).unwrap();
        assert_eq!(skipped, Due { start: None, missed: 4, next: following });
        // Back a minute after a time: that one is not missed, the ones before are.
        let just = nightly(MissedRule::Skip).due(next, time("2026-10-24T00:01:00Z")).unwrap();
        assert_eq!(just, Due { start: Some(time("2026-10-24T00:00:00Z")), missed: 3, next: following });
        assert_eq!(nightly(MissedRule::Run).due(next, time("2026-10-20T23:59:59Z")), None);
    }

    #[test]
    fn years_of_missed_minutes_are_bounded() {
        let timing = Timing { every: "1m".parse().unwrap(), ..nightly(MissedRule::Skip) };
        let due = timing.due(time("2026-10-20T10:01:00Z"), time("2036-10-20T10:00:30Z")).unwrap();
        assert_eq!((due.start, due.missed), (None, COUNTED));
        assert_eq!(due.next, Some(time("2036-10-20T10:01:00Z")));
    }
}
