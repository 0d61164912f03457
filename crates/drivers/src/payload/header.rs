//! The header of a block: its fields and their layout.
//!
//! The format is that of fio 3.33, so that each program can verify what the other wrote; this module, the checksums and
//! the tests in `tests/fio_blocks.rs` follow it bit for bit. A block, or each interval of it, begins with a header
//! whose numbers are all little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0–1 | 0xacca |
//! | 2–3 | the method |
//! | 4–7 | bytes of the interval |
//! | 8–15 | fio: its random seed, 0 with a pattern; ours: of the place, see [`super::marks`] |
//! | 16–23 | the interval's offset in the file |
//! | 24–27, 28–31 | fio: time, seconds and nanoseconds; ours: 0 |
//! | 32–33 | fio: the thread, from 1; ours: 0 |
//! | 34–35 | fio: number of the write; ours: the generation |
//! | 36–39 | CRC-32C of bytes 0 to 35, not inverted |
//! | 40– | the sum over the rest of the interval ([`super::sums`]) |

use content::CheckMethod;

use super::sums;
use super::wrong_block::HeaderError;

/// Bytes of a header before its checksum.
pub(super) const HEAD_BYTES: usize = 40;
/// The longest header in bytes.
const HEADER_MAX: usize = HEAD_BYTES + sums::LONGEST;
const MAGIC: u16 = 0xACCA;

/// A header that was read or will be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) method: u16,
    pub(super) len: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) number: u16,
    pub(super) sum: [u8; sums::LONGEST],
}

impl Header {
    /// The header as stored in the block, followed by zeros.
    pub(super) fn bytes(&self) -> [u8; HEADER_MAX] {
        let mut out = [0; HEADER_MAX];
        out[..2].copy_from_slice(&MAGIC.to_le_bytes());
        out[2..4].copy_from_slice(&self.method.to_le_bytes());
        out[4..8].copy_from_slice(&self.len.to_le_bytes());
        out[8..16].copy_from_slice(&self.seed.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[34..36].copy_from_slice(&self.number.to_le_bytes());
        let sum = sum_of_head(&out);
        out[36..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        out[HEAD_BYTES..].copy_from_slice(&self.sum);
        out
    }

    /// Parses a header from at least [`HEAD_BYTES`] bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, HeaderError> {
        let field = |from: usize, to: usize| {
            bytes[from..to].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
        };
        if field(0, 2) != u64::from(MAGIC) {
            return Err(HeaderError::Magic(field(0, 2)));
        }
        let (made, found) = (sum_of_head(bytes), field(36, 40) as u32);
        if made != found {
            return Err(HeaderError::Sum { made, found });
        }
        let mut sum = [0; sums::LONGEST];
        sum[..bytes.len() - HEAD_BYTES].copy_from_slice(&bytes[HEAD_BYTES..]);
        Ok(Self {
            method: field(2, 4) as u16,
            len: field(4, 8) as u32,
            seed: field(8, 16),
            offset: field(16, 24),
            number: field(34, 36) as u16,
            sum,
        })
    }
}

/// The CRC-32C of a header's first 36 bytes, not inverted.
fn sum_of_head(bytes: &[u8]) -> u32 {
    !(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &bytes[..36]) as u32)
}

/// The method's number in headers.
pub(super) fn number_of(method: CheckMethod) -> u16 {
    match method {
        CheckMethod::Fresh | CheckMethod::Pattern | CheckMethod::Null => 0,
        CheckMethod::Meta => 1,
        CheckMethod::Md5 => 2,
        CheckMethod::Crc64 => 3,
        CheckMethod::Crc32 => 4,
        CheckMethod::Crc32c => 5,
        CheckMethod::Crc16 => 7,
        CheckMethod::Crc7 => 8,
        CheckMethod::Sha256 => 9,
        CheckMethod::Sha512 => 10,
        CheckMethod::Sha3_224 => 11,
        CheckMethod::Sha3_256 => 12,
        CheckMethod::Sha3_384 => 13,
        CheckMethod::Sha3_512 => 14,
        CheckMethod::Xxhash => 15,
        CheckMethod::Sha1 => 16,
        CheckMethod::PatternHeader => 17,
    }
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `1 byte differs`, `2 bytes differ`.
pub(super) fn differ(bytes: usize) -> String {
    if bytes == 1 { "1 byte differs".to_owned() } else { format!("{bytes} bytes differ") }
}

/// The method in words.
pub(super) fn name_of(method: CheckMethod) -> &'static str {
    match method {
        CheckMethod::Fresh => "content",
        CheckMethod::Meta => "meta",
        CheckMethod::Pattern => "pattern",
        CheckMethod::PatternHeader => "pattern with a header",
        CheckMethod::Md5 => "md5",
        CheckMethod::Crc64 => "crc64",
        CheckMethod::Crc32c => "crc32c",
        CheckMethod::Crc32 => "crc32",
        CheckMethod::Crc16 => "crc16",
        CheckMethod::Crc7 => "crc7",
        CheckMethod::Xxhash => "xxhash",
        CheckMethod::Sha1 => "sha1",
        CheckMethod::Sha256 => "sha256",
        CheckMethod::Sha512 => "sha512",
        CheckMethod::Sha3_224 => "sha3-224",
        CheckMethod::Sha3_256 => "sha3-256",
        CheckMethod::Sha3_384 => "sha3-384",
        CheckMethod::Sha3_512 => "sha3-512",
        CheckMethod::Null => "null",
    }
}
