//! Whom to trust at the other end: system roots, a CA file, one pinned certificate, or anybody.
//!
//! Arrays come from the factory with a certificate that they signed themselves. So every refusal here
//! remembers the fingerprint of the certificate that was shown, for the error to say how to pin it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ProvisionError;

/// SHA-256 of a certificate's DER form, written as 64 hexadecimal digits (colons are read, too).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate.as_ref()).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a certificate's SHA-256 fingerprint: write its 64 hexadecimal digits, with or without colons"
            )
        };
        let digits: Vec<u8> = text
            .trim()
            .bytes()
            .filter(|&byte| byte != b':')
            .map(|byte| (byte as char).to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let bytes: Vec<u8> =
            digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | digit)).collect();
        if digits.len() != 64 {
            return Err(wrong());
        }
        bytes.try_into().map(Self).map_err(|_| wrong())
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

/// Which certificate of a management API is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// One that the operating system's roots vouch for, with the right name.
    #[default]
    System,
    /// One that the roots in this PEM file vouch for, or that is itself in the file.
    CaFile(PathBuf),
    /// Exactly this one.
    Fingerprint(Fingerprint),
    /// Any. An attacker on the path can then read the API token.
    Insecure,
}

/// The certificate that the last handshake showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<Mutex<Option<Fingerprint>>>);

impl Shown {
    /// Takes it, so that the next handshake starts afresh.
    pub(crate) fn take(&self) -> Option<Fingerprint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Trust {
    /// The TLS configuration for this trust, and where the shown certificate is noted.
    pub(crate) fn client_config(&self) -> Result<(ClientConfig, Shown), ProvisionError> {
        let provider = Arc::new(ring::default_provider());
        let shown = Shown::default();
        let verifier =
            Verifier { rule: self.rule(&provider)?, provider: Arc::clone(&provider), shown: shown.clone() };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring offers TLS 1.2 and 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok((config, shown))
    }

    fn rule(&self, provider: &Arc<CryptoProvider>) -> Result<Rule, ProvisionError> {
        match self {
            Self::Insecure => Ok(Rule::Anybody),
            Self::Fingerprint(fingerprint) => Ok(Rule::Pinned(*fingerprint)),
            Self::CaFile(path) => {
                let listed = read_certificates(path)?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(listed.iter().cloned());
                Ok(Rule::Roots {
                    verifier: verifier_of(roots, provider),
                    listed: listed.iter().map(Fingerprint::of).collect(),
                })
            }
            Self::System => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                Ok(Rule::Roots { verifier: verifier_of(roots, provider), listed: Vec::new() })
            }
        }
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ProvisionError> {
    let wrong = |why: String| {
        ProvisionError::Input(format!(
            "the CA file {} cannot be used: {why}; next: give a file with certificates in PEM form",
            path.display()
        ))
    };
    let listed: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?.collect();
    match listed {
        Ok(listed) if listed.is_empty() => Err(wrong("there is no certificate in it".into())),
        Ok(listed) => Ok(listed),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// `None` when there is no root at all: then nobody is trusted, which is said at the handshake, with the fingerprint.
fn verifier_of(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Option<Arc<WebPkiServerVerifier>> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().ok()
}

#[derive(Debug)]
enum Rule {
    Roots { verifier: Option<Arc<WebPkiServerVerifier>>, listed: Vec<Fingerprint> },
    Pinned(Fingerprint),
    Anybody,
}

#[derive(Debug)]
struct Verifier {
    rule: Rule,
    provider: Arc<CryptoProvider>,
    shown: Shown,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let fingerprint = Fingerprint::of(end_entity);
        *self.shown.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
        match &self.rule {
            Rule::Anybody => Ok(ServerCertVerified::assertion()),
            Rule::Pinned(wanted) if *wanted == fingerprint => Ok(ServerCertVerified::assertion()),
            Rule::Pinned(wanted) => Err(Error::General(format!("it is not the pinned one, {wanted}"))),
            Rule::Roots { listed, .. } if listed.contains(&fingerprint) => {
                Ok(ServerCertVerified::assertion())
            }
            Rule::Roots { verifier: None, .. } => {
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            }
            Rule::Roots { verifier: Some(verifier), .. } => {
                verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
        }
    }

    // Whoever shows a certificate must also prove to hold its key: without this a pinned
    // certificate, which is public, could be replayed by anybody.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.rule {
            Rule::Anybody => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls12_signature(
                message,
                certificate,
                signature,
                &self.provider.signature_verification_algorithms,
            ),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.rule {
            Rule::Anybody => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls13_signature(
                message,
                certificate,
                signature,
                &self.provider.signature_verification_algorithms,
            ),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_in_both_forms() {
        let hex = "0123456789abcdef".repeat(4);
        let colons: Vec<String> = hex
            .to_uppercase()
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair).into_owned())
            .collect();
        let fingerprint: Fingerprint = hex.parse().unwrap();
        assert_eq!(fingerprint.to_string(), hex);
        assert_eq!(colons.join(":").parse::<Fingerprint>().unwrap(), fingerprint);
        for bad in ["", "12", "zz", &hex[1..], &format!("{hex}0")] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn trust_is_written_and_read_as_json() {
        for trust in [
            Trust::System,
            Trust::CaFile("/x.pem".into()),
            Trust::Fingerprint("00".repeat(32).parse().unwrap()),
            Trust::Insecure,
        ] {
            let text = serde_json::to_string(&trust).unwrap();
            assert_eq!(serde_json::from_str::<Trust>(&text).unwrap(), trust, "{text}");
        }
    }

    #[test]
    fn a_useless_ca_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        for content in [None, Some("nothing")] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let error = Trust::CaFile(path.clone()).client_config().unwrap_err().to_string();
            assert!(error.contains("ca.pem") && error.contains("next:"), "{error}");
        }
    }
}
