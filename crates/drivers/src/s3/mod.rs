//! S3 over HTTP/1.1, plain or through TLS, on the reactor's sockets.
//!
//! Each lane has a keep-alive connection of its own. A PUT's payload is generated straight into the buffer that
//! is sent, its beginning in the same send as the head; a GET's is looked at in the buffer it was received in, or
//! dropped in the kernel. Objects larger than `part_size` go up in parts, one after the other.
//!
//! # What is sent again
//! A request is sent again, all within the operation's deadline, when
//! * the server answered 429, 500, 502, 503 or 504, or with a code such as `SlowDown` or `InternalError`, also where the
//!   status of that answer was 200,
//! * the connection could not be made, or was reset or closed before the answer's head was complete, or was reset
//!   inside the body.
//!
//! The pauses are those of the AWS SDKs' standard mode: before the *n*-th repetition a random part of 50 ms × 2^(*n* − 1),
//! or of 1 s × 2^(*n* − 1) when the server asked for less load (429, 503), at most 20 s; three repetitions. A server that
//! says by `Retry-After` when to come back is asked again then, until the deadline. No pause is made when a connection
//! that had already served a request is closed before the first byte of an answer: the server has then closed it for
//! being idle (RFC 9112 section 9.3.1). Every repetition is counted in [`crate::Done::retries`] or
//! [`crate::OpError::retries`] and in [`crate::SessionFacts::retries`]; every connection that was lost and made anew in
//! [`crate::SessionFacts::reconnects`], which leaves out those that the server closed in good order after an answer
//! (`Connection: close`, HTTP/1.0). A body that ends short of its Content-Length with an orderly close is not asked for
//! again: it is an error of its own, `wrong-length`.
//!
//! A redirect (307, 308) to another path of the same server is followed, at most three times a request.

mod acknowledge;
mod admin;
mod answer;
mod blocks;
mod config;
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
mod tls;

pub use config::{Endpoint, EndpointError, PayloadSigning, S3Config};
pub use credentials::{Credentials, CredentialsError, Secret, region_in};
pub use driver::S3Driver;
pub use remove::Removed;
pub use session::S3Session;
pub use tls::TlsConfig;

pub use crate::tls::{Fingerprint, Trust};
