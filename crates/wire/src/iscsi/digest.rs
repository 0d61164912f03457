//! Header and data digests: CRC32C over what precedes them, least significant byte first (RFC 7143, 13.1).

use super::DIGEST_BYTES;

/// An incremental digest.
#[derive(Clone, Debug)]
pub struct Crc32c(crc_fast::Digest);

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

impl Crc32c {
    /// The digest of no data.
    pub fn new() -> Self {
        Self(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// The digest of some bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
        (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
    }

    /// Adds bytes.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest so far, as it travels.
    #[inline]
    pub fn value(&self) -> [u8; DIGEST_BYTES] {
        (self.0.finalize() as u32).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7143, appendix A.4.
    #[test]
    fn examples_of_the_rfc() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        for (bytes, digest) in [
            (&[0; 32][..], [0xaa, 0x36, 0x91, 0x8a]),
            (&[0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
            (&rising, [0x4e, 0x79, 0xdd, 0x46]),
            (&falling, [0x5c, 0xdb, 0x3f, 0x11]),
        ] {
            assert_eq!(Crc32c::of(bytes), digest);
            let mut parts = Crc32c::new();
            bytes.chunks(5).for_each(|part| parts.update(part));
            assert_eq!(parts.value(), digest);
        }
    }
}
