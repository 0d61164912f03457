//! Documents of the API for programs, and for people at `/docs` (Swagger UI). Both are the same in every service of this
//! version and tell nothing about this one, so that they need no token.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use serde_json::json;

use super::embedded::EmbeddedFile;
use crate::problem::Problem;

/// A document that Swagger UI offers.
pub(crate) struct ApiDocument {
    /// Its name in the list.
    pub name: &'static str,
    /// Its path in the service.
    pub path: &'static str,
    /// The document, as JSON.
    pub json: String,
}

/// What the pages may load and do: their own files and requests to this service.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                           connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// `static FILES: &[EmbeddedFile]`, written by the build script.
include!(concat!(env!("OUT_DIR"), "/swagger_ui.rs"));

/// The documents and the pages that show them.
pub(crate) fn router(documents: Vec<ApiDocument>) -> Router {
    let initializer: Arc<str> = initializer(&documents).into();
    let start = async move || {
        with_policy(([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], initializer.to_string()))
    };
    let pages = Router::new()
        .route("/docs", get(async || Redirect::permanent("/docs/")))
        .route("/docs/", get(async |headers: HeaderMap| page("index.html", &headers)))
        .route("/docs/swagger-initializer.js", get(start))
        .route(
            "/docs/{*file}",
            get(async |Path(file): Path<String>, headers: HeaderMap| page(&file, &headers)),
        );
    documents.into_iter().fold(pages, |router, document| {
        let json: Arc<str> = document.json.into();
        let answer = async move || ([(header::CONTENT_TYPE, "application/json")], json.to_string());
        router.route(document.path, get(answer))
    })
}

/// The script with which Swagger UI's page starts: which documents it offers, and the layout that offers several.
fn initializer(documents: &[ApiDocument]) -> String {
    let urls: Vec<_> =
        documents.iter().map(|document| json!({ "name": document.name, "url": document.path })).collect();
    // By default, Swagger UI would send the document to a validator on the internet.
    let settings = json!({
        "dom_id": "#swagger-ui",
        "urls": urls,
        "deepLinking": true,
        "validatorUrl": "none",
        "persistAuthorization": false,
        "layout": "StandaloneLayout",
    });
    format!(
        "window.onload = () => {{\n  window.ui = SwaggerUIBundle({{\n    ...{settings:#},\n    \
         presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],\n    \
         plugins: [SwaggerUIBundle.plugins.DownloadUrl],\n  }});\n}};\n"
    )
}

/// A file of Swagger UI.
fn page(path: &str, request: &HeaderMap) -> Response {
    match FILES.iter().find(|file| file.path == path) {
        Some(file) => with_policy(file.answer(request)),
        None => Problem::no_such_page().into_response(),
    }
}

fn with_policy(answer: impl IntoResponse) -> Response {
    ([(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY))], answer).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_served() {
        super::super::embedded::check(FILES);
    }
}
