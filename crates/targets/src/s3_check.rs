//! How `manometer check` tests a bucket.

use std::net::{IpAddr, SocketAddr};

use drivers::s3::Endpoint;
use experiment::TargetUrl;
use metrics::ErrorKind;
use metrics::OpKind::{Get, Put};

use super::TargetError;
use super::check::{ArrayPlace, CheckTarget, CheckTraits, Through, host_address};
use super::protocol::wrong;
use super::s3::KIND;

pub(super) static CHECK: CheckTraits = CheckTraits {
    kind: &KIND,
    write: Put,
    read: Get,
    on_array: ArrayPlace::Bucket,
    unreachable: "FAILED TO CONNECT",
    trust: " (--s3-tls-fingerprint, --s3-tls-ca or --s3-tls-insecure)",
    has_keys: true,
    next,
    other_form,
    named,
    through,
    addresses: host_address,
};

fn next(kind: ErrorKind, _: &str) -> Option<&'static str> {
    (kind == ErrorKind::AccessDenied).then_some("use keys that may put, get, list and delete in this bucket")
}

/// `https://host[:port]/bucket`, as used in browsers.
fn other_form(text: &str) -> Option<String> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let host = text[scheme.len()..].find('/').map_or(text.len(), |slash| scheme.len() + slash);
    let (endpoint, bucket) = text.split_at(host);
    Some(format!("{}://{}?endpoint={endpoint}", KIND.scheme, bucket.trim_matches('/')))
}

fn named(text: &str, url: &TargetUrl) -> Result<CheckTarget, TargetError> {
    let bucket = url.authority();
    if !bucket.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) {
        return Err(wrong(text, &format!("{bucket:?} is no name of a bucket; write {}", KIND.example)));
    }
    let endpoint = url.endpoint().unwrap_or_default().parse::<Endpoint>();
    let Endpoint { tls, host, port } = endpoint.map_err(|error| TargetError::Input(error.to_string()))?;
    Ok(CheckTarget { host, port: Some(port), tls, name: bucket.to_owned(), options: Default::default() })
}

fn through(target: &CheckTarget, address: IpAddr) -> Through {
    let CheckTarget { host, port, tls, name, .. } = target;
    let port = port.unwrap_or(Endpoint::usual_port(*tls));
    let endpoint = Endpoint { tls: *tls, host: host.clone(), port };
    let url = format!("{}://{name}?endpoint={endpoint}", KIND.scheme);
    (url, Some(("connect_to", SocketAddr::new(address, port).to_string())))
}
