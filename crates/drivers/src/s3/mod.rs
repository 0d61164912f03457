//! S3 over HTTP/1.1, plain or TLS, on the reactor's sockets.
//!
//! Each lane has a keep-alive connection of its own. A PUT's payload is generated directly in the send buffer, and its
//! start is sent together with the head; a GET's is verified in the receive buffer, or discarded in the kernel. Objects
//! larger than `part_size` are uploaded in parts, one after another.
//!
//! # Retries
//! A request is retried, always within the operation's deadline, when
//! * the server answered 429, 500, 502, 503 or 504, or with a code such as `SlowDown` or `InternalError`, even if the
//!   status of that response was 200,
//! * the connection could not be opened, was reset or closed before the response's head was complete, or was reset
//!   inside the body.
//!
//! The pauses are those of the AWS SDKs' standard mode: before the *n*-th retry a random part of 50 ms × 2^(*n* − 1),
//! or of 1 s × 2^(*n* − 1) when the server asked for less load (429, 503), at most 20 s; three retries. If the server
//! sends `Retry-After`, the request is retried at that time, until the deadline. There is no pause when a connection
//! that had already served a request is closed before the first byte of a response: the server then closed it as idle
//! (RFC 9112 section 9.3.1). Every retry is counted in [`crate::Done::retries`] or [`crate::OpError::retries`] and in
//! [`crate::SessionFacts::retries`]; every connection that was lost and reopened in
//! [`crate::SessionFacts::reconnects`], except those that the server closed in good order after a response
//! (`Connection: close`, HTTP/1.0). A body that ends short of its Content-Length with an orderly close is not retried:
//! it is an error of its own, `wrong-length`.
//!
//! A redirect (307, 308) to another path of the same server is followed, at most three times per request.

mod acknowledge;
mod addressing;
mod admin;
mod answer;
mod batch;
mod blocks;
mod config;
mod copy;
mod credentials;
mod driver;
mod exchange;
mod failure;
mod lane;
mod multi;
mod redirect;
mod remove;
mod request;
mod retry;
mod send;
mod session;
mod tagging;
mod tls;

pub use config::{Endpoint, EndpointError, PayloadSigning, S3Config, UnknownSigning};
pub use credentials::{Credentials, CredentialsError, region_in};
pub use driver::S3Driver;
pub use remove::Removed;
pub use session::S3Session;
pub use tls::TlsConfig;

pub use crate::tls::{Fingerprint, Trust};
