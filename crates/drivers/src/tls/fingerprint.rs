//! Fingerprints of certificates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SHA-256 of a certificate's DER form, written as 64 hexadecimal digits (colons and `sha256:` are accepted, too).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text that is no [`Fingerprint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a certificate's SHA-256 fingerprint: write its 64 hexadecimal digits, with or without colons"
)]
pub struct FingerprintError(pub String);

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let wrong = || FingerprintError(text.to_owned());
        let digits = text.trim();
        let digits = digits.strip_prefix("sha256:").unwrap_or(digits);
        let mut nibbles = digits.chars().filter(|character| *character != ':');
        let mut bytes = [0u8; 32];
        for byte in &mut bytes {
            for _ in 0..2 {
                let digit = nibbles.next().and_then(|digit| digit.to_digit(16)).ok_or_else(wrong)?;
                *byte = *byte << 4 | digit as u8;
            }
        }
        if nibbles.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = FingerprintError;

    fn try_from(text: String) -> Result<Self, FingerprintError> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_in_every_spelling() {
        let plain = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let colons: String = plain
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap().to_uppercase())
            .collect::<Vec<_>>()
            .join(":");
        assert_eq!(Fingerprint::of(b"").to_string(), plain);
        assert_eq!(colons.parse(), Ok(Fingerprint::of(b"")));
        assert_eq!(format!(" sha256:{plain}\n").parse(), Ok(Fingerprint::of(b"")));
        for wrong in ["", "12", "abc", "zz", &plain[1..], &format!("{plain}0"), &plain.replace('e', "g")] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
