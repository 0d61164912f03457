//! Secrets that a run makes up.

use std::fs::File;
use std::io::{self, Read};

/// Characters of a secret: none that a shell or a configuration file takes for its own.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Length of a secret: 100 random bits; CHAP wants 96.
const LENGTH: usize = 20;

/// A new secret.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0; LENGTH];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_plain() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert!(one != other && one.len() == LENGTH);
        assert!(one.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()));
    }
}
