//! The signature itself.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::Timestamp;

/// `x-amz-content-sha256` of an unsigned payload.
pub const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";
/// `x-amz-content-sha256` of an unsigned `aws-chunked` payload with a checksum in its trailer.
pub const STREAMING_UNSIGNED_TRAILER: &str = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
/// SHA-256 of empty input, in hexadecimal.
pub const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A request in the form that is signed. The request that is sent must match it.
#[derive(Clone, Copy, Debug)]
pub struct CanonicalRequest<'a> {
    /// `GET`, `PUT` and so on.
    pub method: &'a str,
    /// The path, encoded by [`super::encode_path`], from its first slash.
    pub path: &'a str,
    /// The query built by [`super::canonical_query`].
    pub query: &'a str,
    /// The headers to sign: lower-case names in ascending order, values trimmed.
    pub headers: &'a [(&'a str, &'a str)],
    /// The value of `x-amz-content-sha256`: a digest in hexadecimal or one of the constants of this module.
    pub payload_hash: &'a str,
}

/// Signs one user's requests to one region. Holds the secret key: its `Debug` shows only the access key.
#[derive(Clone)]
pub struct Signer {
    access_key: String,
    secret_prefixed: Vec<u8>,
    region: String,
    service: String,
    now: Timestamp,
    now_unix: u64,
    day: [u8; 8],
    key: Hmac<Sha256>,
    scope: String,
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer")
            .field("access_key", &self.access_key)
            .field("region", &self.region)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// A signer for `service` (`s3`) in `region`. Its clock is 1970 until [`Self::set_time`].
    pub fn new(access_key: &str, secret_key: &str, region: &str, service: &str) -> Self {
        let mut secret_prefixed = b"AWS4".to_vec();
        secret_prefixed.extend_from_slice(secret_key.as_bytes());
        let now = Timestamp::from_unix(0);
        let mut signer = Self {
            access_key: access_key.to_owned(),
            key: keyed(&secret_prefixed),
            secret_prefixed,
            region: region.to_owned(),
            service: service.to_owned(),
            now,
            now_unix: 0,
            day: *b"        ",
            scope: String::new(),
            scratch: Vec::with_capacity(2048),
        };
        signer.set_time(0);
        signer
    }

    /// Sets the time for which requests are signed, in seconds since 1970. Within one second this costs a comparison,
    /// within one day formatting a date, and once per day deriving a key.
    pub fn set_time(&mut self, unix_seconds: u64) {
        if unix_seconds == self.now_unix && self.day != *b"        " {
            return;
        }
        self.now_unix = unix_seconds;
        self.now = Timestamp::from_unix(unix_seconds);
        if self.now.day().as_bytes() == self.day {
            return;
        }
        self.day.copy_from_slice(self.now.day().as_bytes());
        let mut key = mac(keyed(&self.secret_prefixed), &self.day);
        for part in [self.region.as_bytes(), self.service.as_bytes(), b"aws4_request"] {
            key = mac(keyed(&key), part);
        }
        self.key = keyed(&key);
        self.scope = format!("{}/{}/{}/aws4_request", self.now.day(), self.region, self.service);
    }

    /// The time for which requests are signed: the value of `x-amz-date`.
    pub const fn time(&self) -> &Timestamp {
        &self.now
    }

    /// Appends the value of the Authorization header.
    pub fn authorization(&mut self, request: &CanonicalRequest<'_>, out: &mut Vec<u8>) {
        let signature = self.signature(request);
        for part in ["AWS4-HMAC-SHA256 Credential=", &self.access_key, "/", &self.scope, ",SignedHeaders="] {
            out.extend_from_slice(part.as_bytes());
        }
        push_names(request.headers, out);
        out.extend_from_slice(b",Signature=");
        out.extend_from_slice(&signature);
    }

    /// The signature, in hexadecimal.
    pub fn signature(&mut self, request: &CanonicalRequest<'_>) -> [u8; 64] {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        for part in [request.method, request.path, request.query] {
            text.extend_from_slice(part.as_bytes());
            text.push(b'\n');
        }
        for (name, value) in request.headers {
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
            text.push(b'\n');
        }
        text.push(b'\n');
        push_names(request.headers, &mut text);
        text.push(b'\n');
        text.extend_from_slice(request.payload_hash.as_bytes());
        let digest = crate::checksum::hex(&Sha256::digest(&text).into());

        text.clear();
        for part in ["AWS4-HMAC-SHA256\n", self.now.text(), "\n", &self.scope, "\n"] {
            text.extend_from_slice(part.as_bytes());
        }
        text.extend_from_slice(&digest);
        let signature = mac(self.key.clone(), &text);
        self.scratch = text;
        crate::checksum::hex(&signature)
    }
}

fn push_names(headers: &[(&str, &str)], out: &mut Vec<u8>) {
    for (index, (name, _)) in headers.iter().enumerate() {
        if index > 0 {
            out.push(b';');
        }
        out.extend_from_slice(name.as_bytes());
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn mac(mut keyed: Hmac<Sha256>, message: &[u8]) -> [u8; 32] {
    keyed.update(message);
    keyed.finalize().into_bytes().into()
}
