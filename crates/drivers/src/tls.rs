//! Which TLS peers to trust: the system's authorities, a CA file, one pinned certificate, or any. Defined only here,
//! for data paths and management APIs alike.

mod fingerprint;
mod verifier;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};

pub use fingerprint::{Fingerprint, FingerprintError};
pub use verifier::{Explain, ShownCertificate};
use verifier::{Rule, Verifier};

/// Which certificates are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Those signed by the system's authorities, with the right name.
    #[default]
    System,
    /// Those signed by an authority in this PEM file, or contained in it themselves; currently valid and with the right
    /// name.
    CaFile(PathBuf),
    /// The one with this SHA-256 over its DER form, whatever its name.
    Fingerprint(Fingerprint),
    /// Any: an explicit decision that lets anyone between here and the server intercept.
    Insecure,
}

/// A CA file that cannot be used. The message names the file, the cause and the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CA file {} cannot be used: {why}; next: give a file with certificates in PEM form", path.display())]
pub struct CaFileError {
    path: PathBuf,
    why: CaFileFault,
}

/// What is wrong with a CA file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum CaFileFault {
    /// What the system or the parser says.
    #[error("{0}")]
    Unreadable(String),
    #[error("there is no certificate in it")]
    Empty,
}

impl Trust {
    /// The client configuration for HTTP/1.1, and where the certificate that the server presents is recorded. `explain`
    /// composes the message after a rejection.
    ///
    /// # Errors
    /// The CA file cannot be read or contains no certificate. A system without any authorities trusts nobody; the
    /// handshake reports that.
    pub fn client_config(&self, explain: Explain) -> Result<(ClientConfig, ShownCertificate), CaFileError> {
        let provider = Arc::new(ring::default_provider());
        let shown = ShownCertificate::default();
        let verifier = Verifier {
            rule: self.rule(&provider)?,
            explain,
            provider: Arc::clone(&provider),
            shown: shown.clone(),
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring offers TLS 1.2 and 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok((config, shown))
    }

    fn rule(&self, provider: &Arc<CryptoProvider>) -> Result<Rule, CaFileError> {
        let roots = |certificates: Vec<CertificateDer<'static>>| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates);
            // A verifier needs at least one root.
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().ok()
        };
        Ok(match self {
            Self::Insecure => Rule::Anybody,
            Self::Fingerprint(fingerprint) => Rule::Pinned(*fingerprint),
            Self::System => Rule::Authorities {
                verifier: roots(rustls_native_certs::load_native_certs().certs),
                listed: Vec::new(),
            },
            Self::CaFile(path) => {
                let wrong = |why| CaFileError { path: path.clone(), why };
                let listed = read_certificates(path).map_err(wrong)?;
                let verifier = roots(listed.clone());
                if verifier.is_none() {
                    return Err(wrong(CaFileFault::Empty));
                }
                Rule::Authorities { verifier, listed }
            }
        })
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CaFileFault> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| CaFileFault::Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for content in [None, Some("nothing"), Some("")] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let made = Trust::CaFile(path.clone()).client_config(|_, _, reason| reason.to_owned());
            let error = made.expect_err("it is useless").to_string();
            for word in ["CA file", "ca.pem", "next:"] {
                assert!(error.contains(word), "{error}");
            }
            assert!(content.is_none() || error.contains("no certificate"), "{error}");
        }
    }
}
