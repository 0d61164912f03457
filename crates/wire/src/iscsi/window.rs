//! The window of command numbers (RFC 7143, 4.2.2.1): numbers wrap, and are compared as RFC 1982 says.

/// What an initiator may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandWindow {
    next: u32,
    expected: u32,
    max: u32,
}

/// True when `one` comes before `other`.
const fn before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

impl CommandWindow {
    /// A window whose first command number is `next`, before the target has said anything.
    pub const fn new(next: u32) -> Self {
        Self { next, expected: next, max: next }
    }

    /// Takes `ExpCmdSN` and `MaxCmdSN` of a PDU. An old PDU may say less than is known, which is ignored, as is a pair
    /// that contradicts itself.
    #[inline]
    pub const fn update(&mut self, expected: u32, max: u32) {
        if before(max, expected.wrapping_sub(1)) {
            return;
        }
        if before(self.expected, expected) && !before(self.next, expected) {
            self.expected = expected;
        }
        if before(self.max, max) {
            self.max = max;
        }
    }

    /// True when another command may be sent.
    #[inline]
    pub const fn is_open(&self) -> bool {
        !before(self.max, self.next)
    }

    /// The number that the next command will have. Immediate commands carry it without taking it.
    #[inline]
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// Takes the number of the next command.
    #[inline]
    pub const fn take(&mut self) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// Commands that may still be sent.
    pub const fn left(&self) -> u32 {
        if self.is_open() { self.max.wrapping_sub(self.next).wrapping_add(1) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_closes_and_wraps() {
        let mut window = CommandWindow::new(u32::MAX);
        window.update(u32::MAX, 1);
        assert_eq!(window.left(), 3);
        assert_eq!([window.take(), window.take(), window.take()], [u32::MAX, 0, 1]);
        assert!(!window.is_open());
        assert_eq!(window.left(), 0);
        // The same again, an older pair, one that contradicts itself.
        for (expected, max) in [(2, 1), (0, u32::MAX), (9, 3)] {
            window.update(expected, max);
            assert!(!window.is_open(), "{expected} {max}");
        }
        window.update(2, 2);
        assert_eq!((window.next(), window.left()), (2, 1));
    }
}
