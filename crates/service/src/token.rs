//! The access token, kept only as a digest.

use std::hint::black_box;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::options::ServiceError;

/// Minimum length of a token: shorter ones can be guessed.
const SHORTEST: usize = 16;

/// The SHA-256 digest of the access token. The token itself is not kept.
#[derive(Clone)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of the token in a file, without the white space around it.
    ///
    /// # Errors
    /// The file cannot be read, or its content is no token.
    pub fn from_file(path: &Path) -> Result<Self, ServiceError> {
        let wrong = |why: &str| ServiceError::Usage(format!("--token-file {}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
        let token = text.trim();
        if token.len() < SHORTEST {
            return Err(wrong("a token has at least 16 characters; next: `openssl rand -hex 32` makes one"));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("a token is one line of printable ASCII without spaces"));
        }
        Ok(Self::of(token))
    }

    /// The digest of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether this is the token, in a time that does not depend on it.
    pub fn matches(&self, token: &str) -> bool {
        let other = Self::of(token).0;
        let differences = self.0.iter().zip(other).fold(0, |all, (mine, theirs)| all | (mine ^ theirs));
        black_box(differences) == 0
    }
}

impl std::fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenDigest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_matches_and_short_ones_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let digest = TokenDigest::from_file(&file).unwrap();
        assert!(digest.matches("0123456789abcdef") && !digest.matches("0123456789abcdeg"));
        assert!(!digest.matches("") && !format!("{digest:?}").contains("0123"));
        for (text, said) in [("short", "at least 16"), ("0123456789 abcdef", "without spaces")] {
            std::fs::write(&file, text).unwrap();
            let error = TokenDigest::from_file(&file).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains(text), "{error}");
        }
    }
}
