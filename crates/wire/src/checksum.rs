//! Payload checksums by their S3 names: CRC-64/NVME, CRC-32C, SHA-256 and MD5.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest;

/// A checksum that S3 accepts in a header or a trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumKind {
    /// CRC-64/NVME, the one that S3 computes by default.
    Crc64Nvme,
    /// CRC-32C (Castagnoli, as in iSCSI).
    Crc32c,
}

impl ChecksumKind {
    /// The header or trailer that carries it.
    pub const fn header(self) -> &'static str {
        match self {
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Crc32c => "x-amz-checksum-crc32c",
        }
    }

    /// Its length in base64 characters.
    pub const fn base64_len(self) -> usize {
        match self {
            Self::Crc64Nvme => 12,
            Self::Crc32c => 8,
        }
    }

    const fn algorithm(self) -> crc_fast::CrcAlgorithm {
        match self {
            Self::Crc64Nvme => crc_fast::CrcAlgorithm::Crc64Nvme,
            Self::Crc32c => crc_fast::CrcAlgorithm::Crc32Iscsi,
        }
    }
}

/// Length of the longest checksum in base64 characters.
pub const MAX_BASE64_LEN: usize = 12;

/// An incremental checksum.
#[derive(Clone, Debug)]
pub struct Checksum {
    kind: ChecksumKind,
    digest: crc_fast::Digest,
}

impl Checksum {
    /// The checksum of no data.
    pub fn new(kind: ChecksumKind) -> Self {
        Self { kind, digest: crc_fast::Digest::new(kind.algorithm()) }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, data: &[u8]) {
        self.digest.update(data);
    }

    /// The checksum so far, in base64 of its big-endian bytes, as S3 writes it.
    pub fn base64(&self) -> String {
        self.base64_in(&mut [0; MAX_BASE64_LEN]).to_owned()
    }

    /// Like [`Self::base64`], written into the caller's buffer.
    pub fn base64_in<'r>(&self, room: &'r mut [u8; MAX_BASE64_LEN]) -> &'r str {
        let value = self.digest.finalize().to_be_bytes();
        let value = match self.kind {
            ChecksumKind::Crc64Nvme => &value[..],
            ChecksumKind::Crc32c => &value[4..],
        };
        let len = STANDARD.encode_slice(value, room).expect("12 characters hold 8 bytes");
        std::str::from_utf8(&room[..len]).expect("base64 is ASCII")
    }
}

/// An incremental SHA-256, for signed payloads.
#[derive(Clone, Debug, Default)]
pub struct Sha256(sha2::Sha256);

impl Sha256 {
    /// The digest of no data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// The digest in hexadecimal.
    pub fn hex(self) -> [u8; 64] {
        hex(&self.0.finalize().into())
    }
}

/// Length of a Content-MD5 header, in bytes.
pub const CONTENT_MD5_LEN: usize = 24;

/// The Content-MD5 header of a body (RFC 1864), which S3 requires with batch deletes and tags. Written into the caller's
/// buffer.
pub fn content_md5<'r>(body: &[u8], room: &'r mut [u8; CONTENT_MD5_LEN]) -> &'r str {
    let len = STANDARD.encode_slice(md5::Md5::digest(body), room).expect("24 characters hold 16 bytes");
    std::str::from_utf8(&room[..len]).expect("base64 is ASCII")
}

/// 32 bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 64];
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_catalogue() {
        // The check values of the CRC catalogue, over the digits 1 to 9, in base64.
        let of = |kind| {
            let mut sum = Checksum::new(kind);
            sum.update(b"1234");
            sum.update(b"56789");
            sum.base64()
        };
        assert_eq!(of(ChecksumKind::Crc32c), STANDARD.encode(0xe306_9283_u32.to_be_bytes()));
        assert_eq!(of(ChecksumKind::Crc64Nvme), STANDARD.encode(0xae8b_1486_0a79_9888_u64.to_be_bytes()));
        for kind in [ChecksumKind::Crc32c, ChecksumKind::Crc64Nvme] {
            assert_eq!(of(kind).len(), kind.base64_len());
        }
    }

    #[test]
    fn digests_of_nothing() {
        assert_eq!(&Sha256::new().hex(), crate::sigv4::EMPTY_SHA256.as_bytes());
        assert_eq!(content_md5(b"", &mut [0; CONTENT_MD5_LEN]), "1B2M2Y8AsgTpgAmY7PhCfg==");
    }
}
