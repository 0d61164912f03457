//! TLS trust for the management API.
//!
//! Arrays ship with a self-signed certificate. Every rejection therefore records the fingerprint of the presented
//! certificate, so that the error can say how to pin it.

pub(super) use drivers::tls::ShownCertificate;
pub use drivers::tls::{Fingerprint, Trust};
use rustls::ClientConfig;

use crate::error::ProvisionError;

/// The TLS configuration for this trust, and where the presented certificate is recorded.
pub(super) fn client_config(trust: &Trust) -> Result<(ClientConfig, ShownCertificate), ProvisionError> {
    let explain = |_: &str, _: Fingerprint, reason: &str| reason.to_owned();
    trust.client_config(explain).map_err(|error| ProvisionError::Input(error.to_string()))
}
