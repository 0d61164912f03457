//! Integers with data units, hexadecimal digits, and arithmetic.

use super::arithmetic::{self, Units};
use super::{NumberError, ValueError};

/// An integer: `8`, `-5`, `0x10`, `4k`, `4KiB`, `(1+2)*3k`. `kb_base` gives the meaning of `k`: with 1024, `k` is 1024
/// and `ki` is 1000; with 1000, the other way round.
///
/// # Errors
/// How to write it.
pub fn integer(text: &str, kb_base: u32) -> Result<i64, ValueError> {
    let text = text.trim();
    if text.starts_with('(') {
        return Ok(arithmetic::evaluate(text, Units::Data { kb_base })?);
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = unsigned(rest, kb_base)?;
    Ok(if negative { -number } else { number })
}

fn unsigned(text: &str, kb_base: u32) -> Result<i64, ValueError> {
    let (digits, unit) = split(text)?;
    let factor = factor(unit, kb_base).ok_or_else(|| wrong_unit(unit))?;
    digits.checked_mul(factor).ok_or(ValueError::SizeTooLarge)
}

/// The number at the start of the text, and the rest.
pub(super) fn split(text: &str) -> Result<(i64, &str), NumberError> {
    if let Some(hexadecimal) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hexadecimal.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hexadecimal.len());
        if end == 0 {
            return Err(NumberError::NoDigits);
        }
        if end < hexadecimal.len() {
            return Err(NumberError::HexadecimalUnit);
        }
        let number = i64::from_str_radix(hexadecimal, 16).map_err(|_| NumberError::TooLarge)?;
        return Ok((number, ""));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Err(NumberError::NoDigits);
    }
    let number = text[..end].parse().map_err(|_| NumberError::TooLarge)?;
    Ok((number, without_zeros(&text[end..])))
}

/// The text after a number, without a fraction of zeros: scripts write `70.0`.
fn without_zeros(behind: &str) -> &str {
    match behind.strip_prefix('.') {
        Some(zeros) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => "",
        _ => behind,
    }
}

/// The factor of a data unit. No unit is 1.
pub(super) fn factor(unit: &str, kb_base: u32) -> Option<i64> {
    let unit = unit.trim().to_ascii_lowercase();
    let bare = match unit.as_str() {
        "" | "b" => return Some(1),
        other => other.strip_suffix('b').unwrap_or(other),
    };
    let (letter, other_base) = match bare.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (bare, false),
    };
    let power = match letter {
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let binary = (kb_base == 1024) != other_base;
    Some(if binary { 1024i64 } else { 1000 }.pow(power))
}

fn wrong_unit(unit: &str) -> ValueError {
    match unit.chars().next() {
        Some('.') => ValueError::Fraction,
        Some('%') => ValueError::Percentage,
        Some('z' | 'Z') => ValueError::Zones,
        _ => ValueError::UnknownUnit(unit.to_owned()),
    }
}

/// A percentage from 0 to 100: `20%`. `None` if the text does not end with `%`.
///
/// # Errors
/// How to write it.
pub fn percent(text: &str) -> Result<Option<f64>, ValueError> {
    let Some(number) = text.trim().strip_suffix('%') else { return Ok(None) };
    match number.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Some(percent)),
        _ => Err(ValueError::NoPercentage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_kb_base() {
        for (text, with_1024, with_1000) in [
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("4k", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4ki", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("1024k", 1 << 20, 1_024_000),
            ("1mi", 1_000_000, 1 << 20),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("1ti", 1_000_000_000_000, 1 << 40),
            ("4096.0", 4096, 4096),
            ("70.00", 70, 70),
            ("2p", 2 << 50, 2_000_000_000_000_000),
            ("0x10", 16, 16),
            ("0X1f", 31, 31),
            ("010", 10, 10),
            ("-5k", -5120, -5000),
            (" 7 ", 7, 7),
            ("(1+2)", 3, 3),
            ("(1+2)*3k", 9216, 9000),
            ("(2ki+1)", 2001, 2049),
        ] {
            assert_eq!(integer(text, 1024), Ok(with_1024), "{text}");
            assert_eq!(integer(text, 1000), Ok(with_1000), "{text}");
        }
    }

    #[test]
    fn what_fio_guesses_is_refused() {
        for text in [
            "", "abc", "1.5k", "4.0k", "1.5", "1.", "10kk", "3x", "4k8", "0x", "0x10k", "1e3", "5)", "(5",
            "20%", "1z", "-", "9e",
        ] {
            assert!(integer(text, 1024).is_err(), "{text}");
        }
        assert!(integer("9223372036854775808", 1024).is_err());
        assert!(integer("9000p", 1024).is_err());
    }

    #[test]
    fn percentages_have_limits() {
        assert_eq!(percent("20%"), Ok(Some(20.0)));
        assert_eq!(percent("20"), Ok(None));
        for text in ["101%", "-1%", "%", "x%", "nan%"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
