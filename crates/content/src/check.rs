//! How blocks are marked when written and compared when read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PatternPiece, is_default};

/// How writes are marked and reads compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Check {
    /// The method.
    pub method: CheckMethod,
    /// Bytes per header (`verify_interval`); 0 for the whole block.
    #[serde(skip_serializing_if = "is_default")]
    pub interval_bytes: u64,
    /// Offset of the header within its interval, in bytes (`verify_offset`).
    #[serde(skip_serializing_if = "is_default")]
    pub header_offset: u64,
    /// Content of blocks around their headers, or of whole blocks with [`CheckMethod::Pattern`] (`verify_pattern`).
    #[serde(skip_serializing_if = "is_default")]
    pub pattern: Vec<PatternPiece>,
    /// Read and compare everything after the writes (`do_verify`).
    pub after_writes: bool,
    /// Write nothing, and compare what an earlier job wrote (`verify_only`).
    #[serde(skip_serializing_if = "is_default")]
    pub only: bool,
    /// End the job at the first mismatch (`verify_fatal`).
    #[serde(skip_serializing_if = "is_default")]
    pub fatal: bool,
    /// Read back after this many writes (`verify_backlog`); 0: at the end.
    #[serde(skip_serializing_if = "is_default")]
    pub backlog: u64,
    /// Number of blocks read back at a time (`verify_backlog_batch`); 0: all.
    #[serde(skip_serializing_if = "is_default")]
    pub backlog_batch: u64,
    /// Save mismatched blocks to files, as read and as expected (`verify_dump`).
    #[serde(skip_serializing_if = "is_default")]
    pub dump: bool,
}

impl Default for Check {
    fn default() -> Self {
        Check {
            method: CheckMethod::Fresh,
            interval_bytes: 0,
            header_offset: 0,
            pattern: Vec::new(),
            after_writes: true,
            only: false,
            fatal: false,
            backlog: 0,
            backlog_batch: 0,
            dump: false,
        }
    }
}

/// How blocks are marked: fio's verify methods, with its header at the front of each interval, and our own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckMethod {
    /// Ours: all bytes are a function of seed, file, offset and generation, and are all compared.
    #[default]
    Fresh,
    /// A header that only says where the block belongs (`verify=meta`); dropped from fio.
    Meta,
    /// No header: only the pattern is compared.
    Pattern,
    /// The pattern with a header without a checksum (`pattern_hdr`).
    PatternHeader,
    /// MD5.
    Md5,
    /// CRC-64.
    Crc64,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// CRC-32 (IEEE 802.3).
    Crc32,
    /// CRC-16.
    Crc16,
    /// CRC-7.
    Crc7,
    /// xxHash, 32 bits.
    Xxhash,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// The header alone, without a checksum.
    Null,
}

impl CheckMethod {
    /// Size of the header at the front of each interval in bytes, checksum included; 0 if the method has none. The
    /// layout is that of fio 3.33: 40 bytes followed by the checksum, for which sha256 and sha512 reserve more than
    /// their digests need.
    pub const fn header_bytes(self) -> usize {
        let sum = match self {
            CheckMethod::Fresh | CheckMethod::Pattern | CheckMethod::Null => return 0,
            CheckMethod::Meta | CheckMethod::PatternHeader => 0,
            CheckMethod::Crc7 => 1,
            CheckMethod::Crc16 => 2,
            CheckMethod::Crc32c | CheckMethod::Crc32 | CheckMethod::Xxhash => 4,
            CheckMethod::Crc64 => 8,
            CheckMethod::Md5 => 16,
            CheckMethod::Sha1 => 20,
            CheckMethod::Sha3_224 => 28,
            CheckMethod::Sha3_256 => 32,
            CheckMethod::Sha3_384 => 48,
            CheckMethod::Sha256 | CheckMethod::Sha3_512 => 64,
            CheckMethod::Sha512 => 128,
        };
        40 + sum
    }
}
