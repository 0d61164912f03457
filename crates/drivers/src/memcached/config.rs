//! Configuration of a memcached target.

use std::net::SocketAddr;

use super::NUMBER_BYTES;
use crate::paths::{DataAddress, Paths};

/// The target of a [`super::MemcachedDriver`].
#[derive(Clone, Debug)]
pub struct MemcachedConfig {
    /// The server.
    pub address: SocketAddr,
    /// Connect to these addresses of the server instead, spreading connections evenly.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// Prefix of our keys, followed by a colon and the object's number.
    pub prefix: String,
}

impl MemcachedConfig {
    /// A server with default settings.
    pub fn new(address: SocketAddr, prefix: impl Into<String>) -> Self {
        Self { address, addresses: Vec::new(), paths: Paths::default(), prefix: prefix.into() }
    }

    /// The address with this number.
    pub(super) fn address(&self, number: usize) -> SocketAddr {
        match self.addresses.get(number) {
            Some(address) => SocketAddr::new(address.ip, address.port.unwrap_or(self.address.port())),
            None => self.address,
        }
    }

    /// The key of the object with this number, and its length.
    pub(super) fn key(&self, number: u64) -> Key {
        let mut key =
            Key { bytes: [0; wire::memcached::MAX_KEY_BYTES], len: self.prefix.len() + NUMBER_BYTES };
        let (prefix, rest) = key.bytes.split_at_mut(self.prefix.len());
        prefix.copy_from_slice(self.prefix.as_bytes());
        rest[0] = b':';
        for (at, digit) in rest[1..NUMBER_BYTES].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(number >> ((15 - at) * 4)) as usize & 15];
        }
        key
    }

    /// The object number of a key as escaped in dumps; `None` when the key is not ours.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        let rest = key.strip_prefix(&self.prefix)?;
        let digits = rest.strip_prefix(':').or_else(|| rest.strip_prefix("%3A"))?;
        let ours = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        ours.then(|| u64::from_str_radix(digits, 16).ok())?
    }
}

/// A key.
pub(super) struct Key {
    bytes: [u8; wire::memcached::MAX_KEY_BYTES],
    len: usize,
}

impl Key {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_there_and_back() {
        let config = MemcachedConfig::new(([127, 0, 0, 1], 11211).into(), "manometer-x");
        assert_eq!(config.key(0xab1).text(), "manometer-x:0000000000000ab1");
        assert_eq!(config.number("manometer-x%3A0000000000000ab1"), Some(0xab1));
        assert_eq!(config.number("manometer-x:ffffffffffffffff"), Some(u64::MAX));
        for other in [
            "manometer-x",
            "manometer-xy:0000000000000ab1",
            "manometer-x:ab1",
            "manometer-x:+000000000000ab1",
            "",
        ] {
            assert_eq!(config.number(other), None, "{other}");
        }
    }
}
