//! The two date forms that a signature needs, from seconds since 1970.

/// A time as `YYYYMMDDTHHMMSSZ` (UTC).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    text: [u8; 16],
}

impl Timestamp {
    /// The time this many seconds after 1970-01-01T00:00:00Z. Years beyond 9999 stay at 9999.
    pub fn from_unix(seconds: u64) -> Self {
        let seconds = seconds.min(253_402_300_799);
        let (year, month, day) = civil_from_days(seconds / 86_400);
        let clock = seconds % 86_400;
        let mut text = *b"00000000T000000Z";
        put(&mut text[0..4], year);
        put(&mut text[4..6], month);
        put(&mut text[6..8], day);
        put(&mut text[9..11], clock / 3600);
        put(&mut text[11..13], clock / 60 % 60);
        put(&mut text[13..15], clock % 60);
        Self { text }
    }

    /// `YYYYMMDDTHHMMSSZ`.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("digits and two letters")
    }

    /// `YYYYMMDD`.
    pub fn day(&self) -> &str {
        &self.text()[..8]
    }
}

impl std::fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

fn put(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// Year, month and day of a day number (days since 1970-01-01), proleptic Gregorian calendar.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    // Count years from 1 March 0000, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Day number (days since 1970-01-01) of a date from 1970 on.
pub(crate) fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let year_of_era = year % 400;
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year / 400 * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (253_402_300_799, "99991231T235959Z"),
            (u64::MAX, "99991231T235959Z"),
        ] {
            assert_eq!(Timestamp::from_unix(seconds).text(), text);
        }
    }

    #[test]
    fn there_and_back_for_every_day_to_2200() {
        for days in 0..84_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
