//! Whom to trust at the other end of the management API.
//!
//! Arrays come from the factory with a certificate that they signed themselves. So every refusal here
//! remembers the fingerprint of the certificate that was shown, for the error to say how to pin it.

pub(super) use drivers::tls::ShownCertificate;
pub use drivers::tls::{Fingerprint, Trust};
use rustls::ClientConfig;

use crate::error::ProvisionError;

/// The TLS configuration for this trust, and where the shown certificate is noted.
pub(super) fn client_config(trust: &Trust) -> Result<(ClientConfig, ShownCertificate), ProvisionError> {
    let explain = |_: &str, _: Fingerprint, reason: &str| reason.to_owned();
    trust.client_config(explain).map_err(|error| ProvisionError::Input(error.to_string()))
}
