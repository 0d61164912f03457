//! TLS for S3.

use std::sync::Arc;

use metrics::ErrorKind;
use rustls::ClientConfig;

use crate::DriverError;
use crate::tls::{Fingerprint, Trust};

/// The TLS settings of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// Which certificates are accepted.
    pub trust: Trust,
}

/// Creates the client configuration for the handshake.
///
/// # Errors
/// The CA file cannot be used.
pub(super) fn client_config(tls: &TlsConfig) -> Result<Arc<ClientConfig>, DriverError> {
    match tls.trust.client_config(refused) {
        Ok((config, _)) => Ok(Arc::new(config)),
        Err(error) => Err(DriverError::new(ErrorKind::Tls, error.to_string())),
    }
}

fn refused(name: &str, fingerprint: Fingerprint, reason: &str) -> String {
    format!(
        "certificate of {name} not trusted: {reason}; its fingerprint is sha256:{fingerprint}: pin it, give its CA file, or switch verification off"
    )
}
