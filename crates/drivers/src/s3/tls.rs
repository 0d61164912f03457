//! Whom to trust, and the verifier that says how to trust a server that is not.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use metrics::ErrorKind;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::DriverError;

/// Whose certificates are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system's authorities signed.
    #[default]
    System,
    /// Those that an authority in this PEM file signed, or that are in it themselves.
    CaFile(PathBuf),
    /// The one with this SHA-256 over its DER form, whatever name it bears.
    Fingerprint(Fingerprint),
    /// Any: an explicit decision, open to anybody between here and the server.
    Insecure,
}

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        let mut digest = wire::checksum::Sha256::new();
        digest.update(certificate);
        let hex = digest.hex();
        let text = std::str::from_utf8(&hex).expect("hexadecimal digits");
        text.parse().expect("64 hexadecimal digits")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is no SHA-256 fingerprint: write 64 hexadecimal digits, with or without colons"
            )
        };
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let mut nibbles = digits.chars().filter(|character| *character != ':');
        let mut bytes = [0u8; 32];
        for byte in &mut bytes {
            for _ in 0..2 {
                let digit = nibbles.next().and_then(|digit| digit.to_digit(16)).ok_or_else(wrong)?;
                *byte = *byte << 4 | digit as u8;
            }
        }
        if nibbles.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

/// The TLS settings of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// Whose certificates are accepted.
    pub trust: Trust,
}

/// Makes the client's side of the handshake.
///
/// # Errors
/// No authorities to be found: the CA file cannot be read or the system has none.
pub(super) fn client_config(tls: &TlsConfig) -> Result<Arc<ClientConfig>, DriverError> {
    let failed = |detail: String| DriverError::new(ErrorKind::Tls, detail);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (authorities, pinned) = match &tls.trust {
        Trust::System => {
            let mut roots = RootCertStore::empty();
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err(failed(
                    "this system has no certificate authorities (package ca-certificates); give a CA file or pin the server's fingerprint".to_owned(),
                ));
            }
            (Some(roots), Vec::new())
        }
        Trust::CaFile(path) => {
            let unreadable = |reason: String| failed(format!("CA file {}: {reason}", path.display()));
            let certificates = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| unreadable(error.to_string()))?;
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates.iter().cloned());
            if roots.is_empty() {
                return Err(unreadable("no certificate in it".to_owned()));
            }
            (Some(roots), certificates)
        }
        Trust::Fingerprint(_) | Trust::Insecure => (None, Vec::new()),
    };
    let webpki = match authorities {
        Some(roots) => Some(
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| failed(format!("certificate authorities: {error}")))?,
        ),
        None => None,
    };
    let verifier =
        Verifier { trust: tls.trust.clone(), webpki, listed: pinned, provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Verifies as [`Trust`] says, and names the fingerprint of what it refuses, so that it can be pinned.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    webpki: Option<Arc<WebPkiServerVerifier>>,
    /// The CA file's own certificates.
    listed: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let refused = |reason: &dyn fmt::Display| {
            rustls::Error::General(format!(
                "certificate of {} not trusted: {reason}; its fingerprint is sha256:{}: pin it, give its CA file, or switch verification off",
                server_name.to_str(),
                Fingerprint::of(end_entity)
            ))
        };
        match &self.trust {
            Trust::Insecure => return Ok(ServerCertVerified::assertion()),
            Trust::Fingerprint(wanted) if Fingerprint::of(end_entity) == *wanted => {
                return Ok(ServerCertVerified::assertion());
            }
            Trust::Fingerprint(_) => return Err(refused(&"it is not the one that was pinned")),
            Trust::System | Trust::CaFile(_) => {}
        }
        let webpki = self.webpki.as_ref().expect("made for both of these");
        let verdict = webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        // A self-signed certificate that calls itself an authority, as `openssl req -x509` makes them, is no
        // end entity to webpki. When the user named this very certificate its name is all there is to check.
        if verdict.is_err()
            && self.listed.iter().any(|listed| listed == end_entity)
            && !matches!(
                verdict,
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::Expired
                        | CertificateError::ExpiredContext { .. }
                        | CertificateError::NotValidYet
                        | CertificateError::NotValidYetContext { .. }
                ))
            )
        {
            let parsed = ParsedCertificate::try_from(end_entity).map_err(|error| refused(&error))?;
            verify_server_name(&parsed, server_name).map_err(|error| refused(&plain(error)))?;
            return Ok(ServerCertVerified::assertion());
        }
        verdict.map_err(|error| refused(&plain(error)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The reason without the library's words around it.
fn plain(error: rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "no authority that is trusted here signed it".to_owned()
        }
        rustls::Error::InvalidCertificate(reason) => reason.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_in_every_spelling() {
        let plain = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let colons: String = plain
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap().to_uppercase())
            .collect::<Vec<_>>()
            .join(":");
        assert_eq!(Fingerprint::of(b"").to_string(), plain);
        assert_eq!(colons.parse(), Ok(Fingerprint::of(b"")));
        assert_eq!(format!("sha256:{plain}").parse(), Ok(Fingerprint::of(b"")));
        for wrong in ["", "abc", &plain[1..], &format!("{plain}0"), &plain.replace('e', "g")] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_ca_file_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (path, word) in
            [(file.path().to_owned(), "no certificate"), (PathBuf::from("/nonexistent"), "/nonexistent")]
        {
            let error = client_config(&TlsConfig { trust: Trust::CaFile(path) }).unwrap_err();
            assert!(error.detail.contains(word) && error.detail.contains("CA file"), "{error}");
        }
    }
}
