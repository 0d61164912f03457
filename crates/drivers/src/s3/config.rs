//! Configuration of an S3 target.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use wire::checksum::ChecksumKind;

use super::{Credentials, TlsConfig};
use crate::paths::Paths;

/// Scheme, host and port of an S3 service, as in `https://s3.example.org:9000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// TLS, as given by the scheme `https`.
    pub tls: bool,
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port; the default when the URL has none.
    pub port: u16,
}

/// An endpoint that cannot be parsed. The message shows the input and a valid form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("S3 endpoint \"{input}\": {reason}; write http://HOST[:PORT] or https://HOST[:PORT]")]
pub struct EndpointError {
    input: String,
    reason: &'static str,
}

impl Endpoint {
    /// The default port.
    pub const fn usual_port(tls: bool) -> u16 {
        if tls { 443 } else { 80 }
    }

    /// The Host header for this endpoint, or for a bucket's name in front of its host.
    pub(super) fn host_header(&self, bucket: Option<&str>) -> String {
        let mut out = String::new();
        if let Some(bucket) = bucket {
            out.push_str(bucket);
            out.push('.');
        }
        if self.host.parse::<Ipv6Addr>().is_ok() {
            out.push('[');
            out.push_str(&self.host);
            out.push(']');
        } else {
            out.push_str(&self.host);
        }
        if self.port != Self::usual_port(self.tls) {
            out.push(':');
            out.push_str(&self.port.to_string());
        }
        out
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.host_header(None))
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(input: &str) -> Result<Self, EndpointError> {
        let wrong = |reason| {
            // Text before an @ may be a password: it is not echoed.
            let shown = if input.contains('@') { "…" } else { input };
            EndpointError { input: shown.to_owned(), reason }
        };
        let (tls, rest) = match input.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return Err(wrong("the scheme is neither http nor https")),
            None => return Err(wrong("no scheme")),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#']) {
            return Err(wrong("there is something after the port"));
        }
        if rest.contains('@') {
            return Err(wrong("keys do not belong in a URL"));
        }
        let (host, port) = match rest.strip_prefix('[') {
            Some(inside) => {
                let (host, after) = inside.split_once(']').ok_or_else(|| wrong("no ] after the address"))?;
                host.parse::<Ipv6Addr>().map_err(|_| wrong("no IPv6 address between [ and ]"))?;
                match after.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None if after.is_empty() => (host, None),
                    None => return Err(wrong("no : before the port")),
                }
            }
            None => match rest.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(wrong("an IPv6 address needs [ and ]")),
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            },
        };
        if host.is_empty()
            || host.contains(|character: char| character.is_whitespace() || character.is_control())
        {
            return Err(wrong("no host name"));
        }
        let port = match port {
            Some(text) => text
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| wrong("the port is no number from 1 to 65535"))?,
            None => Self::usual_port(tls),
        };
        Ok(Self { tls, host: host.to_owned(), port })
    }
}

/// How the payload of a PUT is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadSigning {
    /// None (`UNSIGNED-PAYLOAD`): the cheapest, and sufficient with TLS.
    #[default]
    Unsigned,
    /// By its SHA-256 in the signature: 0.6 ms of CPU time per MiB, and the payload is generated twice.
    Signed,
    /// By a CRC-64/NVME in a trailer of an `aws-chunked` body.
    CrcTrailer,
    /// By a CRC-32C in a trailer of an `aws-chunked` body.
    Crc32cTrailer,
}

impl PayloadSigning {
    /// The checksum in the trailer, if any.
    pub(super) const fn trailer(self) -> Option<ChecksumKind> {
        match self {
            Self::Unsigned | Self::Signed => None,
            Self::CrcTrailer => Some(ChecksumKind::Crc64Nvme),
            Self::Crc32cTrailer => Some(ChecksumKind::Crc32c),
        }
    }
}

/// The name that is none of a [`PayloadSigning`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no way to sign payload: write unsigned, signed, crc64nvme or crc32c")]
pub struct UnknownSigning(pub String);

impl FromStr for PayloadSigning {
    type Err = UnknownSigning;

    fn from_str(text: &str) -> Result<Self, UnknownSigning> {
        match text {
            "unsigned" => Ok(Self::Unsigned),
            "signed" => Ok(Self::Signed),
            "crc" | "crc64nvme" => Ok(Self::CrcTrailer),
            "crc32c" => Ok(Self::Crc32cTrailer),
            other => Err(UnknownSigning(other.to_owned())),
        }
    }
}

/// The target of an [`super::S3Driver`].
#[derive(Clone, Debug)]
pub struct S3Config {
    /// The service. Its host name goes into the Host header and the TLS handshake.
    pub endpoint: Endpoint,
    /// Connect here instead of to the host name's addresses, for example to one data address of an array.
    pub connect_to: Option<SocketAddr>,
    /// Connect to these addresses instead, spreading connections evenly.
    pub addresses: Vec<SocketAddr>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// The bucket.
    pub bucket: String,
    /// Prefix of our keys, without its final slash; never empty, so that nothing else is ever removed.
    pub prefix: String,
    /// The region used in signatures.
    pub region: String,
    /// The bucket in the path instead of in the host name.
    pub path_style: bool,
    /// The access keys.
    pub credentials: Credentials,
    /// How payload is protected.
    pub payload_signing: PayloadSigning,
    /// Which certificates to trust, for `https`.
    pub tls: TlsConfig,
    /// Objects larger than this are uploaded in parts of this size, in bytes; at least 5 MiB (S3's own limit).
    pub part_size: u64,
    /// Number of last hexadecimal digits of an object's number that come before it in its key, as a common prefix: with
    /// 2, `PREFIX/0f/000000000000000f`. 0 for none.
    pub prefix_digits: u32,
    /// Whether objects larger than `part_size` may be written, by this program or by an earlier user of the prefix;
    /// true when unknown. If not, no unfinished upload can be left behind.
    pub may_put_parts: bool,
    /// Timeout of one request of the helper functions (bucket checks, listing, removal).
    pub control_timeout: Duration,
    /// Seed for the jitter between retries.
    pub retry_seed: u64,
    /// Each block is an object of its own: a write to a file creates the object `NAME_OFFSET_LENGTH`, a read gets it, a
    /// trim deletes it. Maps file numbers to their names within the bucket.
    pub blocks: Option<BTreeMap<u64, String>>,
}

impl S3Config {
    /// A target with default settings: `us-east-1`, path style, unsigned payload, the system's root certificates, parts
    /// of 64 MiB.
    pub fn new(endpoint: Endpoint, bucket: &str, prefix: &str, credentials: Credentials) -> Self {
        Self {
            endpoint,
            connect_to: None,
            addresses: Vec::new(),
            paths: Paths::default(),
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            region: "us-east-1".to_owned(),
            path_style: true,
            credentials,
            payload_signing: PayloadSigning::default(),
            tls: TlsConfig::default(),
            part_size: 64 << 20,
            prefix_digits: 0,
            may_put_parts: true,
            control_timeout: Duration::from_secs(30),
            retry_seed: 0,
            blocks: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_there_and_back() {
        for (input, host, port, tls, shown) in [
            ("http://h", "h", 80, false, "http://h"),
            ("https://h/", "h", 443, true, "https://h"),
            ("http://127.0.0.1:9000", "127.0.0.1", 9000, false, "http://127.0.0.1:9000"),
            ("https://[::1]:443", "::1", 443, true, "https://[::1]"),
            ("http://[2001:db8::1]", "2001:db8::1", 80, false, "http://[2001:db8::1]"),
        ] {
            let endpoint: Endpoint = input.parse().unwrap();
            assert_eq!((&*endpoint.host, endpoint.port, endpoint.tls), (host, port, tls), "{input}");
            assert_eq!(endpoint.to_string(), shown);
        }
        let endpoint: Endpoint = "http://s3.example:9000".parse().unwrap();
        assert_eq!(endpoint.host_header(Some("bucket")), "bucket.s3.example:9000");
    }

    #[test]
    fn wrong_endpoints_name_the_input() {
        for input in [
            "",
            "h:80",
            "ftp://h",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:99999",
            "http://h/b",
            "http://::1",
            "http://[::1",
            "http://[x]",
            "http://[::1]9",
            "http://a b",
        ] {
            let error = input.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains(&format!("\"{input}\"")) && error.contains("write http://"), "{error}");
        }
        let error = "http://key:hunter2@h".parse::<Endpoint>().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn ways_to_sign() {
        assert_eq!("crc32c".parse(), Ok(PayloadSigning::Crc32cTrailer));
        assert_eq!("unsigned".parse(), Ok(PayloadSigning::Unsigned));
        assert!("md5".parse::<PayloadSigning>().unwrap_err().to_string().contains("\"md5\""));
    }
}
