//! Documents of the API for programs, and for people at `/docs` (Swagger UI). Both are the same in every service of this
//! version and tell nothing about this one, so that they need no token.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use utoipa_swagger_ui::{Config, Url};

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

/// The documents and the pages that show them.
pub(crate) fn router(documents: Vec<ApiDocument>) -> Router {
    let urls: Vec<Url<'_>> =
        documents.iter().map(|document| Url::new(document.name, document.path)).collect();
    // By default, Swagger UI would send the document to a validator on the internet.
    let config = Config::new(urls).validator_url("none").persist_authorization(false);
    let pages = Router::new()
        .route("/docs", get(async || Redirect::permanent("/docs/")))
        .route("/docs/", get(async |config| page(config, "")))
        .route("/docs/{*file}", get(async |config, Path(file): Path<String>| page(config, &file)))
        .with_state(Arc::new(config));
    documents.into_iter().fold(pages, |router, document| {
        let json: Arc<str> = document.json.into();
        let answer = async move || ([(header::CONTENT_TYPE, "application/json")], json.to_string());
        router.route(document.path, get(answer))
    })
}

/// A file of Swagger UI.
fn page(State(config): State<Arc<Config<'static>>>, file: &str) -> Response {
    match utoipa_swagger_ui::serve(file, config) {
        Ok(Some(found)) => {
            let kind = HeaderValue::from_str(&found.content_type);
            let headers = [
                (header::CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("application/octet-stream"))),
                (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
            ];
            (headers, found.bytes.into_owned()).into_response()
        }
        Ok(None) => Problem::new(StatusCode::NOT_FOUND, "no-such-page", "there is nothing at this path")
            .into_response(),
        Err(error) => Problem::internal(error).into_response(),
    }
}
