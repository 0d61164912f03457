//! Rates: bytes per second in decimal units, as networks and storage are sold, and operations per second.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::number;

/// Bytes per second. Prints and parses decimal units: `3.1 GB/s` is 3 100 000 000 bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct ByteRate(pub f64);

/// Operations per second: `350/s`, `10k/s`, `1.2M/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct OpRate(pub f64);

const BYTES_MEND: &str = "write a number and a unit, such as 100 MB/s, 3.1 GB/s or 1GiB/s";
const OPS_MEND: &str = "write operations per second, such as 350/s, 10k/s or 1.2M/s";

const BYTE_UNITS: [(&str, f64); 10] = [
    ("TB", 1e12),
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("", 1.0),
];

const OP_UNITS: [(&str, f64); 4] = [("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)];

impl ByteRate {
    /// This many bytes in this many nanoseconds; 0 when no time passed.
    pub fn of(bytes: u64, nanos: u64) -> Self {
        Self(per_second(bytes, nanos))
    }

    /// Bytes per second.
    pub fn bytes_per_second(self) -> f64 {
        self.0
    }

    /// In bits, as NIC speeds are given: `25 Gbit/s`.
    pub fn as_bits(self) -> String {
        let bits = self.0 * 8.0;
        let (unit, factor) = if bits >= 1e9 { ("Gbit/s", 1e9) } else { ("Mbit/s", 1e6) };
        let text = format!("{:.1}", bits / factor);
        format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
    }
}

impl OpRate {
    /// This many operations in this many nanoseconds; 0 when no time passed.
    pub fn of(ops: u64, nanos: u64) -> Self {
        Self(per_second(ops, nanos))
    }
}

fn per_second(count: u64, nanos: u64) -> f64 {
    if nanos == 0 { 0.0 } else { count as f64 * 1e9 / nanos as f64 }
}

/// One decimal in the largest unit that keeps the number at 1 or more: `3.1 GB/s`, `0.0 B/s`.
impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 999.96 MB/s must print as 1.0 GB/s and never as 1000.0 MB/s: compare with what the smaller unit would print.
        let (unit, factor) =
            BYTE_UNITS[..5].iter().find(|(_, factor)| reaches(self.0, *factor)).unwrap_or(&("B", 1.0));
        f.pad(&format!("{:.1} {unit}/s", self.0 / factor))
    }
}

/// Whole operations below a thousand, otherwise one decimal: `350/s`, `12.3k/s`.
impl fmt::Display for OpRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = OP_UNITS[..3].iter().find(|(_, factor)| reaches(self.0, *factor));
        match chosen {
            Some((unit, factor)) => f.pad(&format!("{:.1}{unit}/s", self.0 / factor)),
            None => f.pad(&format!("{:.0}/s", self.0)),
        }
    }
}

/// Whether `rate`, printed with one decimal in a unit a thousand times smaller, needs four digits.
fn reaches(rate: f64, factor: f64) -> bool {
    (rate / factor * 10_000.0).round() >= 10_000.0
}

fn parse(
    text: &str,
    units: &[(&str, f64)],
    wanted: &'static str,
    hint: &'static str,
) -> Result<f64, ParseError> {
    let wrong = |problem: String| ParseError::new(text, wanted, problem, hint);
    let (number, unit) = number::split(text).map_err(|e| wrong(e.problem().into()))?;
    let name = unit.strip_suffix("/s").ok_or_else(|| wrong("it does not end in /s".into()))?.trim();
    let name = name.strip_suffix("ops").unwrap_or(name).trim();
    let (_, factor) = units
        .iter()
        .find(|(unit, _)| unit.eq_ignore_ascii_case(name))
        .ok_or_else(|| wrong(format!("unknown unit {unit:?}")))?;
    Ok(number.to_f64() * factor)
}

impl FromStr for ByteRate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text, &BYTE_UNITS, "a rate in bytes", BYTES_MEND).map(Self)
    }
}

impl FromStr for OpRate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text, &OP_UNITS, "a rate of operations", OPS_MEND).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_print_in_decimal_units_with_one_decimal() {
        for (rate, text) in [
            (0.0, "0.0 B/s"),
            (999.0, "999.0 B/s"),
            (1_000.0, "1.0 kB/s"),
            (3_100_000_000.0, "3.1 GB/s"),
            (999_960_000.0, "1.0 GB/s"),
            (999_940_000.0, "999.9 MB/s"),
            (2.5e13, "25.0 TB/s"),
        ] {
            assert_eq!(ByteRate(rate).to_string(), text);
        }
        assert_eq!(ByteRate::of(1_000, 500_000_000).to_string(), "2.0 kB/s");
        assert_eq!(ByteRate::of(1_000, 0).to_string(), "0.0 B/s");
        assert_eq!(ByteRate(3.125e9).as_bits(), "25 Gbit/s");
        assert_eq!(ByteRate(1.25e7).as_bits(), "100 Mbit/s");
    }

    #[test]
    fn operations_print_short() {
        for (rate, text) in [(0.4, "0/s"), (350.0, "350/s"), (12_345.0, "12.3k/s"), (4.5e6, "4.5M/s")] {
            assert_eq!(OpRate(rate).to_string(), text);
        }
    }

    #[test]
    fn people_write_rates_in_many_ways() {
        assert_eq!("3.1 GB/s".parse(), Ok(ByteRate(3.1e9)));
        assert_eq!("1GiB/s".parse(), Ok(ByteRate(1_073_741_824.0)));
        assert_eq!("100 mb/s".parse(), Ok(ByteRate(1e8)));
        assert_eq!("10k/s".parse(), Ok(OpRate(10_000.0)));
        assert_eq!("350 ops/s".parse(), Ok(OpRate(350.0)));
    }

    #[test]
    fn errors_show_the_text_and_the_mend() {
        assert_eq!(
            "100 MB".parse::<ByteRate>().unwrap_err().to_string(),
            "\"100 MB\" is not a rate in bytes: it does not end in /s; \
             write a number and a unit, such as 100 MB/s, 3.1 GB/s or 1GiB/s"
        );
        assert!("5 q/s".parse::<OpRate>().unwrap_err().to_string().contains("unknown unit"));
    }

    proptest! {
        #[test]
        fn a_printed_rate_reads_back_within_its_rounding(rate in 1.0f64..1e15) {
            let printed = ByteRate(rate).to_string();
            let back: ByteRate = printed.parse().unwrap();
            prop_assert!((back.0 - rate).abs() <= rate * 0.051, "{rate} {printed} {}", back.0);
            prop_assert_eq!(back.to_string(), printed);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<ByteRate>();
            let _ = text.parse::<OpRate>();
        }
    }
}
