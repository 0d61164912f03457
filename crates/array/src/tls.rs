//! The array's certificate: created at start, as on a new array, or loaded from files.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;

use crate::config::ManagementTls;
use crate::start::StartError;

/// A certificate ready for use.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    /// SHA-256 of the certificate in DER: 64 lower-case hex digits.
    pub(crate) fingerprint: String,
    /// The certificate in PEM, for clients that need a file to trust.
    pub(crate) pem: String,
}

/// The configured certificate; `None` without TLS.
pub(crate) fn identity(
    tls: &ManagementTls,
    name: &str,
    addresses: &[IpAddr],
) -> Result<Option<Identity>, StartError> {
    let (chain, key, pem) = match tls {
        ManagementTls::Off => return Ok(None),
        ManagementTls::SelfSigned => self_signed(name, addresses)?,
        ManagementTls::Files { certificate, key } => load(certificate, key)?,
    };
    let leaf =
        chain.first().ok_or_else(|| StartError::Certificate("the file holds no certificate".into()))?;
    let fingerprint = Sha256::digest(leaf).iter().map(|byte| format!("{byte:02x}")).collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| StartError::Certificate(error.to_string()))?;
    Ok(Some(Identity { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint, pem }))
}

type Parts = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, String);

/// A certificate for the array's name, `localhost` and all its addresses.
fn self_signed(name: &str, addresses: &[IpAddr]) -> Result<Parts, StartError> {
    let failed = |error: rcgen::Error| StartError::Certificate(error.to_string());
    let mut names: Vec<String> = vec![name.to_owned(), "localhost".into()];
    names.extend(addresses.iter().map(IpAddr::to_string));
    let made = rcgen::generate_simple_self_signed(names).map_err(failed)?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|error| StartError::Certificate(error.to_owned()))?;
    Ok((vec![made.cert.der().clone()], key, made.cert.pem()))
}

fn load(certificate: &Path, key: &Path) -> Result<Parts, StartError> {
    let failed =
        |path: &Path, problem: String| StartError::Certificate(format!("{}: {problem}", path.display()));
    let pem = std::fs::read_to_string(certificate).map_err(|error| failed(certificate, error.to_string()))?;
    let chain = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed(certificate, error.to_string()))?;
    // The key parser's error must not show the key: it gives only the problem.
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error.to_string()))?;
    Ok((chain, key, pem))
}
