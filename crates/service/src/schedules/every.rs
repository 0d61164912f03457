//! When a schedule is due: `6h`, `1d at 02:00`, `1w on mon,thu at 02:00`, in a time zone. A pure function of its inputs.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

/// Maximum of each unit: about a year.
const MOST: [(char, u32); 4] = [('m', 525_600), ('h', 8760), ('d', 366), ('w', 52)];
const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// How often, and at which local time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Every {
    /// Minutes between two times, counted from the schedule's creation.
    Minutes(u32),
    /// Every so many days, at a local time.
    Days { count: u32, at: Time },
    /// On some days of every so many weeks, at a local time.
    Weeks { count: u32, on: Vec<Weekday>, at: Time },
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every: {text:?}: {why}; next: write 30m, 6h, 1d at 02:00 or 1w on mon,thu at 02:00")]
pub(crate) struct EveryError {
    text: String,
    why: &'static str,
}

impl FromStr for Every {
    type Err = EveryError;

    fn from_str(text: &str) -> Result<Self, EveryError> {
        let wrong = |why| EveryError { text: text.chars().take(80).collect(), why };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (first, rest) = words.split_first().ok_or_else(|| wrong("it is empty"))?;
        let unit = first.chars().next_back().unwrap_or_default();
        let count = first.strip_suffix(unit).and_then(|digits| digits.parse::<u32>().ok());
        let most = MOST.iter().find(|(known, _)| *known == unit).map(|(_, most)| *most);
        let most = most.ok_or_else(|| wrong("it starts with no number of m, h, d or w"))?;
        let count = count.filter(|count| (1..=most).contains(count));
        let count = count.ok_or_else(|| wrong("the number is not from 1 to a year's worth"))?;
        match (unit, rest) {
            ('m', []) => Ok(Self::Minutes(count)),
            ('h', []) => Ok(Self::Minutes(count * 60)),
            ('m' | 'h', _) => Err(wrong("minutes and hours have no time of day")),
            ('d', ["at", time]) => {
                let at = time_of_day(time).ok_or_else(|| wrong("the time is not HH:MM"))?;
                Ok(Self::Days { count, at })
            }
            ('d', _) => Err(wrong("days need a time: at HH:MM")),
            ('w', ["on", days, "at", time]) => {
                let at = time_of_day(time).ok_or_else(|| wrong("the time is not HH:MM"))?;
                let day = |name: &str| DAYS.iter().find(|(known, _)| *known == name).map(|(_, day)| *day);
                let on: Option<Vec<Weekday>> = days.split(',').map(day).collect();
                let mut on = on.ok_or_else(|| wrong("the days are not mon, tue, …, sun"))?;
                on.sort_by_key(|day| day.to_monday_zero_offset());
                on.dedup();
                Ok(Self::Weeks { count, on, at })
            }
            _ => Err(wrong("weeks need days and a time: on mon at HH:MM")),
        }
    }
}

/// `HH:MM`, from 00:00 to 23:59.
fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = digits(hour) && digits(minute);
    whole.then(|| Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok())?
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |at: &Time| format!("{:02}:{:02}", at.hour(), at.minute());
        match self {
            Self::Minutes(minutes) if minutes % 60 == 0 => write!(f, "{}h", minutes / 60),
            Self::Minutes(minutes) => write!(f, "{minutes}m"),
            Self::Days { count, at } => write!(f, "{count}d at {}", clock(at)),
            Self::Weeks { count, on, at } => {
                let name = |day: &Weekday| DAYS[usize::from(day.to_monday_zero_offset().unsigned_abs())].0;
                let on: Vec<&str> = on.iter().map(name).collect();
                write!(f, "{count}w on {} at {}", on.join(","), clock(at))
            }
        }
    }
}

impl Every {
    /// The first time after `after`; `anchor` is the schedule's creation, after which all times are.
    ///
    /// A local time that a day does not have, because clocks go forward, is due as much later as they go; one that a day has
    /// twice is due at the first (RFC 5545, section 3.3.5).
    ///
    /// `None` at the end of the calendar.
    pub(crate) fn next(&self, zone: &TimeZone, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        let after = after.max(anchor);
        match self {
            Self::Minutes(minutes) => {
                let step = i64::from(*minutes) * 60;
                let passed = after.duration_since(anchor).as_secs() / step;
                anchor.checked_add(SignedDuration::from_secs((passed + 1) * step)).ok()
            }
            Self::Days { count, at } => {
                let daily = |date: Date| at_local(zone, date, *at);
                let first = days_from(anchor.to_zoned(zone.clone()).date())
                    .find(|date| daily(*date).is_some_and(|time| time > anchor))?;
                let step = i64::from(*count);
                let passed = days_between(first, after.to_zoned(zone.clone()).date()) / step;
                (passed.max(1) - 1..)
                    .take(4)
                    .filter_map(|number| daily(plus_days(first, number * step)?))
                    .find(|time| *time > after)
            }
            Self::Weeks { count, on, at } => {
                let weekly = |date: Date| at_local(zone, date, *at);
                let first = days_from(anchor.to_zoned(zone.clone()).date()).find(|date| {
                    on.contains(&date.weekday()) && weekly(*date).is_some_and(|time| time > anchor)
                })?;
                let monday = plus_days(first, -i64::from(first.weekday().to_monday_zero_offset()))?;
                let step = 7 * i64::from(*count);
                let passed = days_between(monday, after.to_zoned(zone.clone()).date()) / step;
                (passed.max(1) - 1..)
                    .take(4)
                    .flat_map(|number| on.iter().map(move |day| (number, day)))
                    .filter_map(|(number, day)| {
                        let offset = number * step + i64::from(day.to_monday_zero_offset());
                        weekly(plus_days(monday, offset)?)
                    })
                    .find(|time| *time > after)
            }
        }
    }

    /// The next times after `after`, at most `count`.
    pub(crate) fn upcoming(
        &self,
        zone: &TimeZone,
        anchor: Timestamp,
        after: Timestamp,
        count: usize,
    ) -> Vec<Timestamp> {
        std::iter::successors(self.next(zone, anchor, after), |last| self.next(zone, anchor, *last))
            .take(count)
            .collect()
    }
}

fn at_local(zone: &TimeZone, date: Date, at: Time) -> Option<Timestamp> {
    date.to_datetime(at).to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
}

/// A date and those after it, for a bit more than a week.
fn days_from(date: Date) -> impl Iterator<Item = Date> {
    (0..9).filter_map(move |days| plus_days(date, days))
}

fn plus_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(Span::new().try_days(days).ok()?).ok()
}

fn days_between(from: Date, until: Date) -> i64 {
    until.duration_since(from).as_hours() / 24
}

#[cfg(test)]
#[path = "every_tests.rs"]
mod tests;
