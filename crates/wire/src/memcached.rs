//! memcached's text protocol, client side: commands out, answer lines in (memcached's doc/protocol.txt).

use crate::NumberText;

/// Maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 250;
/// Maximum length of an answer line, in bytes: a dump line has a key, with every byte escaped, and some numbers.
pub const MAX_LINE_BYTES: usize = 2048;

/// Meaning of an answer line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemcachedReply<'a> {
    /// A value of this many bytes follows, terminated by a line end.
    Value {
        /// The key.
        key: &'a str,
        /// Length of the value in bytes.
        len: u64,
    },
    /// End of the values, or of a dump.
    End,
    /// The value is stored.
    Stored,
    /// The key was removed.
    Deleted,
    /// There is no such key.
    NotFound,
    /// The dump cannot start now: another one is in progress.
    Busy,
    /// The server's version.
    Version(&'a str),
    /// A line of a dump: a key, still escaped, and the size of its value.
    Dumped {
        /// The key with `%XX` for bytes that are neither letters nor digits.
        key: &'a str,
    },
    /// The server did not understand the command.
    Unknown,
    /// The server rejected the command, or failed; in its own words.
    Refused(&'a str),
}

/// Parses a line without its line end; `None` if it is not part of the protocol.
pub fn reply(line: &[u8]) -> Option<MemcachedReply<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    Some(match words.next()? {
        "STORED" => MemcachedReply::Stored,
        "DELETED" => MemcachedReply::Deleted,
        "NOT_FOUND" => MemcachedReply::NotFound,
        "END" => MemcachedReply::End,
        "BUSY" => MemcachedReply::Busy,
        "ERROR" => MemcachedReply::Unknown,
        "VERSION" => MemcachedReply::Version(line.get(8..)?),
        "CLIENT_ERROR" | "SERVER_ERROR" | "NOT_STORED" => MemcachedReply::Refused(line),
        "VALUE" => {
            let key = words.next()?;
            // The flags lie between them.
            let len = words.nth(1)?.parse().ok()?;
            MemcachedReply::Value { key, len }
        }
        word => MemcachedReply::Dumped { key: word.strip_prefix("key=")? },
    })
}

/// A command line, written without allocation.
pub struct CommandLine {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl CommandLine {
    /// Maximum length: the verb, a key and three numbers.
    pub const MAX: usize = MAX_KEY_BYTES + 96;

    fn new(verb: &str, key: &[u8]) -> Self {
        let mut line = Self { bytes: [0; Self::MAX], len: 0 };
        line.push(verb.as_bytes());
        line.push(b" ");
        line.push(&key[..key.len().min(MAX_KEY_BYTES)]);
        line
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Stores a value of `len` bytes without expiry; the value follows, terminated by a line end.
    pub fn set(key: &[u8], len: u64) -> Self {
        let mut line = Self::new("set", key);
        line.push(b" 0 0 ");
        line.push(NumberText::decimal(len).as_bytes());
        line.push(b"\r\n");
        line
    }

    /// Fetches a value.
    pub fn get(key: &[u8]) -> Self {
        let mut line = Self::new("get", key);
        line.push(b"\r\n");
        line
    }

    /// Removes a value.
    pub fn delete(key: &[u8]) -> Self {
        let mut line = Self::new("delete", key);
        line.push(b"\r\n");
        line
    }

    /// The bytes to send.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        assert_eq!(reply(b"VALUE a:1 0 42"), Some(MemcachedReply::Value { key: "a:1", len: 42 }));
        assert_eq!(reply(b"VALUE a:1 0 42 7"), Some(MemcachedReply::Value { key: "a:1", len: 42 }));
        assert_eq!(reply(b"END"), Some(MemcachedReply::End));
        assert_eq!(reply(b"VERSION 1.6.18"), Some(MemcachedReply::Version("1.6.18")));
        assert_eq!(reply(b"key=a%3A1 exp=-1 la=1 cas=1"), Some(MemcachedReply::Dumped { key: "a%3A1" }));
        let refusal = "SERVER_ERROR object too large for cache";
        assert_eq!(reply(refusal.as_bytes()), Some(MemcachedReply::Refused(refusal)));
        for line in
            ["", "VALUE", "VALUE a", "VALUE a 0", "VALUE a 0 x", "VALUE a 0 -1", "STORE", "VERSION", "\u{e9}"]
        {
            assert_eq!(reply(line.as_bytes()), None, "{line}");
        }
        assert_eq!(reply(b"\xff"), None);
    }

    #[test]
    fn commands_are_written() {
        assert_eq!(CommandLine::set(b"k:1", 5).as_bytes(), b"set k:1 0 0 5\r\n");
        assert_eq!(CommandLine::get(b"k:1").as_bytes(), b"get k:1\r\n");
        assert_eq!(CommandLine::delete(b"k:1").as_bytes(), b"delete k:1\r\n");
        let longest = CommandLine::set(&[b'k'; MAX_KEY_BYTES + 9], u64::MAX);
        assert!(longest.as_bytes().len() <= CommandLine::MAX);
    }
}
