//! State that a lane keeps between operations.

use std::cell::Cell;

/// A lane's buffer for paths, taken for an operation and returned at its end.
pub(super) struct LanePath<'a> {
    pub(super) text: String,
    home: &'a Cell<String>,
}

impl<'a> LanePath<'a> {
    pub(super) fn take(home: &'a Cell<String>) -> Self {
        Self { text: home.take(), home }
    }
}

impl Drop for LanePath<'_> {
    fn drop(&mut self) {
        self.home.set(std::mem::take(&mut self.text));
    }
}

/// The name of an object's file: 16 hexadecimal digits.
pub(super) fn name_of(object: u64) -> [u8; 16] {
    let mut name = [0; 16];
    for (at, digit) in name.iter_mut().enumerate() {
        let value = (object >> (60 - 4 * at)) as usize & 15;
        *digit = b"0123456789abcdef"[value];
    }
    name
}

/// True for names that [`name_of`] produces.
pub(super) fn is_ours(name: &[u8]) -> bool {
    name.len() == 16 && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hexadecimal() {
        assert_eq!(&name_of(0x0123_4567_89ab_cdef), b"0123456789abcdef");
        assert!(is_ours(&name_of(7)));
        assert!(!is_ours(b"0123456789ABCDEF") && !is_ours(b"0123") && !is_ours(b"0123456789abcdefg"));
    }
}
