//! Single HTTP exchanges with a management API: address, TLS, request, response, timeout.

mod address;
mod exchange;
mod post_url;
mod tls;

pub(crate) use address::Address;
pub(crate) use exchange::{Answer, Payload, Request, Transport};
pub use post_url::{PostUrl, PostUrlError};
pub use tls::{Fingerprint, Trust};
