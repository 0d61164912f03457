//! S3 over TLS with a self-signed certificate: trusted by file, by fingerprint, explicitly unverified, or rejected.

mod s3_support;

use std::net::TcpStream;
use std::sync::Arc;

use drivers::s3::{Fingerprint, S3Config, S3Driver, Trust};
use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use s3_support::{Pipe, Server, backends, context, op, store, with_session};

struct Certified {
    server: Server,
    der: Vec<u8>,
    pem: tempfile::NamedTempFile,
}

/// A store with TLS whose certificate has the name `name` and is marked as an authority or not.
fn start(name: &str, authority: bool, versions: &[&'static rustls::SupportedProtocolVersion]) -> Certified {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("a name");
    if authority {
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let pem = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(pem.path(), certificate.pem()).expect("it can be written");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions that exist")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a matching key");
    let config = Arc::new(config);
    let wrap = move |socket: TcpStream| -> Option<Box<dyn Pipe>> {
        let connection = rustls::ServerConnection::new(Arc::clone(&config)).expect("a good configuration");
        Some(Box::new(rustls::StreamOwned::new(connection, socket)))
    };
    let state = store::Store::default();
    let server = Server::wrapped(wrap, move |conn| store::serve(conn, &state));
    Certified { server, der: certificate.der().to_vec(), pem }
}

fn config(certified: &Certified, trust: Trust) -> S3Config {
    let mut config = certified.server.config();
    config.endpoint =
        format!("https://localhost:{}", certified.server.address.port()).parse().expect("an endpoint");
    config.connect_to = Some(certified.server.address);
    config.tls.trust = trust;
    config
}

#[test]
fn trusted_servers_are_worked_with() {
    for versions in [&[&rustls::version::TLS13], &[&rustls::version::TLS12]] {
        for authority in [false, true] {
            let certified = start("localhost", authority, versions);
            for trust in [
                Trust::CaFile(certified.pem.path().to_owned()),
                Trust::Fingerprint(Fingerprint::of(&certified.der)),
                Trust::Insecure,
            ] {
                for choice in backends() {
                    let config = config(&certified, trust.clone());
                    with_session(choice, config, &context(Sink::Verify), async |session| {
                        for len in [0, 1, 4096, 1_000_000] {
                            session.perform(&op(OpKind::Put, len, len)).await.unwrap();
                            session.perform(&op(OpKind::Get, len, len)).await.unwrap();
                        }
                        let read = Op { offset: 77_777, ..op(OpKind::Read, 1_000_000, 300_000) };
                        session.perform(&read).await.unwrap();
                        assert_eq!(session.facts().retries, 0);
                    });
                }
            }
        }
    }
}

#[test]
fn other_servers_are_refused_and_the_error_says_how_to_trust_them() {
    let certified = start("localhost", false, rustls::ALL_VERSIONS);
    let other = start("localhost", false, rustls::ALL_VERSIONS);
    let elsewhere = start("elsewhere", true, rustls::ALL_VERSIONS);
    let fingerprint = Fingerprint::of(&certified.der).to_string();
    for (server, trust, words) in [
        (&certified, Trust::System, vec!["localhost", "no authority", "pin it", fingerprint.as_str()]),
        (&certified, Trust::CaFile(other.pem.path().to_owned()), vec![fingerprint.as_str()]),
        (
            &certified,
            Trust::Fingerprint(Fingerprint::of(&other.der)),
            vec!["not the pinned one", fingerprint.as_str()],
        ),
        (&elsewhere, Trust::CaFile(elsewhere.pem.path().to_owned()), vec!["localhost", "elsewhere"]),
    ] {
        // A system without any authorities is rejected before the handshake; another test covers that.
        let Ok(driver) = S3Driver::new(config(server, trust.clone())) else {
            assert_eq!(trust, Trust::System);
            continue;
        };
        let error = driver.check_bucket().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Tls, "{error}");
        for word in words {
            assert!(error.detail.contains(word), "{word} in {error}");
        }
    }
}

#[test]
fn plain_http_where_tls_was_expected_and_the_other_way_round() {
    let (plain, _store) = store::start();
    let mut config = plain.config();
    config.endpoint = format!("https://localhost:{}", plain.address.port()).parse().unwrap();
    config.connect_to = Some(plain.address);
    config.tls.trust = Trust::Insecure;
    // The plain server waits for the end of a head that never comes; the timeout ends that.
    config.control_timeout = std::time::Duration::from_millis(300);
    let error = S3Driver::new(config).unwrap().check_bucket().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::ConnectFailed | ErrorKind::Tls), "{error}");

    let certified = start("localhost", false, rustls::ALL_VERSIONS);
    let mut config = certified.server.config();
    config.control_timeout = std::time::Duration::from_secs(10);
    let error = S3Driver::new(config).unwrap().check_bucket().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Protocol | ErrorKind::ConnectionLost), "{error}");
}

#[test]
fn dropping_in_the_kernel_is_refused_with_tls() {
    let certified = start("localhost", false, rustls::ALL_VERSIONS);
    let driver = S3Driver::new(config(&certified, Trust::Insecure)).unwrap();
    let reactor = reactor::Reactor::open(reactor::BackendChoice::Auto).unwrap();
    let opened = reactor.block_on(drivers::Driver::connect(&driver, &reactor, &context(Sink::Discard)));
    let error = opened.err().expect("it is refused");
    assert!(error.detail.contains("discard") && error.detail.contains("https://"), "{error}");
}
