//! Failures of one request, and the meaning of the server's errors.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use metrics::ErrorKind;
use wire::http1::HttpError;
use wire::s3::S3Error;

use super::redirect::Redirect;

/// Whether the request may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail the same way.
    Never,
    /// After a pause: the fault may be temporary.
    AfterPause,
    /// After a longer pause: the server asks for less load.
    Throttled,
    /// At once: the request crossed with the server's close of an idle connection.
    AtOnce,
}

/// Why one request failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) detail: String,
    pub(super) again: Again,
    /// The HTTP status, if there was a response.
    pub(super) status: Option<u16>,
    /// The wait requested by the server (Retry-After).
    pub(super) retry_after: Option<Duration>,
    /// Where on the same server to send the request instead.
    pub(super) redirect: Option<Box<Redirect>>,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            again: Again::Never,
            status: None,
            retry_after: None,
            redirect: None,
        }
    }

    /// The connection failed while `doing` something.
    pub(super) fn lost(doing: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::InvalidData {
            return Self::new(ErrorKind::Tls, format!("TLS failed {doing}: {error}"));
        }
        if let Some(kind) = local(error) {
            return Self::new(kind, format!("{doing}: {error}"));
        }
        Self {
            again: Again::AfterPause,
            ..Self::new(ErrorKind::ConnectionLost, format!("connection lost {doing}: {error}"))
        }
    }

    /// The connection could not be opened.
    pub(super) fn unreachable(error: &io::Error) -> Self {
        if let Some(kind) = local(error) {
            return Self::new(kind, format!("no connection: {error}"));
        }
        let kind = match error.kind() {
            io::ErrorKind::InvalidData => {
                return Self::new(ErrorKind::Tls, format!("TLS refused: {}", tls_reason(error)));
            }
            _ => ErrorKind::ConnectFailed,
        };
        Self { again: Again::AfterPause, ..Self::new(kind, format!("no connection: {error}")) }
    }

    /// The server refused. `code` is empty when there was no error body.
    pub(super) fn refused(answer: &Refusal<'_>) -> Self {
        Self { status: Some(answer.status), retry_after: answer.retry_after, ..Self::meaning(answer) }
    }

    /// The failure of a part of a request, which the server reports by its code alone.
    pub(super) fn of_code(code: &str) -> Self {
        let error = S3Error { code: code.to_owned(), ..S3Error::default() };
        Self::meaning(&Refusal {
            status: 200,
            error: &error,
            region: None,
            location: None,
            retry_after: None,
            server_time: None,
            now: UNIX_EPOCH,
        })
    }

    fn meaning(answer: &Refusal<'_>) -> Self {
        let S3Error { code, region, endpoint, .. } = answer.error;
        let status = answer.status;
        let said = answer.said();
        let new = |kind, hint: &str| Self::new(kind, format!("{said}{hint}"));
        let region = if region.is_empty() { answer.region } else { Some(region.as_str()) };
        match (status, code.as_str()) {
            (_, "RequestTimeTooSkewed") => new(ErrorKind::AccessDenied, &answer.skew()),
            (_, "InvalidAccessKeyId" | "XAdminUserNotFound") => {
                new(ErrorKind::AccessDenied, ": the server does not know this access key")
            }
            (_, "SignatureDoesNotMatch") => new(
                ErrorKind::AccessDenied,
                ": the secret key is not that of this access key, or a proxy changed the request",
            ),
            (_, "ExpiredToken" | "InvalidToken") => new(ErrorKind::AccessDenied, ": get a new session token"),
            (301 | 302 | 307 | 308, _)
            | (_, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException")
                if region.is_some() || (300..400).contains(&status) =>
            {
                let place = match region {
                    Some(region) => format!(": the bucket is in region {region}; sign for that region"),
                    None if !endpoint.is_empty() => {
                        format!(": the bucket is at {endpoint}; use that endpoint")
                    }
                    None => match answer.location {
                        Some(location) => elsewhere(location),
                        None => ": the bucket is in another region".to_owned(),
                    },
                };
                new(ErrorKind::Rejected, &place)
            }
            (_, "NoSuchBucket") => new(ErrorKind::NotFound, ": the bucket does not exist"),
            (507, _)
            | (
                _,
                "QuotaExceeded"
                | "InsufficientStorage"
                | "InsufficientCapacity"
                | "StorageFull"
                | "XMinioStorageFull",
            ) => new(ErrorKind::NoSpace, ""),
            (_, "AccessDenied" | "AllAccessDisabled" | "AccountProblem" | "NotSignedUp") | (401 | 403, _) => {
                new(ErrorKind::AccessDenied, "")
            }
            (429 | 503, _) => Self { again: Again::Throttled, ..new(ErrorKind::Busy, "") },
            (_, code) if is_throttling(code) => Self { again: Again::Throttled, ..new(ErrorKind::Busy, "") },
            (404, _) => new(ErrorKind::NotFound, ""),
            (_, "BucketAlreadyExists" | "BucketAlreadyOwnedByYou") => new(ErrorKind::AlreadyExists, ""),
            (416, _) => new(ErrorKind::Length, ": the object is shorter than it should be"),
            (501, _) => new(ErrorKind::Rejected, ": the server does not support this request"),
            (500 | 502 | 504, _) | (_, "InternalError" | "RequestTimeout") => {
                Self { again: Again::AfterPause, ..new(ErrorKind::ServerFault, "") }
            }
            (500..=599, _) => new(ErrorKind::ServerFault, ""),
            _ => new(ErrorKind::Rejected, ""),
        }
    }
}

/// The codes by which a service asks for less load, as in the AWS SDKs.
fn is_throttling(code: &str) -> bool {
    matches!(
        code,
        "SlowDown"
            | "SlowDownRead"
            | "SlowDownWrite"
            | "ServiceUnavailable"
            | "BandwidthLimitExceeded"
            | "LimitExceededException"
            | "PriorRequestNotComplete"
            | "RequestLimitExceeded"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "Throttling"
            | "ThrottlingException"
            | "TooManyRequestsException"
    )
}

/// Advice about a redirect to another server. Shows only the origin: a query may contain a signature.
fn elsewhere(location: &str) -> String {
    match location.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            format!(": redirected to {scheme}://{host}; if that is your storage, use it as the endpoint")
        }
        None => ": redirected to a place that cannot be read".to_owned(),
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let kind = match error {
            HttpError::BodyTruncated { .. } => ErrorKind::Length,
            _ => ErrorKind::Protocol,
        };
        Self::new(kind, error.to_string())
    }
}

/// A response other than the expected one.
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    pub(super) error: &'a S3Error,
    /// `x-amz-bucket-region`.
    pub(super) region: Option<&'a str>,
    /// `Location` of a redirect that is not followed.
    pub(super) location: Option<&'a str>,
    /// The wait requested by the server (Retry-After).
    pub(super) retry_after: Option<Duration>,
    /// The Date header, seconds since 1970.
    pub(super) server_time: Option<u64>,
    /// Our clock.
    pub(super) now: SystemTime,
}

impl Refusal<'_> {
    fn said(&self) -> String {
        if self.error.code.is_empty() {
            format!("HTTP status {}", self.status)
        } else {
            format!("HTTP status {}, {}", self.status, self.error)
        }
    }

    /// The difference between the clocks, in words.
    fn skew(&self) -> String {
        let ours = self.now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        match self.server_time {
            Some(theirs) if theirs > ours => {
                format!(": this machine's clock is {} s behind the server's; set it", theirs - ours)
            }
            Some(theirs) => {
                format!(": this machine's clock is {} s ahead of the server's; set it", ours - theirs)
            }
            None if !self.error.server_time.is_empty() => {
                format!(": the server's clock says {}; set this machine's", self.error.server_time)
            }
            None => ": this machine's clock and the server's differ; set it".to_owned(),
        }
    }
}

/// Errors of this machine: out of descriptors, memory or ports, or permission denied.
fn local(error: &io::Error) -> Option<ErrorKind> {
    // EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL, EPERM, EACCES
    match error.raw_os_error() {
        Some(24 | 23 | 12 | 105 | 99 | 1 | 13) => Some(ErrorKind::Local),
        _ => None,
    }
}

/// The verifier's own words, without the library's prefix.
fn tls_reason(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::General(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}
