//! AWS Signature Version 4 in headers, as S3 requires it.
//!
//! Based on "AWS Signature Version 4 for API requests" and "Authenticating Requests (AWS Signature Version 4)" of the
//! S3 API reference; checked against the published test suite and the examples of that reference. One request costs one
//! SHA-256 of the canonical request and one HMAC: the day's key and the scope are cached.

mod signer;
mod time;
mod uri;

pub use signer::{CanonicalRequest, EMPTY_SHA256, STREAMING_UNSIGNED_TRAILER, Signer, UNSIGNED_PAYLOAD};
pub use time::Timestamp;
pub(crate) use time::days_from_civil;
pub use uri::{canonical_query, encode_component, encode_path};
