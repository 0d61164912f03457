//! Numbers in values: amounts, times, shares.

use super::asked::whole;
use crate::language::values;
use experiment::Amount;

/// A size, or a percentage of the available size.
pub(crate) fn amount(text: &str, kb_base: u32) -> Result<Amount, String> {
    match text.trim().strip_suffix('%') {
        Some(number) => {
            let percent = float(number)?;
            if (0.0..=100.0).contains(&percent) {
                Ok(Amount::Percent(percent))
            } else {
                Err("write a percentage from 0 to 100".to_owned())
            }
        }
        None => whole(text, kb_base).map(Amount::Bytes),
    }
}

/// A duration in seconds; a number without a unit is in units of `unit_s` seconds, one in brackets in microseconds.
pub(crate) fn seconds(text: &str, unit_s: f64) -> Result<f64, String> {
    let unit_us = (unit_s * 1e6).round() as u64;
    values::time(text, unit_us).map(|microseconds| microseconds as f64 / 1e6)
}

/// A number.
pub(crate) fn float(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "write a number such as 1.2".to_owned())
}

/// A percentage, with or without its sign.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    float(text.trim().trim_end_matches('%'))
}
