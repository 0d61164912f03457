//! Checksums sent by clients, in headers or in the trailer of an aws-chunked body.

use hyper::HeaderMap;
use s3s::checksum::ChecksumHasher;
use s3s::dto::Checksum;
use s3s::{S3Result, TrailingHeaders, s3_error};

const CRC32: &str = "x-amz-checksum-crc32";
const CRC32C: &str = "x-amz-checksum-crc32c";
const CRC64NVME: &str = "x-amz-checksum-crc64nvme";
const SHA1: &str = "x-amz-checksum-sha1";
const SHA256: &str = "x-amz-checksum-sha256";

/// Checksums in progress, and their expected values from the headers.
pub(super) struct Checks {
    hasher: ChecksumHasher,
    wanted: Checksum,
    idle: bool,
}

impl Checks {
    /// The checksums announced in a request's headers.
    pub(super) fn announced(headers: &HeaderMap) -> Self {
        let given = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let trailer = given("x-amz-trailer").unwrap_or_default().to_ascii_lowercase();
        let due = |name: &str| trailer.split(',').any(|word| word.trim() == name);
        let wanted = Checksum {
            checksum_crc32: given(CRC32),
            checksum_crc32c: given(CRC32C),
            checksum_crc64nvme: given(CRC64NVME),
            checksum_sha1: given(SHA1),
            checksum_sha256: given(SHA256),
            checksum_type: None,
        };
        let mut hasher = ChecksumHasher::default();
        if wanted.checksum_crc32.is_some() || due(CRC32) {
            hasher.crc32 = Some(s3s::crypto::Checksum::new());
        }
        if wanted.checksum_crc32c.is_some() || due(CRC32C) {
            hasher.crc32c = Some(s3s::crypto::Checksum::new());
        }
        if wanted.checksum_crc64nvme.is_some() || due(CRC64NVME) {
            hasher.crc64nvme = Some(s3s::crypto::Checksum::new());
        }
        if wanted.checksum_sha1.is_some() || due(SHA1) {
            hasher.sha1 = Some(s3s::crypto::Checksum::new());
        }
        if wanted.checksum_sha256.is_some() || due(SHA256) {
            hasher.sha256 = Some(s3s::crypto::Checksum::new());
        }
        let idle = hasher.crc32.is_none()
            && hasher.crc32c.is_none()
            && hasher.crc64nvme.is_none()
            && hasher.sha1.is_none()
            && hasher.sha256.is_none();
        Self { hasher, wanted, idle }
    }

    /// Adds bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        if !self.idle {
            self.hasher.update(bytes);
        }
    }

    /// Compares with the values in the headers or the trailer.
    ///
    /// # Errors
    /// `BadDigest` if one differs, `InvalidRequest` if an announced one is missing.
    pub(super) fn finish(self, trailers: Option<&TrailingHeaders>) -> S3Result<Checksum> {
        let trailing = |name: &str| {
            let value =
                |map: &HeaderMap| map.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            trailers.and_then(|trailers| trailers.read(value)).flatten()
        };
        let sums = self.hasher.finalize();
        let pairs = [
            (CRC32, &sums.checksum_crc32, self.wanted.checksum_crc32),
            (CRC32C, &sums.checksum_crc32c, self.wanted.checksum_crc32c),
            (CRC64NVME, &sums.checksum_crc64nvme, self.wanted.checksum_crc64nvme),
            (SHA1, &sums.checksum_sha1, self.wanted.checksum_sha1),
            (SHA256, &sums.checksum_sha256, self.wanted.checksum_sha256),
        ];
        for (name, found, in_header) in pairs {
            let Some(found) = found else { continue };
            match in_header.or_else(|| trailing(name)) {
                Some(wanted) if &wanted == found => {}
                Some(_) => {
                    return Err(s3_error!(BadDigest, "The checksum {name} did not match what we received."));
                }
                None => return Err(s3_error!(InvalidRequest, "The trailer {name} is missing.")),
            }
        }
        Ok(sums)
    }
}
