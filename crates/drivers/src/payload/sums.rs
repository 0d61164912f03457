//! The checksums in block headers, which do not always match their names: the format ([`super::header`]) has them like
//! this, as an analysis of blocks shows (`tests/data/fio`):
//!
//! | method | content of the header |
//! |---|---|
//! | md5, sha3-* | the digest |
//! | sha1 | the digest, its five words little endian |
//! | sha256 | 64 bytes: the last block of the padded message, with its length little endian, over whose first 8 bytes the low bytes of the eight state words are written |
//! | sha512 | 128 bytes, no digest: the message's first 128, over whose beginning those of an incomplete last block are written |
//! | crc64 | polynomial 0xad93d23594c935a9, reflected, from 0 |
//! | crc32c | CRC-32C without the inversion at the end |
//! | crc32 | polynomial 0x04c11db7, not reflected, from 0, not inverted |
//! | crc16 | CRC-16/ARC |
//! | crc7 | CRC-7/MMC |
//! | xxhash | XXH32, seed 1 |

use content::CheckMethod;
use crc_fast::CrcAlgorithm;
use md5::Digest;
use sha2::block_api::compress256;

/// Length of the longest checksum, in bytes.
pub(super) const LONGEST: usize = 128;
/// Initial state of SHA-256 (FIPS 180-4, 5.3.3).
const SHA256_START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
/// CRC-7/MMC, one byte at a time, with the seven bits at the top.
static CRC7: [u8; 256] = crc7_table();

/// A checksum in progress.
pub(super) enum Sum {
    Nothing,
    Md5(md5::Md5),
    Crc(crc_fast::Digest, u64),
    Crc7(u8),
    Xxhash(xxhash_rust::xxh32::Xxh32),
    Sha1(sha1::Sha1),
    Sha256(Box<LastBlock<64>>),
    Sha512(Box<LastBlock<128>>),
    Sha3x224(sha3::Sha3_224),
    Sha3x256(sha3::Sha3_256),
    Sha3x384(sha3::Sha3_384),
    Sha3x512(sha3::Sha3_512),
}

/// Bytes of a method's checksum in the header.
pub(super) const fn len_of(method: CheckMethod) -> usize {
    method.header_bytes().saturating_sub(super::header::HEAD_BYTES)
}

impl Sum {
    /// The checksum of no data yet.
    pub(super) fn new(method: CheckMethod) -> Self {
        let crc = |algorithm, inverted| Self::Crc(crc_fast::Digest::new(algorithm), inverted);
        match method {
            CheckMethod::Md5 => Self::Md5(md5::Md5::new()),
            CheckMethod::Crc64 => crc(CrcAlgorithm::Crc64Redis, 0),
            CheckMethod::Crc32c => crc(CrcAlgorithm::Crc32Iscsi, 0xFFFF_FFFF),
            CheckMethod::Crc32 => crc(CrcAlgorithm::Crc32Cksum, 0xFFFF_FFFF),
            CheckMethod::Crc16 => crc(CrcAlgorithm::Crc16Arc, 0),
            CheckMethod::Crc7 => Self::Crc7(0),
            CheckMethod::Xxhash => Self::Xxhash(xxhash_rust::xxh32::Xxh32::new(1)),
            CheckMethod::Sha1 => Self::Sha1(sha1::Sha1::new()),
            CheckMethod::Sha256 => Self::Sha256(Box::new(LastBlock::new())),
            CheckMethod::Sha512 => Self::Sha512(Box::new(LastBlock::new())),
            CheckMethod::Sha3_224 => Self::Sha3x224(sha3::Sha3_224::new()),
            CheckMethod::Sha3_256 => Self::Sha3x256(sha3::Sha3_256::new()),
            CheckMethod::Sha3_384 => Self::Sha3x384(sha3::Sha3_384::new()),
            CheckMethod::Sha3_512 => Self::Sha3x512(sha3::Sha3_512::new()),
            CheckMethod::Fresh
            | CheckMethod::Meta
            | CheckMethod::Pattern
            | CheckMethod::PatternHeader
            | CheckMethod::Null => Self::Nothing,
        }
    }

    /// Adds the next bytes.
    pub(super) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Nothing => {}
            Self::Md5(sum) => sum.update(data),
            Self::Crc(sum, _) => sum.update(data),
            Self::Crc7(sum) => {
                *sum = data.iter().fold(*sum, |sum, byte| CRC7[usize::from(sum ^ byte)]);
            }
            Self::Xxhash(sum) => sum.update(data),
            Self::Sha1(sum) => sum.update(data),
            Self::Sha256(sum) => sum.update(data, true),
            Self::Sha512(sum) => sum.update(data, false),
            Self::Sha3x224(sum) => sum.update(data),
            Self::Sha3x256(sum) => sum.update(data),
            Self::Sha3x384(sum) => sum.update(data),
            Self::Sha3x512(sum) => sum.update(data),
        }
    }

    /// The checksum as stored in the header, followed by zeros.
    pub(super) fn finish(self) -> [u8; LONGEST] {
        let mut out = [0; LONGEST];
        let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
        match self {
            Self::Nothing => {}
            Self::Md5(sum) => put(&sum.finalize()),
            Self::Crc(sum, inverted) => put(&(sum.finalize() ^ inverted).to_le_bytes()),
            Self::Crc7(sum) => put(&[sum >> 1]),
            Self::Xxhash(sum) => put(&sum.digest().to_le_bytes()),
            Self::Sha1(sum) => {
                let mut digest = sum.finalize();
                digest.chunks_mut(4).for_each(<[u8]>::reverse);
                put(&digest);
            }
            Self::Sha256(sum) => put(&sum.into_sha256()),
            Self::Sha512(sum) => put(&sum.into_overlaid()),
            Self::Sha3x224(sum) => put(&sum.finalize()),
            Self::Sha3x256(sum) => put(&sum.finalize()),
            Self::Sha3x384(sum) => put(&sum.finalize()),
            Self::Sha3x512(sum) => put(&sum.finalize()),
        }
        out
    }
}

/// The message in blocks: the first whole one, the current one, and a SHA-256 over the whole ones.
pub(super) struct LastBlock<const LEN: usize> {
    first: [u8; LEN],
    block: [u8; LEN],
    len: u64,
    state: [u32; 8],
}

impl<const LEN: usize> LastBlock<LEN> {
    fn new() -> Self {
        Self { first: [0; LEN], block: [0; LEN], len: 0, state: SHA256_START }
    }

    fn update(&mut self, mut data: &[u8], compress: bool) {
        while !data.is_empty() {
            let at = (self.len % LEN as u64) as usize;
            let (piece, rest) = data.split_at((LEN - at).min(data.len()));
            self.block[at..at + piece.len()].copy_from_slice(piece);
            self.len += piece.len() as u64;
            data = rest;
            if self.len == LEN as u64 {
                self.first = self.block;
            }
            if compress && at + piece.len() == LEN {
                self.compress();
            }
        }
    }

    fn compress(&mut self) {
        if let Ok(block) = <[u8; 64]>::try_from(&self.block[..]) {
            compress256(&mut self.state, &[block]);
        }
    }

    fn into_overlaid(mut self) -> [u8; LEN] {
        let rest = (self.len % LEN as u64) as usize;
        self.first[..rest].copy_from_slice(&self.block[..rest]);
        self.first
    }
}

impl LastBlock<64> {
    fn into_sha256(mut self) -> [u8; 64] {
        let bits = (self.len * 8).to_le_bytes();
        let rest = (self.len % 64) as usize;
        self.block[rest] = 0x80;
        self.block[rest + 1..].fill(0);
        if rest >= 56 {
            self.compress();
            self.block.fill(0);
        }
        self.block[56..].copy_from_slice(&bits);
        self.compress();
        let mut out = self.block;
        for (out, word) in out.iter_mut().zip(self.state) {
            *out = word as u8;
        }
        out
    }
}

const fn crc7_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        let mut sum = at as u8;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum << 1) ^ (if sum & 0x80 != 0 { 0x09 << 1 } else { 0 });
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
}
