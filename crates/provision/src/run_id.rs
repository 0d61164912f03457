//! The name of a run, borne by everything that the run creates.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// Characters of a run id: no capitals (bucket names), no look-alikes.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Length of a run id.
const LENGTH: usize = 8;

/// Eight characters of `[a-z2-7]`: 40 random bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// A new run id.
    pub fn random() -> Self {
        // Seeded from the operating system: two runs started at the same instant on a thousand hosts must not choose
        // the same name, as they could with the clock as the seed.
        let mut bits = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let text = (0..LENGTH)
            .map(|_| {
                let character = ALPHABET[(bits & 31) as usize];
                bits >>= 5;
                char::from(character)
            })
            .collect();
        Self(text)
    }

    /// The id of one of the agents of this run: always the same for the same number, so that a resumed run finds what
    /// they created.
    pub fn of_agent(&self, index: u32) -> Self {
        let digest = Sha256::digest(format!("{}/{index}", self.0));
        Self(digest.iter().take(LENGTH).map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of everything that this run creates: `manometer-` and the id.
    pub fn object_name(&self) -> String {
        format!("manometer-{}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text that is no [`RunId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a run id: write {LENGTH} characters of a-z and 2-7")]
pub struct RunIdError(pub String);

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        if text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RunIdError(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_fresh_and_read_back() {
        let (a, b) = (RunId::random(), RunId::random());
        assert_ne!(a, b);
        assert_eq!(a.to_string().parse::<RunId>().unwrap(), a);
        assert_eq!(a.object_name(), format!("manometer-{a}"));
        assert_eq!((a.of_agent(1), a.of_agent(1).as_str().len()), (a.of_agent(1), LENGTH));
        assert!(a.of_agent(0) != a.of_agent(1) && a.of_agent(0) != b.of_agent(0));
        for bad in ["", "abc", "abcdefg1", "ABCDEFGH", "abcdefghi", "../../ab"] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
    }
}
