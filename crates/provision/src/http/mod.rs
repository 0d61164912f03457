//! One HTTP exchange at a time with a management API: address, TLS, request, answer, deadline.

mod address;
mod exchange;
mod tls;

pub(crate) use address::Address;
pub(crate) use exchange::{Answer, Request, Transport};
pub use tls::{Fingerprint, Trust};
