//! Durations: `30s`, `1m30s`, `250ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::ParseError;
use crate::number::{self, TimesError};
use crate::size::three_digits;

/// A duration with nanosecond resolution; at most 584 years.
///
/// Written as one or more numbers with the units `d`, `h`, `m` (or `min`), `s`, `ms`, `us` (or `µs`), `ns`. A bare
/// number has no meaning and is rejected, except 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

const MEND: &str = "write numbers with units, such as 30s, 1m30s or 250ms";

const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Span {
    /// The duration as the standard library's type.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// This many whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Whole nanoseconds, capped at `u64::MAX`.
    pub fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

fn factor(unit: &str) -> Option<u64> {
    let unit = match unit {
        "µs" | "μs" => "us",
        "min" => "m",
        "sec" => "s",
        other => other,
    };
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

impl FromStr for Span {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem: String| ParseError::new(text, "a duration", problem, MEND);
        let too_long = || wrong("it is longer than 584 years".into());
        if text.trim() == "0" {
            return Ok(Self(Duration::ZERO));
        }
        let mut rest = text.trim();
        let mut total: u64 = 0;
        let mut smallest = u64::MAX;
        while !rest.is_empty() || smallest == u64::MAX {
            let (number, tail) = number::split(rest).map_err(|e| wrong(e.problem().into()))?;
            let end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace())
                .unwrap_or(tail.len());
            let (unit, after) = tail.split_at(end);
            if unit.is_empty() {
                return Err(wrong("the unit is missing".into()));
            }
            let factor = factor(unit).ok_or_else(|| wrong(format!("unknown unit {unit:?}")))?;
            if factor >= smallest {
                return Err(wrong(format!("{unit:?} does not come in order")));
            }
            smallest = factor;
            let part = number.times(factor).map_err(|e| match e {
                TimesError::NotWhole => wrong("it is finer than a nanosecond".into()),
                TimesError::TooLarge => too_long(),
            })?;
            total = total.checked_add(part).ok_or_else(too_long)?;
            rest = after.trim_start();
        }
        Ok(Self(Duration::from_nanos(total)))
    }
}

/// The exact duration: `1m30s`, `250ms`, `0s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.nanos();
        let mut out = String::new();
        for (unit, factor) in UNITS {
            if rest >= factor {
                out.push_str(&format!("{}{unit}", rest / factor));
                rest %= factor;
            }
        }
        f.pad(if out.is_empty() { "0s" } else { &out })
    }
}

/// A latency in nanoseconds with three significant digits: `1.23 ms`.
pub fn latency(nanos: u64) -> String {
    let (unit, factor) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => ("µs", 1e3),
        1_000_000..1_000_000_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{} {unit}", three_digits(nanos as f64 / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_durations_in_many_ways() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("30s", 30_000_000_000),
            ("30 s", 30_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1m 30s", 90_000_000_000),
            ("2min", 120_000_000_000),
            ("1.5s", 1_500_000_000),
            ("250ms", 250_000_000),
            ("10us", 10_000),
            ("10µs", 10_000),
            ("1h", 3_600_000_000_000),
            ("7ns", 7),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_nanos(nanos))), "{text}");
        }
    }

    #[test]
    fn errors_show_the_text_and_the_mend() {
        let error = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(
            error("30"),
            "\"30\" is not a duration: the unit is missing; \
             write numbers with units, such as 30s, 1m30s or 250ms"
        );
        assert!(error("").contains("does not begin with a number"));
        assert!(error("5 fortnights").contains("unknown unit \"fortnights\""));
        assert!(error("30s1m").contains("\"m\" does not come in order"));
        assert!(error("0.5ns").contains("finer than a nanosecond"));
        assert!(error("999999999h").contains("584 years"));
        assert!(error("-1s").contains("negative"));
    }

    #[test]
    fn latencies_have_three_digits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_234, "1.23 µs"),
            (12_345, "12.3 µs"),
            (123_456, "123 µs"),
            (1_500_000, "1.50 ms"),
            (70_500_000_000, "70.5 s"),
        ] {
            assert_eq!(latency(nanos), text);
        }
    }

    proptest! {
        #[test]
        fn every_duration_reads_back(nanos: u64) {
            let span = Span(Duration::from_nanos(nanos));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<Span>();
        }
    }
}
