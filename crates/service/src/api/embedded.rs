//! Files in the binary, which stay compressed if the client takes gzip.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use miniz_oxide::inflate;

/// A file that the build script found.
pub(super) struct EmbeddedFile {
    /// Its path below the place where such files are served.
    pub path: &'static str,
    /// Its content, compressed by gzip if `gzip` says so.
    pub stored: &'static [u8],
    pub gzip: bool,
}

/// Header and trailer of a gzip file without a name (RFC 1952, section 2.3), as the build script writes them.
const GZIP_HEADER_BYTES: usize = 10;
const GZIP_TRAILER_BYTES: usize = 8;

impl EmbeddedFile {
    /// The file as an answer, without headers for caching and policy.
    pub(super) fn answer(&self, request: &HeaderMap) -> Response {
        let compressed = self.gzip && takes_gzip(request);
        let body = match compressed {
            true => Body::from(self.stored),
            false => match self.content() {
                Cow::Borrowed(bytes) => Body::from(bytes),
                Cow::Owned(bytes) => Body::from(bytes),
            },
        };
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type()));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if compressed {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    /// The content as it was before compression.
    fn content(&self) -> Cow<'static, [u8]> {
        if !self.gzip {
            return self.stored.into();
        }
        let deflated = &self.stored[GZIP_HEADER_BYTES..self.stored.len() - GZIP_TRAILER_BYTES];
        inflate::decompress_to_vec(deflated).expect("the build script stored a valid gzip file").into()
    }

    fn media_type(&self) -> &'static str {
        match self.path.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            _ => "application/octet-stream",
        }
    }
}

/// Whether gzip is among the accepted encodings, and not excluded by `q=0`.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok());
        named && weight.unwrap_or(1.0) > 0.0
    })
}

/// Checks of a table of files.
#[cfg(test)]
pub(super) fn check(files: &'static [EmbeddedFile]) {
    for file in files {
        assert_ne!(file.media_type(), "application/octet-stream", "{}", file.path);
        let content = file.content();
        if file.gzip {
            let trailer = &file.stored[file.stored.len() - 4..];
            assert_eq!(trailer, (content.len() as u32).to_le_bytes(), "{}", file.path);
            assert!(content.len() > file.stored.len(), "{}", file.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_whoever_takes_it() {
        for (accepted, takes) in
            [("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false), ("", false)]
        {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
            assert_eq!(takes_gzip(&headers), takes, "{accepted}");
        }
    }
}
