//! Durations, in microseconds.

use super::ValueError;
use super::arithmetic::{self, Units};
use super::number::split;

/// A duration in microseconds: `10`, `10s`, `5ms`, `2h`, `(1s+500ms)`. A number without a unit is in units of
/// `unit_us`; inside parentheses it is in microseconds.
///
/// # Errors
/// How to write it.
pub fn time(text: &str, unit_us: u64) -> Result<u64, ValueError> {
    let text = text.trim();
    if text.starts_with('(') {
        let us = arithmetic::evaluate(text, Units::Time)?;
        return u64::try_from(us).map_err(|_| ValueError::NegativeTime);
    }
    if text.starts_with("0x") || text.starts_with("0X") {
        // fio reads it as microseconds, whatever the option's unit is.
        return Err(ValueError::HexadecimalTime);
    }
    let (number, unit) = split(text).map_err(|_| ValueError::NoTime)?;
    let factor = match unit.trim() {
        "" => i64::try_from(unit_us).unwrap_or(i64::MAX),
        unit => factor(unit).ok_or_else(|| ValueError::UnknownTimeUnit(unit.to_owned()))?,
    };
    let us = number.checked_mul(factor).and_then(|us| u64::try_from(us).ok());
    us.filter(|us| *us <= LONGEST_US).ok_or(ValueError::TooLong)
}

/// Ten years: nobody can wait longer.
const LONGEST_US: u64 = 3650 * 86_400 * 1_000_000;

/// Microseconds in a unit of time.
pub(super) fn factor(unit: &str) -> Option<i64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "us" | "usec" => 1,
        "ms" | "msec" => 1000,
        "s" | "sec" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    })
}

/// Two durations separated by `-` or `:`, the shorter first, or one that is both.
///
/// # Errors
/// How to write it.
pub fn time_range(text: &str, unit_us: u64) -> Result<(u64, u64), ValueError> {
    let Some((first, second)) = text.split_once(['-', ':']) else {
        let both = time(text, unit_us)?;
        return Ok((both, both));
    };
    let (first, second) = (time(first, unit_us)?, time(second, unit_us)?);
    Ok((first.min(second), first.max(second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_howto() {
        for (text, us) in [
            ("10", 10_000_000),
            ("10s", 10_000_000),
            ("10 s", 10_000_000),
            ("10sec", 10_000_000),
            ("1m", 60_000_000),
            ("1M", 60_000_000),
            ("1h", 3_600_000_000),
            ("1d", 86_400_000_000),
            ("100ms", 100_000),
            ("100msec", 100_000),
            ("100us", 100),
            ("0", 0),
            ("(1s+500ms)", 1_500_000),
            ("(5)", 5),
        ] {
            assert_eq!(time(text, 1_000_000), Ok(us), "{text}");
        }
        assert_eq!(time("5", 1), Ok(5));
        for text in ["", "10min", "1w", "10k", "-1", "1.5s", "0x10", "99999999999", "(1-2)"] {
            assert!(time(text, 1_000_000).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_put_in_order() {
        assert_eq!(time_range("3-1", 1_000_000), Ok((1_000_000, 3_000_000)));
        assert_eq!(time_range("1s-2s", 1), Ok((1_000_000, 2_000_000)));
        assert_eq!(time_range("1:3", 1), Ok((1, 3)));
        assert_eq!(time_range("7", 1), Ok((7, 7)));
        assert!(time_range("1-", 1).is_err());
    }
}
