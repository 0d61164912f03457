//! Shares of a whole: `80%` or `0.8`.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::number;

/// A share of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

const MEND: &str = "write a percentage such as 80% or a number from 0 to 1";

impl Share {
    /// A share, if it lies between 0 and 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The share as a number from 0 to 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem: String| ParseError::new(text, "a share", problem, MEND);
        let (number, unit) = number::split(text).map_err(|e| wrong(e.problem().into()))?;
        let value = match unit {
            "" => number.to_f64(),
            "%" => number.to_f64() / 100.0,
            other => return Err(wrong(format!("unknown unit {other:?}"))),
        };
        Self::new(value).ok_or_else(|| wrong("it is more than the whole".into()))
    }
}

/// In percent, with as many digits as the value has: `80%`, `12.5%`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nine decimals hide the last bit of binary fractions: 0.07 × 100 is not 7.
        let text = format!("{:.9}", self.0 * 100.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{text}%"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_written_as_percentages_or_fractions() {
        for (text, value) in [("80%", 0.8), ("0.8", 0.8), ("12.5 %", 0.125), ("0", 0.0), ("100%", 1.0)] {
            assert_eq!(text.parse::<Share>().unwrap().value(), value, "{text}");
        }
        assert_eq!(Share(0.07).to_string(), "7%");
        assert_eq!(Share(0.125).to_string(), "12.5%");
        assert_eq!(Share(0.0).to_string(), "0%");
    }

    #[test]
    fn errors_show_the_text_and_the_mend() {
        assert_eq!(
            "180%".parse::<Share>().unwrap_err().to_string(),
            "\"180%\" is not a share: it is more than the whole; \
             write a percentage such as 80% or a number from 0 to 1"
        );
        assert!("0.5 pints".parse::<Share>().is_err());
        assert_eq!(Share::new(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn a_printed_share_reads_back(value in 0.0f64..=1.0) {
            let back: Share = Share(value).to_string().parse().unwrap();
            prop_assert!((back.value() - value).abs() < 1e-11);
        }
    }
}
