//! Verifies certificates as the user configured, and remembers the one presented, so that the error can say how to pin
//! it.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::Fingerprint;

/// Composes the message of a rejection from the server's name, the certificate's fingerprint and the reason.
pub type Explain = fn(name: &str, fingerprint: Fingerprint, reason: &str) -> String;

/// The certificate that the last handshake presented.
#[derive(Clone, Debug, Default)]
pub struct ShownCertificate(Arc<Mutex<Option<Fingerprint>>>);

impl ShownCertificate {
    /// Takes it, leaving none for the next handshake.
    pub fn take(&self) -> Option<Fingerprint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Debug)]
pub(super) enum Rule {
    Authorities {
        /// `None` when there is no authority at all.
        verifier: Option<Arc<WebPkiServerVerifier>>,
        /// The CA file's own certificates.
        listed: Vec<CertificateDer<'static>>,
    },
    Pinned(Fingerprint),
    Anybody,
}

#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) rule: Rule,
    pub(super) explain: Explain,
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) shown: ShownCertificate,
}

impl Verifier {
    /// Why a certificate is rejected, if it is.
    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        fingerprint: Fingerprint,
        verify: impl FnOnce(&WebPkiServerVerifier) -> Result<ServerCertVerified, Error>,
        server_name: &ServerName<'_>,
    ) -> Result<(), Rejection> {
        let (verifier, listed) = match &self.rule {
            Rule::Anybody => return Ok(()),
            Rule::Pinned(wanted) if *wanted == fingerprint => return Ok(()),
            Rule::Pinned(wanted) => return Err(Rejection::NotPinned(*wanted)),
            Rule::Authorities { verifier, listed } => (verifier, listed),
        };
        let Some(verifier) = verifier else {
            return Err(Rejection::NoAuthorities);
        };
        let verdict = verify(verifier);
        // webpki does not accept a self-signed certificate marked as an authority, as `openssl req -x509` makes them,
        // as an end entity. When the user named this very certificate, only its name and validity need checking.
        if verdict.as_ref().is_err_and(|error| !is_out_of_time(error))
            && listed.iter().any(|listed| listed == end_entity)
        {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            return Ok(verify_server_name(&parsed, server_name)?);
        }
        Ok(verdict.map(drop)?)
    }
}

fn is_out_of_time(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        )
    )
}

/// Why a certificate is rejected.
#[derive(Debug, thiserror::Error)]
enum Rejection {
    #[error("it is not the pinned one, {0}")]
    NotPinned(Fingerprint),
    #[error("this system has no certificate authorities (package ca-certificates)")]
    NoAuthorities,
    #[error("no authority that is trusted here signed it (self-signed?)")]
    UnknownIssuer,
    /// Another fault of the certificate, without the library's prefix.
    #[error("{0}")]
    Certificate(CertificateError),
    #[error("{0}")]
    Other(Error),
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => Self::UnknownIssuer,
            Error::InvalidCertificate(reason) => Self::Certificate(reason),
            other => Self::Other(other),
        }
    }
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
        let verify = |verifier: &WebPkiServerVerifier| {
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        match self.judge(end_entity, fingerprint, verify, server_name) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            Err(reason) => {
                Err(Error::General((self.explain)(&server_name.to_str(), fingerprint, &reason.to_string())))
            }
        }
    }

    // A peer that presents a certificate must also prove that it has the key: otherwise anyone could replay a pinned
    // certificate, which is public.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
