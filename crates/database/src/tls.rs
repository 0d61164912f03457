//! TLS to a PostgreSQL server: its certificate is always verified.

use std::path::Path;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::server::DatabaseUrlError;

/// How to connect with TLS: to servers whose certificate one of this host's authorities signed, or one in `authorities`
/// (PEM).
///
/// # Errors
/// The file cannot be read or has no certificate.
pub(crate) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, DatabaseUrlError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = authorities {
        let bad = |why: String| DatabaseUrlError::Authorities { path: path.to_owned(), why };
        let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = read.map_err(|error| bad(error.to_string()))?;
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(bad("it has no certificate".to_owned()));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
