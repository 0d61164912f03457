//! Redirects within the server (307 and 308, RFC 9110 sections 15.4.8 and 15.4.9): the same request, another path.

use wire::sigv4::{canonical_query, encode_path};

use super::config::Endpoint;

/// Maximum redirects of a request.
pub(super) const MAX_REDIRECTS: u32 = 3;

/// New target of a request: path and query, encoded as they are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) path: String,
    pub(super) query: String,
}

impl Redirect {
    /// Parses `Location`. `None` when it leads to another scheme, host or port, or cannot be parsed: requests are
    /// signed for one host, and payload goes only where the user said. `host` is the Host header of our requests.
    pub(super) fn on_same_server(location: &str, endpoint: &Endpoint, host: &str) -> Option<Self> {
        let target = match location.split_once("://") {
            Some((scheme, rest)) => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (authority, target) = rest.split_at(end);
                let tls = match scheme.to_ascii_lowercase().as_str() {
                    "https" => true,
                    "http" => false,
                    _ => return None,
                };
                let usual = if tls { ":443" } else { ":80" };
                let named = authority.strip_suffix(usual).unwrap_or(authority);
                if tls != endpoint.tls || !named.eq_ignore_ascii_case(host) {
                    return None;
                }
                target
            }
            // `//host/path` names a host, and S3 sends nothing without a leading slash.
            None if location.starts_with('/') && !location.starts_with("//") => location,
            None => return None,
        };
        let target = target.split('#').next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut encoded = String::new();
        encode_path(&decode(if path.is_empty() { "/" } else { path })?, &mut encoded);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs: Option<Vec<(String, String)>> = pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        let pairs = pairs?;
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Some(Self { path: encoded, query: canonical_query(&pairs) })
    }
}

/// Decodes percent-encoding.
fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push((high << 4 | low) as u8);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(location: &str) -> Option<(String, String)> {
        let endpoint: Endpoint = "http://h:9000".parse().unwrap();
        Redirect::on_same_server(location, &endpoint, "h:9000")
            .map(|redirect| (redirect.path, redirect.query))
    }

    #[test]
    fn a_redirect_on_the_same_server_keeps_its_path_and_query() {
        let is = |path: &str, query: &str| Some((path.to_owned(), query.to_owned()));
        assert_eq!(read("http://h:9000/b/k%20y?x=1&a"), is("/b/k%20y", "a=&x=1"));
        assert_eq!(read("HTTP://H:9000/b/k#top"), is("/b/k", ""));
        assert_eq!(read("http://h:9000"), is("/", ""));
        assert_eq!(read("/b/k y"), is("/b/k%20y", ""));
    }

    #[test]
    fn another_server_is_not_followed() {
        for location in [
            "http://other:9000/b/k",
            "https://h:9000/b/k",
            "http://h/b/k",
            "http://h:9001/b",
            "//other/b/k",
            "login",
            "ftp://h:9000/",
            "/b/%zz",
            "",
        ] {
            assert_eq!(read(location), None, "{location}");
        }
        let tls: Endpoint = "https://h".parse().unwrap();
        assert!(Redirect::on_same_server("https://h:443/b", &tls, "h").is_some());
    }
}
