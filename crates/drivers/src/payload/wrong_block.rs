//! Why a block that was read is not the one that was written there.

use super::header::{differ, hex};

/// What is wrong with an interval of a block. Reads after its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongBlock {
    /// Nothing but zeros where its header belongs.
    #[error("zeros in place of its header: never written, or lost")]
    Zeros,
    /// Something else where its header belongs.
    #[error("{error} (its header begins with {})", hex(begin))]
    NoHeader {
        /// Why it is no header.
        error: HeaderError,
        /// Its first bytes.
        begin: [u8; 16],
    },
    /// The header of another place.
    #[error("its header is of byte {0}: a misplaced block")]
    Misplaced(u64),
    #[error("its header is of method {found}, expected {expected} ({name})")]
    Method { found: u16, expected: u16, name: &'static str },
    #[error("its header is of {found} bytes, expected {expected}")]
    Length { found: u32, expected: u32 },
    #[error(
        "its header is not of this run and file (seed {found:016x}, expected {expected:016x}): a lost write or a \
         misplaced block"
    )]
    Seed { found: u64, expected: u64 },
    #[error(
        "its header is generation {found} of this place instead of {expected}: a lost write or a stale read"
    )]
    Generation { found: u16, expected: u16 },
    /// The checksum does not match the data.
    #[error("the {name} over its data is {made}, its header says {found}{}", at(difference.as_deref()))]
    Sum {
        /// The method.
        name: &'static str,
        /// The checksum of the data, in hexadecimal digits.
        made: String,
        /// That of the header.
        found: String,
        /// Where the data differs, if it is known what was written.
        difference: Option<Box<Difference>>,
    },
    /// The checksum matches, and the data differs nevertheless.
    #[error("the data differs from byte {at} on: expected {}, got {}", hex(expected), hex(found))]
    Data {
        /// Where it differs first.
        at: u64,
        /// A few bytes from there on.
        expected: Vec<u8>,
        /// What is there.
        found: Vec<u8>,
    },
}

/// Where data differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Nowhere: the checksum was damaged.
    Nowhere,
    /// From a byte on.
    From {
        /// Bytes that differ.
        count: usize,
        /// The first of them.
        at: u64,
        /// A few bytes from there on.
        expected: Vec<u8>,
        /// What is there.
        found: Vec<u8>,
    },
}

fn at(difference: Option<&Difference>) -> String {
    match difference {
        None => String::new(),
        Some(Difference::Nowhere) => ": the sum itself is damaged".to_owned(),
        Some(Difference::From { count, at, expected, found }) => {
            format!("; {} from byte {at} on: expected {}, got {}", differ(*count), hex(expected), hex(found))
        }
    }
}

/// Bytes that are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    /// Their first two are others.
    #[error("no header: {0:04x} in place of acca")]
    Magic(u64),
    #[error("the crc32c of its header is {made:08x}, the header says {found:08x}")]
    Sum { made: u32, found: u32 },
}
