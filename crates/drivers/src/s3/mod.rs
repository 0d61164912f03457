//! S3 over HTTP/1.1, plain or through TLS, on the reactor's sockets.
//!
//! Each lane has a keep-alive connection of its own. A PUT's payload is generated straight into the buffer that
//! is sent, its beginning in the same send as the head; a GET's is looked at in the buffer it was received in, or
//! dropped in the kernel. Objects larger than `part_size` go up in parts, one after the other.
//!
//! # What is sent again
//! A request is sent up to 3 times more, all within the operation's deadline, when
//! * the server answered 503 or 429, or with the code `SlowDown` or a like one,
//! * the connection could not be made, or was reset or closed before the answer's head was complete, or was reset
//!   inside the body.
//!
//! Before try *n* + 1 there is a pause of 50 ms × 2^(*n* − 1), times a factor between 0.5 and 1.5 that comes from
//! the seed. No pause is made when a connection that had already served a request is closed before the first byte of
//! an answer: the server has then closed it for being idle (RFC 9112 section 9.3.1). Every repetition is counted in
//! [`crate::Done::retries`] or [`crate::OpError::retries`] and in [`crate::SessionFacts::retries`]; every
//! connection that was made anew in [`crate::SessionFacts::reconnects`]. A body that ends short of its
//! Content-Length with an orderly close is not asked for again: it is an error of its own, `wrong-length`.

mod admin;
mod answer;
mod blocks;
mod config;
mod credentials;
mod driver;
mod exchange;
mod failure;
mod join;
mod lane;
mod link;
mod multi;
mod request;
mod session;
mod tls;
mod tls_link;

pub use admin::Removed;
pub use config::{Endpoint, EndpointError, PayloadSigning, S3Config};
pub use credentials::{Credentials, CredentialsError, Secret, region_from_environment};
pub use driver::S3Driver;
pub use session::S3Session;
pub use tls::{Fingerprint, TlsConfig, Trust};
