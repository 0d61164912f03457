//! The dashboard at `/`: embedded files, which everyone may load. They contain nothing about this service; what the page
//! shows comes from the API, with the token.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::problem::Problem;

/// A file of the dashboard.
struct EmbeddedFile {
    /// Its path below `/`.
    path: &'static str,
    content: &'static [u8],
    /// The same compressed by gzip, where that saves something.
    gzip: Option<&'static [u8]>,
}

// `static FILES: &[EmbeddedFile]`, written by the build script; without the feature `dashboard`, a single short page.
include!(concat!(env!("OUT_DIR"), "/dashboard.rs"));

/// The page loads its own scripts and styles and talks to its own service, nothing else.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                           connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                           frame-ancestors 'none'";

/// The frame that shows a report: an origin of its own, without access to the page, its token or the API.
const FRAME_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; \
                            style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; \
                            base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const FRAME: &str = "frame.html";

/// What changes its name with its content is kept for a year; the page that names it is checked each time.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const CHECKED: &str = "no-cache";

/// The routes of the files.
pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().filter(|file| !file.path.starts_with("assets/")).fold(
        Router::new()
            .route("/", get(async |headers: HeaderMap| answer(find("index.html"), &headers)))
            .route("/assets/{name}", get(asset)),
        |router, file| {
            let route = format!("/{}", file.path);
            router.route(&route, get(async move |headers: HeaderMap| answer(Some(file), &headers)))
        },
    )
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(find(&format!("assets/{name}")), &headers)
}

fn find(path: &str) -> Option<&'static EmbeddedFile> {
    FILES.iter().find(|file| file.path == path)
}

fn answer(file: Option<&'static EmbeddedFile>, request: &HeaderMap) -> Response {
    let Some(file) = file else {
        return Problem::new(StatusCode::NOT_FOUND, "no-such-page", "there is nothing at this path")
            .into_response();
    };
    let compressed = file.gzip.filter(|_| takes_gzip(request));
    let mut response = Response::new(Body::from(compressed.unwrap_or(file.content)));
    let (caching, policy, framing) = match file.path {
        path if path.starts_with("assets/") => (IMMUTABLE, PAGE_POLICY, "DENY"),
        FRAME => (CHECKED, FRAME_POLICY, "SAMEORIGIN"),
        _ => (CHECKED, PAGE_POLICY, "DENY"),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type(file.path)),
        (header::CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_FRAME_OPTIONS, framing),
        (header::VARY, "accept-encoding"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if compressed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
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

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
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

    #[test]
    fn every_file_has_a_media_type() {
        assert!(find("index.html").is_some());
        for file in FILES {
            assert_ne!(media_type(file.path), "application/octet-stream", "{}", file.path);
        }
    }
}
