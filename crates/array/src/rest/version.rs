//! API versions, and what differs between them.

use std::fmt;
use std::str::FromStr;

/// An API version: `1.12`, `1.8.1`, `2.29`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u16,
    pub(crate) minor: u16,
    pub(crate) patch: u16,
}

impl Version {
    /// A version of generation 1.
    pub(crate) const fn v1(minor: u16) -> Self {
        Self { major: 1, minor, patch: 0 }
    }

    /// Whether it belongs to generation 2.
    pub(crate) fn is_2(self) -> bool {
        self.major == 2
    }

    /// Whether it belongs to generation 2, or is at least this version of generation 1.
    pub(crate) fn since(self, minor: u16) -> bool {
        self >= Self::v1(minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Vec<u16> = text.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| ())?;
        match numbers[..] {
            [major, minor] => Ok(Self { major, minor, patch: 0 }),
            [major, minor, patch] if patch > 0 => Ok(Self { major, minor, patch }),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_numbers() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("1.9") < version("1.12") && version("1.8") < version("1.8.1"));
        assert!(version("1.12") < version("2.0") && version("2.0").since(12) && !version("1.8").since(9));
        assert_eq!(version("1.8.1").to_string(), "1.8.1");
        assert!("2".parse::<Version>().is_err() && "2.x".parse::<Version>().is_err());
    }
}
