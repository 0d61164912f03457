//! `/api/v3`: experiments and runs; `/metrics`; and the dashboard.

mod compare;
mod dashboard;
mod events;
mod experiments;
mod exposed;
mod history;
mod progress;
mod results;
mod runs;
mod summary;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use prometheus_client::registry::Registry;
use provision::RunId;
use tokio::sync::Semaphore;

use crate::access::{Access, guard, guard_without_token};
use crate::exposition;
use crate::problem::Problem;
use crate::queue::RunQueue;

/// Maximum number of event streams; the other connections stay free for requests.
const MAX_STREAMS: usize = 256;

/// What handlers share.
#[derive(Clone)]
pub(crate) struct ApiState {
    queue: Arc<RunQueue>,
    streams: Arc<Semaphore>,
    registry: Arc<Registry>,
}

/// All routes, behind the access rules.
pub(crate) fn router(queue: Arc<RunQueue>, access: Arc<Access>) -> Router {
    let registry = Arc::new(exposition::registry(&queue));
    let state = ApiState { queue, streams: Arc::new(Semaphore::new(MAX_STREAMS)), registry };
    let public = dashboard::router()
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&access), guard_without_token));
    Router::new()
        .route("/api/v3/experiments/validate", post(experiments::validate))
        .route("/api/v3/runs", get(runs::list).post(runs::create))
        .route("/api/v3/runs/{id}", get(runs::show).delete(runs::stop))
        .route("/api/v3/runs/{id}/stop", post(runs::stop))
        .route("/api/v3/runs/{id}/experiment", get(runs::experiment))
        .route("/api/v3/runs/{id}/progress", get(progress::progress))
        .route("/api/v3/runs/{id}/summary", get(summary::summary))
        .route("/api/v3/runs/{id}/compare", get(compare::compare))
        .route("/api/v3/history", get(history::history))
        .route("/api/v3/runs/{id}/cells", get(results::cells))
        .route("/api/v3/runs/{id}/intervals", get(results::intervals))
        .route("/api/v3/runs/{id}/report", get(results::report))
        .route("/api/v3/runs/{id}/events", get(events::stream))
        .route("/metrics", get(exposed::metrics))
        .fallback(async || {
            Problem::new(StatusCode::NOT_FOUND, "no-such-page", "there is nothing at this path")
        })
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
        .layer(middleware::from_fn_with_state(access, guard))
        .merge(public)
        .layer(middleware::from_fn(harden))
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "this path has no such method")
}

/// Headers of every response: nothing is guessed, framed or kept by caches.
async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The id of a run in a path; whatever is no id names no run.
pub(crate) struct RunPath(String);

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::bad_request("path", error.body_text()))?;
        match id.parse::<RunId>() {
            Ok(id) => Ok(Self(id.to_string())),
            Err(_) => Err(Problem::no_run(&id)),
        }
    }
}

/// Runs what reads files or databases outside the threads that serve connections.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal("this request failed by a defect of the service")))
}

/// The parameters of a query.
fn parameters<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    match query {
        Ok(Query(parameters)) => Ok(parameters),
        Err(error) => Err(Problem::bad_request("query", error.body_text())),
    }
}

/// A page size: what was requested, within bounds.
fn page_size(limit: Option<u32>, usual: u32, most: u32) -> Result<u32, Problem> {
    match limit {
        None => Ok(usual),
        Some(limit) if (1..=most).contains(&limit) => Ok(limit),
        Some(limit) => {
            Err(Problem::bad_request("query", format!("limit={limit}: write a number from 1 to {most}")))
        }
    }
}
