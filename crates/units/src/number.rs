//! Exact decimal numbers in front of a unit: `1.5 GiB` is 15 × 10⁻¹ and `GiB`.

/// A non-negative decimal number without rounding: `mantissa` / 10^`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u128,
    scale: u32,
}

/// Why the number part of a text could not be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    Missing,
    Negative,
    TooLong,
}

impl NumberError {
    pub(crate) fn problem(&self) -> &'static str {
        match self {
            Self::Missing => "it does not begin with a number",
            Self::Negative => "it is negative",
            Self::TooLong => "the number has more than 30 digits",
        }
    }
}

/// Splits the front of `text` into a number and the rest, both trimmed.
pub(crate) fn split(text: &str) -> Result<(Decimal, &str), NumberError> {
    let text = text.trim_start();
    if text.starts_with('-') {
        return Err(NumberError::Negative);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(NumberError::Missing);
    }
    // 30 digits leave enough of a u128 for the factors of the units.
    if whole.len() + fraction.len() > 30 {
        return Err(NumberError::TooLong);
    }
    let mantissa =
        whole.bytes().chain(fraction.bytes()).fold(0u128, |n, digit| n * 10 + u128::from(digit - b'0'));
    let scale = u32::try_from(fraction.len()).expect("at most 30");
    Ok((Decimal { mantissa, scale }, rest.trim()))
}

impl Decimal {
    /// The number times `factor`, if that is whole and fits in a u64.
    pub(crate) fn times(self, factor: u64) -> Result<u64, TimesError> {
        let divisor = 10u128.pow(self.scale);
        let product = self.mantissa.checked_mul(u128::from(factor)).ok_or(TimesError::TooLarge)?;
        if !product.is_multiple_of(divisor) {
            return Err(TimesError::NotWhole);
        }
        u64::try_from(product / divisor).map_err(|_| TimesError::TooLarge)
    }

    /// The nearest floating-point number.
    pub(crate) fn to_f64(self) -> f64 {
        self.mantissa as f64 / 10f64.powi(i32::try_from(self.scale).expect("at most 30"))
    }
}

/// Why a product is not a whole 64-bit number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TimesError {
    NotWhole,
    TooLarge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_come_apart_with_and_without_a_blank() {
        assert_eq!(split("1.5 GiB").unwrap().1, "GiB");
        assert_eq!(split("1.5GiB").unwrap().0.to_f64(), 1.5);
        assert_eq!(split(" 7 ").unwrap(), (Decimal { mantissa: 7, scale: 0 }, ""));
        assert_eq!(split(".5s").unwrap().0.to_f64(), 0.5);
    }

    #[test]
    fn what_is_no_number_is_named() {
        assert_eq!(split("GiB"), Err(NumberError::Missing));
        assert_eq!(split(""), Err(NumberError::Missing));
        assert_eq!(split("."), Err(NumberError::Missing));
        assert_eq!(split("1.2.3"), Err(NumberError::Missing));
        assert_eq!(split("-1"), Err(NumberError::Negative));
        assert_eq!(split(&"9".repeat(31)), Err(NumberError::TooLong));
    }

    #[test]
    fn products_are_exact_or_refused() {
        assert_eq!(split("1.5").unwrap().0.times(1024), Ok(1536));
        assert_eq!(split("0.3").unwrap().0.times(1024), Err(TimesError::NotWhole));
        assert_eq!(split("99999999999999999999").unwrap().0.times(1), Err(TimesError::TooLarge));
    }
}
