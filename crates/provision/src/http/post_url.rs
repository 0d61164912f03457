//! A URL that takes documents by POST, outside any management API: one exchange with a deadline, no redirects.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use hyper::{Method, Uri};

use super::address::Address;
use super::exchange::{Payload, Request, Transport};
use super::tls::Trust;
use crate::error::Failure;

/// An `http` or `https` URL. Its path and query may be secret: they are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PostUrl {
    address: Address,
    target: String,
}

/// A text that is no such URL; does not repeat it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; next: write https://HOST/PATH")]
pub struct PostUrlError(&'static str);

impl PostUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// It has another scheme, names a user, or is malformed.
    pub fn parse(text: &str) -> Result<Self, PostUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(PostUrlError("the URL has no scheme"))?;
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(PostUrlError("the scheme is neither https nor http"));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(PostUrlError("a URL with a user or password is not supported"));
        }
        if target.contains('#') {
            return Err(PostUrlError("a URL with a fragment is not supported"));
        }
        let address = Address::parse(&format!("{scheme}://{authority}"));
        let address = address.map_err(|_| PostUrlError("the URL's host or port is malformed"))?;
        let target = match target.starts_with('/') {
            true => target.to_owned(),
            false => format!("/{target}"),
        };
        if target.parse::<Uri>().is_err() {
            return Err(PostUrlError("the URL's path is malformed"));
        }
        Ok(Self { address, target })
    }

    /// Its host: a name or an address, without brackets.
    pub fn host(&self) -> &str {
        &self.address.host
    }

    /// Its port, given or the scheme's.
    pub fn port(&self) -> u16 {
        self.address.port
    }

    /// Whether the port is the scheme's.
    pub fn has_usual_port(&self) -> bool {
        self.address.port == if self.address.tls { 443 } else { 80 }
    }

    /// The whole URL with its path, for storing it.
    pub fn secret_text(&self) -> String {
        format!("{}{}", self.address, self.target)
    }

    /// Whether a path follows the host.
    pub fn has_path(&self) -> bool {
        self.target != "/"
    }

    /// The same host with this path, from / on.
    pub fn with_path(self, path: &str) -> Self {
        Self { target: path.to_owned(), ..self }
    }

    /// Sends JSON, with a bearer token if given; returns the status of the response. Redirects are not followed.
    ///
    /// # Errors
    /// There is no connection, no trustworthy certificate, or no response before the deadline.
    pub async fn post(
        &self,
        body: String,
        bearer: Option<&str>,
        trust: &Trust,
        deadline: Duration,
    ) -> Result<u16, Failure> {
        let bearer = bearer.map(|token| HeaderValue::from_str(&format!("Bearer {token}"))).transpose();
        let bearer =
            bearer.map_err(|_| Failure::Connect("the token cannot be sent in a header".to_owned()))?;
        let secrets = bearer.map(|value| (AUTHORIZATION, value)).into_iter().collect();
        let (status, _) = self.send(Payload::json(body), secrets, trust, deadline).await?;
        Ok(status)
    }

    /// Sends a document with these headers, whose values may be secret; returns the status and the body of the response.
    /// Redirects are not followed.
    ///
    /// # Errors
    /// There is no connection, no trustworthy certificate, or no response before the deadline.
    pub async fn post_document(
        &self,
        (content_type, bytes): (&'static str, Vec<u8>),
        headers: Vec<(HeaderName, HeaderValue)>,
        trust: &Trust,
        deadline: Duration,
    ) -> Result<(u16, Bytes), Failure> {
        self.send(Payload { content_type, bytes: bytes.into() }, headers, trust, deadline).await
    }

    async fn send(
        &self,
        payload: Payload,
        secrets: Vec<(HeaderName, HeaderValue)>,
        trust: &Trust,
        deadline: Duration,
    ) -> Result<(u16, Bytes), Failure> {
        let transport = Transport::new(self.address.clone(), trust, deadline)
            .map_err(|error| Failure::Tls { cause: error.to_string(), fingerprint: None })?;
        let request =
            Request { method: Method::POST, target: self.target.clone(), secrets, body: Some(payload) };
        let answer = transport.exchange(request, None).await?;
        Ok((answer.status.as_u16(), answer.body))
    }
}

/// The scheme, host and port only.
impl fmt::Display for PostUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl fmt::Debug for PostUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostUrl({})", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_their_paths_are_not_printed() {
        for (text, shown, whole) in [
            ("https://hooks.example/a?b=c", "https://hooks.example", "https://hooks.example/a?b=c"),
            ("HTTP://127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("https://[fd00::1]:444?x", "https://[fd00::1]:444", "https://[fd00::1]:444/?x"),
        ] {
            let url = PostUrl::parse(text).unwrap();
            assert_eq!((url.to_string(), url.secret_text()), (shown.to_owned(), whole.to_owned()));
            assert!(!format!("{url:?}").contains('?'));
            assert_eq!(PostUrl::parse(whole), Ok(url));
        }
    }

    #[test]
    fn other_urls_are_refused_without_being_repeated() {
        for text in [
            "",
            "secret",
            "ftp://secret",
            "file:///secret",
            "gopher://secret",
            "https://user:secret@host/",
            "https://evil@host",
            "https:///secret",
            "https://host:0/secret",
            "https://ho st/secret",
            "https://host/sec ret",
            "https://host/x#secret",
            "https://host\r\nx: secret/",
        ] {
            let error = PostUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains("next:") && !error.contains("secret"), "{text}: {error}");
        }
    }
}
