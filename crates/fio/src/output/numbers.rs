//! Numbers as fio prints them for people: a limited number of digits, then a prefix.

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberUnit {
    /// No unit: operations.
    None,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
    /// Bits per second; the number is in bits too.
    BitsPerS,
}

/// Binary prefixes, powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// Decimal prefixes, powers of 1000.
const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// An integer with at most `digits` digits in total, with a prefix for powers of 1024 (`binary`) or of 1000: `9999`,
/// `10.0k`, `11.3MiB`.
pub fn short(value: u64, digits: u32, binary: bool, unit: NumberUnit) -> String {
    let (step, prefixes) = if binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let digits = digits.clamp(1, 18);
    let most = 10u64.pow(digits) - 1;
    let (mut whole, mut power, mut rest) = (value, 0, None);
    while whole > most && power + 1 < prefixes.len() {
        rest = Some(whole % step);
        whole /= step;
        power += 1;
    }
    let end = match unit {
        NumberUnit::None => "",
        NumberUnit::Bytes => "B",
        NumberUnit::BytesPerS => "B/s",
        NumberUnit::BitsPerS => "bit/s",
    };
    let end = format!("{}{end}", prefixes[power]);
    let Some(rest) = rest else {
        return format!("{whole}{end}");
    };
    let exact = whole as f64 + rest as f64 / step as f64;
    let decimals = digits.saturating_sub(whole.to_string().len() as u32 + 1) as usize;
    format!("{exact:.decimals$}{end}")
}

/// How a job's figures are printed for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Digits of a number (`significant_figures`).
    pub digits: u32,
    /// Powers of 1000 first, powers of 1024 in brackets (`kb_base=1000`).
    pub thousands: bool,
    /// Throughput in bits (`unit_base=1`).
    pub bits: bool,
}

impl Style {
    /// The style that a job asks for.
    pub fn of(report: &experiment::Reporting) -> Style {
        let digits = if report.digits == 0 { 4 } else { report.digits };
        Style { digits, thousands: report.thousands, bits: report.bits }
    }

    /// Operations, or operations per second.
    pub fn count(self, value: u64) -> String {
        short(value, self.digits, false, NumberUnit::None)
    }

    /// Bytes, with the first kind of prefix and with the second.
    pub fn bytes(self, value: u64) -> [String; 2] {
        self.both(value, NumberUnit::Bytes)
    }

    /// Bytes per second, with the first kind of prefix and with the second.
    pub fn rate(self, bytes_per_s: u64) -> [String; 2] {
        match self.bits {
            true => self.both(bytes_per_s.saturating_mul(8), NumberUnit::BitsPerS),
            false => self.both(bytes_per_s, NumberUnit::BytesPerS),
        }
    }

    fn both(self, value: u64, unit: NumberUnit) -> [String; 2] {
        [!self.thousands, self.thousands].map(|binary| short(value, self.digits, binary, unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_as_fio_prints_them() {
        // From runs of fio 3.33 with `size=` these bytes: the line of the run status group.
        for (bytes, binary, decimal) in [
            (512, "512B", "512B"),
            (4096, "4096B", "4096B"),
            (9728, "9728B", "9728B"),
            (10_240, "10.0KiB", "10.2kB"),
            (40_448, "39.5KiB", "40.4kB"),
            (65_536, "64.0KiB", "65.5kB"),
            (102_400, "100KiB", "102kB"),
            (1_048_576, "1024KiB", "1049kB"),
            (10_485_760, "10.0MiB", "10.5MB"),
            (11_008_000, "10.5MiB", "11.0MB"),
            (128_975_360, "123MiB", "129MB"),
            (10_484_711_424, "9999MiB", "10.5GB"),
            (10_485_760_000, "9.77GiB", "10.5GB"),
            (11_933_843_456, "11.1GiB", "11.9GB"),
        ] {
            let style = Style { digits: 4, thousands: false, bits: false };
            assert_eq!(style.bytes(bytes), [binary, decimal], "{bytes}");
        }
    }

    #[test]
    fn rates_and_counts_follow_the_style() {
        let usual = Style { digits: 4, thousands: false, bits: false };
        assert_eq!(usual.rate(65_536_000), ["62.5MiB/s", "65.5MB/s"]);
        assert_eq!(Style { thousands: true, ..usual }.rate(65_536_000), ["65.5MB/s", "62.5MiB/s"]);
        assert_eq!(Style { bits: true, ..usual }.rate(65_536_000), ["500Mibit/s", "524Mbit/s"]);
        assert_eq!(Style { digits: 6, ..usual }.rate(65_536_000), ["64000KiB/s", "65536kB/s"]);
        assert_eq!(usual.rate(5), ["5B/s", "5B/s"]);
        assert_eq!(
            [9984, 16_000, 496_000, 2_048_000].map(|n| usual.count(n)),
            ["9984", "16.0k", "496k", "2048k"]
        );
        assert_eq!(usual.count(u64::MAX), "18.4E");
    }
}
