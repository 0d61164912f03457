//! Numbers of logical units (SAM-5, 4.7).

/// A logical unit's number as it travels: eight bytes, of which all but the first two are usually zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lun(pub u64);

impl Lun {
    /// The largest number that the two usual forms express.
    pub const MAX: u16 = 0x3fff;

    /// A number in the form that all targets know: the peripheral device form below 256, else the flat form. `None`
    /// above [`Lun::MAX`].
    pub const fn of(number: u16) -> Option<Self> {
        match number {
            0..=0xff => Some(Self((number as u64) << 48)),
            0x100..=Self::MAX => Some(Self((number as u64 | 0x4000) << 48)),
            _ => None,
        }
    }

    /// The number, if it is in one of the two usual forms.
    pub const fn number(self) -> Option<u16> {
        let first = (self.0 >> 48) as u16;
        match (self.0 << 16, first >> 14) {
            (0, 0) if first <= 0xff => Some(first),
            (0, 1) => Some(first & Self::MAX),
            _ => None,
        }
    }
}

impl std::fmt::Display for Lun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number() {
            Some(number) => write!(f, "{number}"),
            None => write!(f, "{:#018x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_there_and_back() {
        for number in [0, 1, 255, 256, 1000, Lun::MAX] {
            assert_eq!(Lun::of(number).unwrap().number(), Some(number));
        }
        assert_eq!(Lun::of(1), Some(Lun(0x0001_0000_0000_0000)));
        assert_eq!(Lun::of(256), Some(Lun(0x4100_0000_0000_0000)));
        assert_eq!(Lun::of(Lun::MAX + 1), None);
        // The flat form of a small number; a hierarchical form.
        assert_eq!(Lun(0x4001_0000_0000_0000).number(), Some(1));
        assert_eq!(Lun(0x0101_0000_0000_0000).number(), None);
        assert_eq!(Lun(1).to_string(), "0x0000000000000001");
    }
}
