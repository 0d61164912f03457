//! Which certificates the client trusts, tested with real handshakes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use provision::{ApiSecret, Failure, Management, ProvisionError, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::{Scene, TOKEN};

/// A certificate for 127.0.0.1, its key, and the PEM text of its issuer.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    authority: String,
}

fn self_signed(names: &[&str]) -> Identity {
    self_signed_with(names, |_| {})
}

fn self_signed_with(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    Identity {
        certificate: certificate.der().clone(),
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        authority: certificate.pem(),
    }
}

fn signed_by_an_authority(names: &[&str]) -> Identity {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    Identity {
        certificate: certificate.der().clone(),
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        authority: authority.pem(),
    }
}

/// A server with this identity, which rejects every token.
fn serve(identity: &Identity) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let mut request = [0; 4096];
            // A client that does not trust the certificate disconnects here.
            let Ok(count) = stream.read(&mut request) else { continue };
            let answer = if request[..count].starts_with(b"GET /api/api_version") {
                "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"versions\":[\"2.0\"]}"
            } else {
                "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// How far the client gets: if it trusts the certificate, to the login, which is rejected.
fn knock(address: &str, trust: Trust) -> Result<(), String> {
    let management = Management {
        address: address.into(),
        token: ApiSecret::new(TOKEN),
        trust,
        call_timeout: Duration::from_secs(30),
    };
    let error = Scene::new().open(&management).unwrap_err();
    let text = error.to_string();
    match error {
        ProvisionError::Call(call) if matches!(call.failure, Failure::Status { status: 401, .. }) => Ok(()),
        ProvisionError::Call(call) if matches!(call.failure, Failure::Tls { .. }) => Err(text),
        other => panic!("{other}"),
    }
}

/// The fingerprint in an error message.
fn fingerprint_in(text: &str) -> String {
    let at = text.find("--tls-fingerprint ").unwrap() + "--tls-fingerprint ".len();
    text[at..].chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn a_self_signed_array_is_refused_with_its_fingerprint_and_the_ways_out() {
    let identity = self_signed(&["127.0.0.1"]);
    let address = serve(&identity).to_string();
    let text = knock(&address, Trust::System).unwrap_err();
    assert!(
        text.contains("--tls-insecure") && text.contains("--tls-ca") && text.contains(&address),
        "{text}"
    );
    let fingerprint = fingerprint_in(&text);
    assert_eq!(fingerprint.len(), 64, "{text}");
    knock(&address, Trust::Fingerprint(fingerprint.parse().unwrap())).unwrap();
    knock(&address, Trust::Insecure).unwrap();
}

#[test]
fn another_certificate_than_the_pinned_one_is_refused() {
    let (pinned, other) = (self_signed(&["127.0.0.1"]), self_signed(&["127.0.0.1"]));
    let pinned = fingerprint_in(&knock(&serve(&pinned).to_string(), Trust::System).unwrap_err());
    let text = knock(&serve(&other).to_string(), Trust::Fingerprint(pinned.parse().unwrap())).unwrap_err();
    assert!(text.contains("not the pinned one") && text.contains(&pinned), "{text}");
    assert_ne!(fingerprint_in(&text), pinned);
}

#[test]
fn a_ca_file_vouches_for_what_it_signed_and_for_what_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    for identity in [signed_by_an_authority(&["127.0.0.1"]), self_signed(&["127.0.0.1"])] {
        let address = serve(&identity).to_string();
        std::fs::write(&path, &identity.authority).unwrap();
        knock(&address, Trust::CaFile(path.clone())).unwrap();
        let stranger = serve(&self_signed(&["127.0.0.1"])).to_string();
        knock(&stranger, Trust::CaFile(path.clone())).unwrap_err();
    }
}

#[test]
fn a_certificate_of_a_known_authority_for_another_name_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    let identity = signed_by_an_authority(&["array.example"]);
    std::fs::write(&path, &identity.authority).unwrap();
    let text = knock(&serve(&identity).to_string(), Trust::CaFile(path)).unwrap_err();
    assert!(text.contains("array.example") && text.contains("--tls-fingerprint"), "{text}");
}

/// Both as on new arrays, and as made by `openssl req -x509`, which marks them as authorities.
#[test]
fn a_certificate_in_the_ca_file_must_be_valid_now_and_bear_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    for authority in [false, true] {
        for (name, years, word) in [
            ("127.0.0.1", (2000, 2001), "expired"),
            ("127.0.0.1", (2100, 2101), "not valid yet"),
            ("array.example", (2000, 2100), "array.example"),
        ] {
            let identity = self_signed_with(&[name], |params| {
                params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
                params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
                if authority {
                    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
                }
            });
            std::fs::write(&path, &identity.authority).unwrap();
            let address = serve(&identity).to_string();
            let text = knock(&address, Trust::CaFile(path.clone())).unwrap_err();
            assert!(text.contains(word), "{text}");
            let pinned = Trust::Fingerprint(fingerprint_in(&text).parse().unwrap());
            knock(&address, pinned).unwrap();
        }
    }
}
