//! Dates (RFC 9110 section 5.6.7): the Date header, which reveals a server's clock skew, and Retry-After.

use crate::sigv4::days_from_civil;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds from 1970-01-01T00:00:00Z to an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// `None` for anything else, including the two obsolete forms: the clock skew is only a hint in an error message.
pub fn parse_date(text: &str) -> Option<u64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = number(words.next()?, 2, 31)?;
    let month_name = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month_name)? as u64 + 1;
    let year: u64 = number(words.next()?, 4, 9999)?;
    let mut clock = words.next()?.split(':');
    let hour = number(clock.next()?, 2, 23)?;
    let minute = number(clock.next()?, 2, 59)?;
    let second = number(clock.next()?, 2, 60)?;
    if words.next()? != "GMT" || words.next().is_some() || clock.next().is_some() || year < 1970 || day == 0 {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// How long `Retry-After` (RFC 9110 section 10.2.3) asks to wait, in seconds. The value is a number of seconds or a
/// date, which is compared with `now`, the server's own clock in seconds since 1970 if its Date header gives it. A date
/// in the past is 0; `None` for anything else.
pub fn parse_retry_after(text: &str, now: u64) -> Option<u64> {
    let text = text.trim();
    match super::parse_decimal(text.as_bytes()) {
        Some(seconds) => Some(seconds),
        None => parse_date(text).map(|date| date.saturating_sub(now)),
    }
}

fn number(text: &str, digits: usize, most: u64) -> Option<u64> {
    if text.len() != digits || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|value| *value <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(parse_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(parse_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
    }

    #[test]
    fn a_time_to_come_back_is_a_number_or_a_date() {
        let now = 784_111_777;
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(parse_retry_after(text, now), seconds, "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
