//! The service's certificate: created at the first start, or read from files and again when these are renewed.

use std::fs::{OpenOptions, metadata};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;

use crate::options::{Notes, ServiceError, ServiceTls};

/// Time between two looks at the files.
const LOOK: Duration = Duration::from_secs(30);

/// What encrypts connections.
pub(crate) struct Identity {
    pub acceptor: TlsAcceptor,
    /// SHA-256 of the certificate, in the notation of browsers and `openssl x509 -fingerprint`.
    pub fingerprint: String,
    files: Files,
    seen: [Option<SystemTime>; 2],
    provider: Arc<CryptoProvider>,
    current: Arc<CurrentCertificate>,
    notes: Notes,
}

impl Identity {
    /// The certificate to serve with; `None` without TLS.
    ///
    /// # Errors
    /// The files cannot be read or created, or do not fit together.
    pub(crate) fn open(
        tls: &ServiceTls,
        directory: &Path,
        listen: SocketAddr,
        host_names: &[String],
        notes: &Notes,
    ) -> Result<Option<Self>, ServiceError> {
        let files = match tls {
            ServiceTls::Off => return Ok(None),
            ServiceTls::SelfSigned => self_signed(directory, listen, host_names)?,
            ServiceTls::Files { certificate, key } => {
                Files { certificate: certificate.clone(), key: key.clone() }
            }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let seen = files.modified();
        let key = files.load(&provider)?;
        let fingerprint = fingerprint(&key);
        let current = Arc::new(CurrentCertificate(RwLock::new(Arc::new(key))));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| ServiceError::Failure(format!("TLS cannot be set up: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Some(Self { acceptor, fingerprint, files, seen, provider, current, notes: Arc::clone(notes) }))
    }

    /// Uses renewed files from then on, for as long as the runtime lives.
    pub(crate) async fn renew(mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.look();
        }
    }

    /// Uses the files if they have changed since the last look.
    fn look(&mut self) {
        let modified = self.files.modified();
        if modified == self.seen {
            return;
        }
        self.seen = modified;
        match self.files.load(&self.provider) {
            Ok(key) => {
                let fingerprint = fingerprint(&key);
                *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                (self.notes)(&format!("new connections use the renewed certificate (SHA-256 {fingerprint})"));
            }
            // The other file may follow; then both are read again.
            Err(error) => (self.notes)(&format!("{error}; the previous certificate stays in use")),
        }
    }
}

/// The certificate for new connections.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A certificate and its key, in PEM.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn load(&self, provider: &CryptoProvider) -> Result<CertifiedKey, ServiceError> {
        let wrong = |path: &Path, error: &dyn std::fmt::Display| {
            ServiceError::Usage(format!("{}: {error}", path.display()))
        };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(&self.certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, &"no certificate in PEM is in this file"));
        }
        let mode = metadata(&self.key).map_err(|error| wrong(&self.key, &error))?.permissions().mode();
        if mode & 0o007 != 0 {
            let next = format!("every user can use this key; next: chmod o= {}", self.key.display());
            return Err(wrong(&self.key, &next));
        }
        // These errors name the problem and never show the content.
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| wrong(&self.certificate, &error))
    }

    fn modified(&self) -> [Option<SystemTime>; 2] {
        [&self.certificate, &self.key].map(|file| metadata(file).and_then(|data| data.modified()).ok())
    }
}

/// The files of a certificate for this service's names and addresses, created if absent.
fn self_signed(directory: &Path, listen: SocketAddr, host_names: &[String]) -> Result<Files, ServiceError> {
    let files = Files { certificate: directory.join("certificate.pem"), key: directory.join("key.pem") };
    if files.certificate.exists() && files.key.exists() {
        return Ok(files);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(rustix::system::uname().nodename().to_str().ok().map(str::to_owned));
    names.extend((!listen.ip().is_unspecified()).then(|| listen.ip().to_string()));
    names.extend_from_slice(host_names);
    names.sort();
    names.dedup();
    let failed = |error: &dyn std::fmt::Display| {
        ServiceError::Failure(format!("a certificate cannot be created in {}: {error}", directory.display()))
    };
    let created = rcgen::generate_simple_self_signed(names).map_err(|error| failed(&error))?;
    write(&files.key, &created.signing_key.serialize_pem()).map_err(|error| failed(&error))?;
    write(&files.certificate, &created.cert.pem()).map_err(|error| failed(&error))?;
    Ok(files)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn fingerprint(key: &CertifiedKey) -> String {
    let digest = key.cert.first().map(Sha256::digest);
    let pairs: Vec<String> = digest.iter().flatten().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
