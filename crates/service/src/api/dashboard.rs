//! The dashboard at `/`: embedded files, which everyone may load. They contain nothing about this service; what the page
//! shows comes from the API, with the token.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::embedded::EmbeddedFile;
use crate::problem::Problem;

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
        return Problem::no_such_page().into_response();
    };
    let mut response = file.answer(request);
    let (caching, policy, framing) = match file.path {
        path if path.starts_with("assets/") => (IMMUTABLE, PAGE_POLICY, "DENY"),
        FRAME => (CHECKED, FRAME_POLICY, "SAMEORIGIN"),
        _ => (CHECKED, PAGE_POLICY, "DENY"),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_FRAME_OPTIONS, framing),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_served() {
        assert!(find("index.html").is_some());
        super::super::embedded::check(FILES);
    }
}
