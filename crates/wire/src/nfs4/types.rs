//! The basic types (RFC 8881 section 3).

use crate::nfs3::FileHandle;
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque, xdr_bytes, xdr_struct};

/// A session's name, chosen by the server.
pub type SessionId = [u8; 16];

/// A file handle of at most 128 bytes (`NFS4_FHSIZE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub FileHandle);

impl Encode for Handle {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_opaque(out, self.0.as_bytes());
    }
}

impl Decode<'_> for Handle {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = from.opaque("file handle", FileHandle::CAPACITY)?;
        Ok(Self(FileHandle::new(bytes).expect("its length was checked")))
    }
}

xdr_bytes!(
    /// The text that a COMPOUND's reply repeats.
    Tag,
    "COMPOUND tag",
    1024
);
xdr_bytes!(
    /// The name of a client or of an open's owner (`NFS4_OPAQUE_LIMIT`).
    ClientOwner,
    "owner",
    1024
);
xdr_bytes!(
    /// A server's name for itself or for its scope (`NFS4_OPAQUE_LIMIT`).
    ServerLabel,
    "server name",
    1024
);
xdr_bytes!(
    /// A user or a group as text. The RFC sets no limit.
    Owner,
    "user name",
    1024
);

xdr_struct! {
    /// A state of a file: an open (`stateid4`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    StateId {
        /// Grows with each change of the state; 0 for the current one.
        sequence: u32,
        /// Which state.
        other: [u8; 12],
    }
}

impl StateId {
    /// I/O without an open (RFC 8881 section 8.2.3).
    pub const ANONYMOUS: Self = Self { sequence: 0, other: [0; 12] };
    /// The state that an earlier operation of the same COMPOUND returned (RFC 8881 section 16.2.3.1.2).
    pub const CURRENT: Self = Self { sequence: 1, other: [0; 12] };
    /// READ past mandatory locks (RFC 8881 section 8.2.3).
    pub const READ_BYPASS: Self = Self { sequence: u32::MAX, other: [0xff; 12] };
}

xdr_struct! {
    /// The change attribute of a directory before and after an operation (`change_info4`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    ChangeInfo {
        /// Nothing else changed the directory in between.
        atomic: bool,
        /// Before.
        before: u64,
        /// After.
        after: u64,
    }
}

/// A time (`nfstime4`) since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time4 {
    /// Seconds.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanoseconds: u32,
}

impl Encode for Time4 {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.seconds as u64).encode(out);
        self.nanoseconds.encode(out);
    }
}

impl Decode<'_> for Time4 {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { seconds: from.u64()? as i64, nanoseconds: from.u32()? })
    }
}

/// A set of small numbers (`bitmap4`), stored inline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    len: u8,
    words: [u32; Bitmap::WORDS_MAX],
}

impl Bitmap {
    /// Maximum words accepted: attributes up to number 95, which is more than the RFC defines.
    pub const WORDS_MAX: usize = 3;
    /// The empty set.
    pub const EMPTY: Self = Self { len: 0, words: [0; Self::WORDS_MAX] };

    /// The set of these numbers, each below 96.
    pub const fn of(numbers: &[u32]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < numbers.len() {
            let word = (numbers[at] / 32) as usize;
            set.words[word] |= 1 << (numbers[at] % 32);
            if set.len as usize <= word {
                set.len = word as u8 + 1;
            }
            at += 1;
        }
        set
    }

    /// A set of these words, of which at most three count.
    pub fn of_words(words: &[u32]) -> Self {
        let mut set = Self::EMPTY;
        for word in words.iter().take(Self::WORDS_MAX) {
            set.words[usize::from(set.len)] = *word;
            set.len += 1;
        }
        set
    }

    /// The numbers that both sets have.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (word, other) in self.words.iter_mut().zip(other.words) {
            *word &= other;
        }
        self.len = self.len.min(other.len);
        self
    }

    /// The numbers that either set has.
    #[must_use]
    pub const fn or(mut self, other: Self) -> Self {
        let mut at = 0;
        while at < Self::WORDS_MAX {
            self.words[at] |= other.words[at];
            at += 1;
        }
        if self.len < other.len {
            self.len = other.len;
        }
        self
    }

    /// Whether a number belongs to the set.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.words.get((number / 32) as usize).is_some_and(|word| word & (1 << (number % 32)) != 0)
    }

    /// Its numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        (0..32 * Self::WORDS_MAX as u32).filter(move |number| self.has(*number))
    }
}

impl Encode for Bitmap {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        u32::from(self.len).encode(out);
        for word in &self.words[..usize::from(self.len)] {
            word.encode(out);
        }
    }
}

impl Decode<'_> for Bitmap {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let len = from.length("bitmap", Self::WORDS_MAX)?;
        let mut set = Self { len: len as u8, words: [0; Self::WORDS_MAX] };
        for word in &mut set.words[..len] {
            *word = from.u32()?;
        }
        Ok(set)
    }
}
