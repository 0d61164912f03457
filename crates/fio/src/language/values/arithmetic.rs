//! Arithmetic in values: `(1+2)*3k`, with + - * / % ^ and parentheses.

use super::{ExpressionError, number, time};

/// The meaning of unit suffixes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Units {
    /// Units of data: `k`, `m`, …
    Data {
        /// The value of `k`.
        kb_base: u32,
    },
    /// Units of time: `ms`, `s`, …; the result is in microseconds.
    Time,
}

/// Maximum nesting of parentheses.
const DEEPEST: usize = 32;

/// The value of an expression, computed with 128 bits. `/` truncates; `^` is a power.
///
/// # Errors
/// What is wrong with it.
pub(super) fn evaluate(text: &str, units: Units) -> Result<i64, ExpressionError> {
    let mut reader = Reader { rest: text, units, depth: 0 };
    let value = reader.sum()?;
    reader.blanks();
    if !reader.rest.is_empty() {
        return Err(ExpressionError::EndsBefore(reader.rest.to_owned()));
    }
    i64::try_from(value).map_err(|_| ExpressionError::ResultTooLarge)
}

struct Reader<'a> {
    rest: &'a str,
    units: Units,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes the next character if it is one of these.
    fn one_of(&mut self, these: &str) -> Option<char> {
        self.blanks();
        let next = self.rest.chars().next().filter(|c| these.contains(*c))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Result<i128, ExpressionError> {
        let mut value = self.product()?;
        while let Some(sign) = self.one_of("+-") {
            let right = self.product()?;
            let result = if sign == '+' { value.checked_add(right) } else { value.checked_sub(right) };
            value = result.ok_or(ExpressionError::TooLarge)?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<i128, ExpressionError> {
        let mut value = self.power()?;
        while let Some(sign) = self.one_of("*/%") {
            let right = self.power()?;
            if sign != '*' && right == 0 {
                return Err(ExpressionError::DivisionByZero);
            }
            let result = match sign {
                '*' => value.checked_mul(right),
                '/' => value.checked_div(right),
                _ => value.checked_rem(right),
            };
            value = result.ok_or(ExpressionError::TooLarge)?;
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<i128, ExpressionError> {
        let base = self.signed()?;
        if self.one_of("^").is_none() {
            return Ok(base);
        }
        self.deeper()?;
        let exponent = self.power()?;
        self.depth -= 1;
        let exponent = u32::try_from(exponent).map_err(|_| ExpressionError::Exponent)?;
        base.checked_pow(exponent).ok_or(ExpressionError::TooLarge)
    }

    fn signed(&mut self) -> Result<i128, ExpressionError> {
        let negative = self.one_of("-").is_some();
        let value = self.atom()?;
        Ok(if negative { -value } else { value })
    }

    fn deeper(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(ExpressionError::TooDeep) } else { Ok(()) }
    }

    fn atom(&mut self) -> Result<i128, ExpressionError> {
        if self.one_of("(").is_none() {
            return self.number();
        }
        self.deeper()?;
        let value = self.sum()?;
        self.depth -= 1;
        if self.one_of(")").is_none() {
            return Err(ExpressionError::Unclosed);
        }
        self.with_unit(value)
    }

    fn number(&mut self) -> Result<i128, ExpressionError> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let digits = match word.get(..2) {
            Some("0x" | "0X") => word.len(),
            _ => word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()),
        };
        if digits == 0 {
            return Err(match self.rest.chars().next() {
                Some(c) => ExpressionError::NoNumber(c),
                None => ExpressionError::Unfinished,
            });
        }
        let (value, _) = number::split(&word[..digits])?;
        self.rest = &self.rest[digits..];
        self.with_unit(i128::from(value))
    }

    /// Applies the unit after a number or a closing parenthesis, if there is one.
    fn with_unit(&mut self, value: i128) -> Result<i128, ExpressionError> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let unit = &self.rest[..end];
        if unit.is_empty() {
            return Ok(value);
        }
        let factor = match self.units {
            Units::Data { kb_base } => number::factor(unit, kb_base),
            Units::Time => time::factor(unit),
        };
        self.rest = &self.rest[end..];
        let factor = factor.ok_or_else(|| ExpressionError::UnknownUnit(unit.to_owned()))?;
        value.checked_mul(i128::from(factor)).ok_or(ExpressionError::TooLarge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Result<i64, ExpressionError> {
        evaluate(text, Units::Data { kb_base: 1024 })
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, value) in [
            ("(1+2*3)", 7),
            ("((1+2)*3)", 9),
            ("(2^10)", 1024),
            ("(2^3^2)", 512),
            ("(10%3)", 1),
            ("(7/2)", 3),
            ("(8-3-2)", 3),
            ("(-4+6)", 2),
            ("(4k*10+1)", 40961),
            ("(1+2)k", 3072),
            ("( 0x10 + 1 )", 17),
            ("(1)+(2)", 3),
        ] {
            assert_eq!(data(text), Ok(value), "{text}");
        }
        assert_eq!(evaluate("(1s+5)", Units::Time), Ok(1_000_005));
    }

    #[test]
    fn wrong_ones_are_refused_and_never_overflow() {
        for text in [
            "(7/0)",
            "(1%0)",
            "(",
            "()",
            "(1",
            "(1))",
            "(1 2)",
            "(a)",
            "(1.5)",
            "(2^100)",
            "(2^(0-1))",
            "(9^9^9^9)",
            "(1+)",
            "(3x)",
            "(9223372036854775807+1)",
        ] {
            assert!(data(text).is_err(), "{text}");
        }
        assert!(data(&"(".repeat(10_000)).is_err());
        assert!(data(&format!("(1{})", "^1".repeat(10_000))).is_err());
    }
}
