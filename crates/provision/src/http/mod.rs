//! Single HTTP exchanges with a management API: address, TLS, request, response, timeout.

mod address;
mod exchange;
mod json_url;
mod tls;

pub(crate) use address::Address;
pub(crate) use exchange::{Answer, Request, Transport};
pub use json_url::{JsonUrl, JsonUrlError};
pub use tls::{Fingerprint, Trust};
