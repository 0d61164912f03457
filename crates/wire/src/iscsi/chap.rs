//! CHAP in logins (RFC 7143, 12.1.3; RFC 1994): a side proves that it knows a secret without sending it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest;

/// The longest binary value of a login that is decoded, in bytes (RFC 7143, 6.1).
const BINARY_MAX: usize = 1024;

/// A name and the secret that belongs to it. Its debug output hides the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ChapSecret {
    /// The name, `CHAP_N`.
    pub name: String,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for ChapSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChapSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The hash of a response (IANA: PPP authentication algorithms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChapAlgorithm {
    /// MD5, which every target knows.
    Md5,
    /// SHA-256, for targets that refuse MD5.
    Sha256,
}

impl ChapAlgorithm {
    /// All of them, in order of preference: some old targets give the number of SHA-256 to SHA-1, so MD5 comes first.
    pub const OFFER: &str = "5,7";

    /// By number.
    pub(super) fn of(number: &str) -> Option<Self> {
        match number {
            "5" => Some(Self::Md5),
            "7" => Some(Self::Sha256),
            _ => None,
        }
    }
}

/// The response to a challenge.
pub fn chap_response(algorithm: ChapAlgorithm, id: u8, secret: &str, challenge: &[u8]) -> Vec<u8> {
    match algorithm {
        ChapAlgorithm::Md5 => {
            let hash = md5::Md5::new().chain_update([id]).chain_update(secret).chain_update(challenge);
            hash.finalize().to_vec()
        }
        ChapAlgorithm::Sha256 => {
            let hash = sha2::Sha256::new().chain_update([id]).chain_update(secret).chain_update(challenge);
            hash.finalize().to_vec()
        }
    }
}

/// A binary value as text.
pub(super) fn hex_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::from("0x"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A binary value from its text: hexadecimal after `0x`, base64 after `0b`.
pub(super) fn binary(text: &str) -> Option<Vec<u8>> {
    if text.len() > 2 * BINARY_MAX + 2 {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits: Vec<u8> =
            digits.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
        // A leading zero may be missing.
        let (odd, pairs) = digits.split_at(digits.len() % 2);
        let pairs = pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]);
        return Some(odd.iter().copied().chain(pairs).collect());
    }
    let encoded = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"))?;
    STANDARD.decode(encoded).ok()
}

/// A small number, decimal or hexadecimal.
pub(super) fn small(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_there_and_back() {
        assert_eq!(hex_text(&[0, 0xab, 0x10]), "0x00ab10");
        assert_eq!(binary("0x00ab10"), Some(vec![0, 0xab, 0x10]));
        assert_eq!(binary("0XABC"), Some(vec![0x0a, 0xbc]));
        assert_eq!(binary("0bAKsQ"), Some(vec![0, 0xab, 0x10]));
        for wrong in ["", "12", "0xg0", "0b*", "0x\u{e9}"] {
            assert_eq!(binary(wrong), None, "{wrong}");
        }
        assert_eq!(binary(&format!("0x{}", "0".repeat(3000))), None);
        assert_eq!((small("17"), small("0x11"), small("256"), small("x")), (Some(17), Some(17), None, None));
    }

    /// Computed with Python's hashlib over `id + secret + challenge`.
    #[test]
    fn known_responses() {
        let of = |algorithm| hex_text(&chap_response(algorithm, 7, "passw0rd1234", b"challenge"));
        assert_eq!(of(ChapAlgorithm::Md5), KNOWN_MD5);
        assert_eq!(of(ChapAlgorithm::Sha256), KNOWN_SHA256);
    }

    const KNOWN_MD5: &str = "0x314461a04e9adaeae47791ee1b19625c";
    const KNOWN_SHA256: &str = "0xa0edad7e16504f3472dd2f1bdf8d127c2442f07cd746249767190f171ec50257";

    #[test]
    fn secrets_are_not_shown() {
        let secret = ChapSecret { name: "u1".into(), secret: "hush".into() };
        assert!(format!("{secret:?}").contains("u1") && !format!("{secret:?}").contains("hush"));
    }
}
