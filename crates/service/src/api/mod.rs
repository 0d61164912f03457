//! `/api/v3`: experiments, checks, network tests, calibrations and runs; `StorPerf`'s `/api/v1.0` and `/api/v2.0`; `/metrics`; their documents; and the dashboard.

mod agents;
mod arrays;
mod baselines;
mod calibrations;
mod checks;
mod clean_ups;
mod compare;
mod dashboard;
mod docs;
mod document;
mod embedded;
mod events;
mod experiments;
mod exposed;
mod fio_jobs;
mod history;
mod hosts;
mod idempotency;
mod intervals;
mod network_tests;
mod page;
mod post_answers;
mod progress;
mod results;
mod runs;
mod schedules;
mod storperf;
mod summary;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use exporters::CpuBudget;
use prometheus_client::registry::Registry;
use provision::RunId;
use tokio::sync::Semaphore;
use utoipa::{IntoParams, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, guard, guard_without_token};
use crate::body::BodyBudget;
use crate::exposition;
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::schedules::Schedules;
use docs::ApiDocument;
pub(crate) use document::stored;

/// Maximum number of event streams; the other connections stay free for requests.
const MAX_STREAMS: usize = 256;

/// What handlers share.
#[derive(Clone)]
pub(crate) struct ApiState {
    queue: Arc<RunQueue>,
    schedules: Arc<Schedules>,
    streams: Arc<Semaphore>,
    registry: Arc<Registry>,
    bodies: BodyBudget,
}

/// All routes, behind the access rules.
pub(crate) fn router(queue: Arc<RunQueue>, schedules: Arc<Schedules>, access: Arc<Access>) -> Router {
    let registry = Arc::new(exposition::registry(&queue));
    let state = ApiState {
        queue,
        schedules,
        streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        registry,
        bodies: BodyBudget::default(),
    };
    let (routes, _) = routes().split_for_parts();
    let (storperf_routes, _) = storperf::routes().split_for_parts();
    let documents = vec![
        ApiDocument { name: "manometer v3", path: "/api/v3/openapi.json", json: openapi_json() },
        ApiDocument {
            name: "StorPerf v1.0 and v2.0",
            path: "/api/v1.0/openapi.json",
            json: storperf_openapi_json(),
        },
    ];
    let public = docs::router(documents)
        .merge(dashboard::router())
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&access), guard_without_token));
    routes
        .merge(storperf_routes)
        .fallback(async || Problem::no_such_page())
        .method_not_allowed_fallback(wrong_method)
        .with_state(state)
        .layer(middleware::from_fn_with_state(access, guard))
        .merge(public)
        .layer(middleware::from_fn(harden))
}

/// The routes of `/api/v3` and `/metrics` with their descriptions.
fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(document::Frame::openapi())
        .routes(routes!(experiments::validate))
        .routes(routes!(fio_jobs::convert_only))
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(fio_jobs::create))
        .routes(routes!(checks::create))
        .routes(routes!(network_tests::create))
        .routes(routes!(calibrations::create))
        .routes(routes!(runs::show, runs::remove))
        .routes(routes!(runs::stop))
        .routes(routes!(runs::resume))
        .routes(routes!(runs::experiment))
        .routes(routes!(runs::request))
        .routes(routes!(progress::progress))
        .routes(routes!(summary::summary))
        .routes(routes!(results::cells))
        .routes(routes!(intervals::intervals))
        .routes(routes!(results::report))
        .routes(routes!(results::result))
        .routes(routes!(compare::compare))
        .routes(routes!(history::history))
        .routes(routes!(hosts::list))
        .routes(routes!(hosts::show))
        .routes(routes!(agents::list))
        .routes(routes!(agents::of_run))
        .routes(routes!(arrays::list))
        .routes(routes!(arrays::show))
        .routes(routes!(clean_ups::list))
        .routes(routes!(clean_ups::forget))
        .routes(routes!(clean_ups::create))
        .routes(routes!(baselines::list))
        .routes(routes!(baselines::show, baselines::save, baselines::remove))
        .routes(routes!(events::stream))
        .routes(routes!(schedules::list, schedules::create))
        .routes(routes!(schedules::show, schedules::remove))
        .routes(routes!(schedules::experiment))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::start))
        .routes(routes!(exposed::metrics))
}

/// The OpenAPI document of `/api/v3`, as the service serves it at `/api/v3/openapi.json`.
pub fn openapi_json() -> String {
    let document = document::complete(routes().get_openapi(), &document::problem());
    format!("{document:#}\n")
}

/// The OpenAPI document of `StorPerf`'s requests, as the service serves it at `/api/v1.0/openapi.json`.
pub fn storperf_openapi_json() -> String {
    storperf::openapi_json()
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
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct RunPath {
    /// The run's id
    #[param(pattern = "^[a-z2-7]{8}$")]
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::bad_request("path", error.body_text()))?;
        match id.parse::<RunId>() {
            Ok(id) => Ok(Self { id: id.to_string() }),
            Err(_) => Err(Problem::no_run(&id)),
        }
    }
}

/// Runs what reads files or databases outside the threads that serve connections.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let counted = move || {
        let done = work();
        CpuBudget::count_thread();
        done
    };
    let done = tokio::task::spawn_blocking(counted).await;
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
