//! Sizes in bytes: `4KiB`, `8M`, `1 GB`.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::number::{self, TimesError};

/// A number of bytes.
///
/// `KiB`, `MiB`, `GiB`, `TiB`, `PiB` are powers of 1024 and `kB`, `MB`, `GB`, `TB`, `PB` powers of 1000. A bare letter
/// (`K`, `M`, `G`, `T`, `P`) is a power of 1024, as in fio, dd and other tools that take a block size. Case does not
/// matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

const MEND: &str = "write a number and a unit, such as 4KiB, 8M or 1 GB";

const BINARY: [(&str, u64); 5] =
    [("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

const DECIMAL: [(&str, u64); 5] = [
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];

impl Size {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Three significant digits in a suitable binary unit: `1.46 GiB`.
    pub fn rounded(self) -> String {
        match BINARY.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((unit, factor)) => {
                format!("{} {unit}", three_digits(self.0 as f64 / *factor as f64))
            }
            None => format!("{} B", self.0),
        }
    }

    /// Three significant digits in a suitable decimal unit: `1.57 GB`.
    pub fn rounded_decimal(self) -> String {
        match DECIMAL.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((unit, factor)) => {
                format!("{} {unit}", three_digits(self.0 as f64 / *factor as f64))
            }
            None => format!("{} B", self.0),
        }
    }
}

/// A number with three significant digits, never in scientific notation.
pub(crate) fn three_digits(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn factor(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    if lower.is_empty() || lower == "b" {
        return Some(1);
    }
    let named = |table: &[(&str, u64)], name: &str| {
        table.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(name)).map(|(_, factor)| *factor)
    };
    named(&BINARY, &lower)
        .or_else(|| named(&DECIMAL, &lower))
        .or_else(|| named(&BINARY, &format!("{lower}b")))
        .or_else(|| named(&BINARY, &format!("{lower}ib")))
}

impl FromStr for Size {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem: String| ParseError::new(text, "a size", problem, MEND);
        let (number, unit) = number::split(text).map_err(|e| wrong(e.problem().into()))?;
        let factor = factor(unit).ok_or_else(|| wrong(format!("unknown unit {unit:?}")))?;
        number.times(factor).map(Size).map_err(|e| {
            wrong(match e {
                TimesError::NotWhole => "it is not a whole number of bytes".into(),
                TimesError::TooLarge => "it is larger than 16 EiB".into(),
            })
        })
    }
}

/// The exact size, in the largest unit that divides it: `4KiB`, `1GB`, `1537`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |table: &[(&'static str, u64)]| {
            table.iter().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor)).copied()
        };
        // Readers expect 1024000 as 1000KiB and 1000000 as 1MB: the shorter number wins.
        let best = [exact(&BINARY), exact(&DECIMAL)].into_iter().flatten().max_by_key(|(_, factor)| *factor);
        match best {
            Some((unit, factor)) => f.pad(&format!("{}{unit}", self.0 / factor)),
            None => f.pad(&self.0.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_sizes_in_many_ways() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512 B", 512),
            ("4KiB", 4096),
            ("4k", 4096),
            ("4Ki", 4096),
            ("4kB", 4000),
            ("8M", 8 << 20),
            ("8MB", 8_000_000),
            ("1 GB", 1_000_000_000),
            ("1.5GiB", 3 << 29),
            ("2t", 2 << 40),
            (" 1 pib ", 1 << 50),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn errors_show_the_text_and_the_mend() {
        let error = |text: &str| text.parse::<Size>().unwrap_err().to_string();
        assert_eq!(
            error("12 parsecs"),
            "\"12 parsecs\" is not a size: unknown unit \"parsecs\"; \
             write a number and a unit, such as 4KiB, 8M or 1 GB"
        );
        assert!(error("MiB").contains("does not begin with a number"));
        assert!(error("0.3KiB").contains("not a whole number of bytes"));
        assert!(error("99999999P").contains("larger than 16 EiB"));
        assert!(error("-4k").contains("negative"));
        assert!(error(&"x".repeat(1000)).len() < 300);
    }

    #[test]
    fn printing_prefers_the_shorter_exact_form() {
        for (bytes, text) in [
            (0, "0"),
            (1, "1"),
            (4096, "4KiB"),
            (1_000_000, "1MB"),
            (1_048_576, "1MiB"),
            (1_024_000, "1000KiB"),
            (1537, "1537"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
        assert_eq!(Size(1_572_864_000).rounded(), "1.46 GiB");
        assert_eq!(Size(1_572_864_000).rounded_decimal(), "1.57 GB");
        assert_eq!(Size(999).rounded(), "999 B");
    }

    proptest! {
        #[test]
        fn every_size_reads_back(bytes: u64) {
            prop_assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }

        #[test]
        fn round_sizes_read_back(n in 0u64..5000, shift in 0u32..40) {
            let size = Size(n << shift);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = text.parse::<Size>();
        }
    }
}
