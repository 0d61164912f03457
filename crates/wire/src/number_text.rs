//! Numbers as text, written on the stack without the formatting machinery: for heads that are built for every request.

/// A number in decimal or hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct NumberText {
    /// The digits, right-aligned.
    digits: [u8; 20],
    start: u8,
}

impl NumberText {
    /// In decimal digits.
    pub fn decimal(value: u64) -> Self {
        Self::in_base(value, 10)
    }

    /// In lower-case hexadecimal digits.
    pub fn hexadecimal(value: u64) -> Self {
        Self::in_base(value, 16)
    }

    fn in_base(mut value: u64, base: u64) -> Self {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b"0123456789abcdef"[(value % base) as usize];
            value /= base;
            if value == 0 {
                break;
            }
        }
        Self { digits, start: start as u8 }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("digits are ASCII")
    }

    /// The digits.
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[usize::from(self.start)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_are_those_of_the_formatter() {
        for value in [0, 1, 9, 10, 15, 16, 255, 131_072, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(NumberText::decimal(value).as_str(), value.to_string());
            assert_eq!(NumberText::hexadecimal(value).as_str(), format!("{value:x}"));
        }
    }
}
