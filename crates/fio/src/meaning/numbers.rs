//! Numbers in values: amounts, times, shares.

use super::asked::whole;
use crate::language::values::{self, ValueError};
use experiment::Amount;

/// The error for a percentage outside its limits.
const PERCENT: ValueError = ValueError::Form("write a percentage from 0 to 100");

/// A size, or a percentage of the available size.
pub(crate) fn amount(text: &str, kb_base: u32) -> Result<Amount, ValueError> {
    match text.trim().strip_suffix('%') {
        Some(number) => {
            let percent = float(number)?;
            if (0.0..=100.0).contains(&percent) { Ok(Amount::Percent(percent)) } else { Err(PERCENT) }
        }
        None => whole(text, kb_base).map(Amount::Bytes),
    }
}

/// A duration in seconds; a number without a unit is in units of `unit_s` seconds, one in brackets in microseconds.
pub(crate) fn seconds(text: &str, unit_s: f64) -> Result<f64, ValueError> {
    let unit_us = (unit_s * 1e6).round() as u64;
    values::time(text, unit_us).map(|microseconds| microseconds as f64 / 1e6)
}

/// A number.
pub(crate) fn float(text: &str) -> Result<f64, ValueError> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or(ValueError::Form("write a number such as 1.2"))
}

/// A percentage from 0 to 100, with or without its sign.
pub(crate) fn share(text: &str) -> Result<f64, ValueError> {
    Some(percent(text)?).filter(|percent| (0.0..=100.0).contains(percent)).ok_or(PERCENT)
}

/// A percentage, with or without its sign.
pub(crate) fn percent(text: &str) -> Result<f64, ValueError> {
    float(text.trim().trim_end_matches('%'))
}
