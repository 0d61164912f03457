//! The management API over plain HTTP: sessions, errors, faults, state.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
mod http;

use std::net::{IpAddr, SocketAddr, TcpStream};

use array::{Array, Config, ManagementTls};
use http::{Answer, request};
use serde_json::{Value, json};

/// An array whose management API speaks plain HTTP.
fn plain() -> Config {
    Config { tls: ManagementTls::Off, state_endpoint: true, ..Config::loopback() }
}

/// A client of one array.
pub struct Client {
    to: SocketAddr,
    session: String,
}

impl Client {
    /// Logs in.
    pub fn open(array: &Array) -> Self {
        let to = array.management_address();
        let answer =
            request(to, "POST", "/api/login", &[("api-token", array.token().reveal())], b"").unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        Self { to, session: answer.header("x-auth-token").unwrap().to_owned() }
    }

    /// A call on a resource; the connection may end without a response.
    pub fn try_call(&self, method: &str, resource: &str, body: &Value) -> std::io::Result<Answer> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [("x-auth-token", self.session.as_str()), ("x-request-id", "7")];
        request(self.to, method, &format!("/api/{resource}"), &headers, body.as_bytes())
    }

    /// A call that gets a response: status and body.
    pub fn call(&self, method: &str, resource: &str, body: &Value) -> (u16, Value) {
        let answer = self.try_call(method, resource, body).unwrap();
        assert_eq!(answer.header("x-request-id"), Some("7"));
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }
}

/// The message of a failed call.
fn message(answer: &(u16, Value)) -> &str {
    answer.1["errors"][0]["message"].as_str().unwrap_or_default()
}

#[test]
fn nothing_is_told_without_a_session() {
    let array = Array::start(plain()).unwrap();
    let to = array.management_address();
    let versions = request(to, "GET", "/api/api_version", &[], b"").unwrap();
    assert!(versions.text().contains("\"1.12\"") && versions.text().contains("\"2.29\""));
    for (headers, status) in [(vec![], 401), (vec![("x-auth-token", "wrong")], 403)] {
        assert_eq!(request(to, "GET", "/api/2.0/arrays", &headers, b"").unwrap().status, status);
    }
    let wrong = request(to, "POST", "/api/login", &[("api-token", "T-wrong")], b"").unwrap();
    assert_eq!((wrong.status, wrong.header("x-auth-token")), (401, None));

    let client = Client::open(&array);
    assert_eq!(client.call("GET", "2.0/arrays", &Value::Null).0, 200);
    let headers = [("x-auth-token", client.session.as_str())];
    assert_eq!(request(to, "POST", "/api/logout", &headers, b"").unwrap().status, 200);
    assert_eq!(client.call("GET", "2.0/arrays", &Value::Null).0, 403);
    assert_eq!(client.call("GET", "1.12/arrays", &Value::Null).0, 401);
}

#[test]
fn only_configured_versions_and_known_resources_answer() {
    let array = Array::start(Config { versions: vec!["1.2".into(), "2.4".into()], ..plain() }).unwrap();
    let client = Client::open(&array);
    for (resource, status) in [
        ("1.2/file-systems", 200),
        ("2.4/buckets", 200),
        ("1.2/buckets", 404),
        ("1.3/file-systems", 404),
        ("2.5/arrays", 404),
        ("2.4/nonsense", 404),
        ("nonsense", 404),
    ] {
        assert_eq!(client.call("GET", resource, &Value::Null).0, status, "{resource}");
    }
    assert!(Array::start(Config { versions: vec!["two".into()], ..plain() }).is_err());
}

#[test]
fn a_client_s_mistakes_are_named() {
    let array = Array::start(plain()).unwrap();
    let client = Client::open(&array);
    for (method, resource, body, part) in [
        ("POST", "2.0/file-systems?names=fs", json!({ "provisoned": 1 }), "Unrecognized field"),
        ("POST", "2.0/file-systems?names=fs", json!({ "nfs": { "v3": true } }), "Unrecognized field"),
        ("POST", "2.0/file-systems?names=fs", json!({ "provisioned": "much" }), "Invalid value"),
        ("POST", "2.0/file-systems", json!({}), "must be specified"),
        ("POST", "2.0/file-systems?names=-fs", json!({}), "Invalid name"),
        ("POST", "2.0/buckets?names=b", json!({}), "account must be specified"),
        ("POST", "2.0/object-store-users?names=nobody/user", json!({}), "Account does not exist"),
        ("DELETE", "2.0/buckets?names=none", Value::Null, "does not exist"),
        ("GET", "2.0/buckets?filter=name", Value::Null, "Invalid filter"),
        ("GET", "2.0/buckets?limit=x", Value::Null, "Invalid value"),
        ("GET", "2.0/file-systems?names=none", Value::Null, "File system does not exist"),
    ] {
        let answer = client.call(method, resource, &body);
        assert_eq!(answer.0, 400, "{resource}");
        assert!(message(&answer).contains(part), "{resource}: {answer:?}");
    }
}

#[test]
fn the_state_is_told_only_on_request_and_without_secrets() {
    let silent = Array::start(Config { state_endpoint: false, ..plain() }).unwrap();
    assert_eq!(request(silent.management_address(), "GET", "/state", &[], b"").unwrap().status, 404);

    let array = Array::start(plain()).unwrap();
    let before = array.state();
    let client = Client::open(&array);
    assert_eq!(array.state(), before, "a session is not part of the state");
    client.call("POST", "2.0/object-store-accounts?names=a", &json!({}));
    client.call("POST", "2.0/object-store-users?names=a/u&full_access=true", &json!({}));
    let (_, key) = client.call("POST", "2.0/object-store-access-keys", &json!({ "user": { "name": "a/u" } }));
    let secret = key["items"][0]["secret_access_key"].as_str().unwrap();
    let told = request(array.management_address(), "GET", "/state", &[], b"").unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&told.body).unwrap(), array.state());
    assert_eq!(array.state()["object_store_accounts"], json!(["a"]));
    assert!(!told.text().contains(secret) && !told.text().contains(array.token().reveal()));
    let listed = client.call("GET", "2.0/object-store-access-keys", &Value::Null);
    assert!(!listed.1.to_string().contains(secret));
}

#[test]
fn a_stopped_array_frees_its_ports_for_the_next() {
    let mut array = Array::start(plain()).unwrap();
    let _client = Client::open(&array);
    let mut again = plain();
    again.management = array.management_address();
    for (data, used) in again.data.iter_mut().zip(array.data()) {
        data.s3_port = used.s3_port;
        data.nfs_port = used.nfs_port;
        data.mount_port = used.mount_port;
        data.portmap_port = used.portmap_port;
    }
    assert!(Array::start(again.clone()).is_err(), "the ports are taken");
    array.stop();
    assert!(TcpStream::connect(array.management_address()).is_err());
    let array = Array::start(again).unwrap();
    Client::open(&array);
}

#[test]
fn a_disabled_address_is_listed_and_does_not_listen() {
    let mut config = plain();
    config.data[1].enabled = false;
    let array = Array::start(config).unwrap();
    let (_, listed) = Client::open(&array).call("GET", "2.0/network-interfaces?names=data2", &Value::Null);
    assert_eq!(listed["items"][0]["enabled"], false);
    let data = &array.data()[1];
    assert_eq!((data.ip, data.s3_port, data.nfs_port), (IpAddr::from([127, 0, 2, 1]), 0, 0));
}

#[test]
fn the_certificate_has_the_fingerprint_that_is_told() {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use sha2::{Digest, Sha256};

    let array = Array::start(Config::loopback()).unwrap();
    let pem = array.certificate_pem().unwrap();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let sum: String = Sha256::digest(&certificate).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(array.fingerprint(), Some(sum.as_str()));
    assert!(array.management_url().starts_with("https://127.0.0.1:"));
    // A TLS listener does not respond to plain text.
    assert!(request(array.management_address(), "GET", "/api/api_version", &[], b"").is_err());

    // The same certificate from files has the same fingerprint.
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["array.test".into()]).unwrap();
    let (certificate, key) = (directory.path().join("c.pem"), directory.path().join("k.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = ManagementTls::Files { certificate: certificate.clone(), key: key.clone() };
    let loaded = Array::start(Config { tls, ..Config::loopback() }).unwrap();
    let sum: String = Sha256::digest(made.cert.der()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(loaded.fingerprint(), Some(sum.as_str()));
    let wrong = ManagementTls::Files { certificate: key, key: certificate };
    let error = Array::start(Config { tls: wrong, ..Config::loopback() }).unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
}
