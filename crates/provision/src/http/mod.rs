//! Single HTTP exchanges with a management API: address, TLS, request, response, timeout.

mod address;
mod exchange;
mod tls;

pub(crate) use address::Address;
pub(crate) use exchange::{Answer, Request, Transport};
pub use tls::{Fingerprint, Trust};
