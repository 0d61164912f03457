//! `/api/v3/runs/ID/compare`: what changed between two runs.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use provision::RunId;
use report::{CompareOptions, Document, Metric, RunComparison};
use serde::Deserialize;
use utoipa::IntoParams;

use super::results::{failed, measured, page};
use super::{ApiState, RunPath, blocking, parameters, stored as records};
use crate::problem::Problem;

/// What to compare with.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// The id of the reference run
    #[param(pattern = "^[a-z2-7]{8}$")]
    with: String,
    /// The metric: `bandwidth`, `rate`, `p50`, `p99` or `mean`, of one operation if named (`read.p99`); by default, each cell's main
    /// metric
    metric: Option<String>,
    /// What is worse by more than this share is a regression
    #[param(minimum = 0, maximum = 1, default = 0)]
    threshold: Option<f64>,
}

/// Compares a run with a reference run
///
/// The comparison of `manometer compare REFERENCE RUN`, as JSON; as a page with the charts of both runs if `Accept` prefers
/// `text/html`.
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/compare", operation_id = "compareRuns", tag = "results",
    params(RunPath, CompareQuery),
    responses(
        (status = 200, description = "The comparison; `a` is the reference", content(
            (records::RunComparison = "application/json"),
            (String = "text/html")
        )),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "One of the runs has no results yet")
    )
)]
pub(crate) async fn compare(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    headers: HeaderMap,
    query: Result<Query<CompareQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let CompareQuery { with, metric, threshold } = parameters(query)?;
    let options = options(metric.as_deref(), threshold)?;
    let as_page = prefers_page(&headers);
    blocking(move || {
        let reference: RunId = with.parse().map_err(|_| Problem::no_run(&with))?;
        let load = |id: &str| {
            let (store, record) = measured(&state.queue, id)?;
            match as_page {
                true => Document::load(&store, record),
                false => Document::load_records(&store, record),
            }
            .map_err(failed)
        };
        let (a, b) = (load(&reference.to_string())?, load(&id)?);
        let found = RunComparison::of(&a, &b, &options);
        let mut response = match as_page {
            true => page(found.html(&a, &b)).into_response(),
            false => Json(found.json()).into_response(),
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    })
    .await
}

fn options(metric: Option<&str>, threshold: Option<f64>) -> Result<CompareOptions, Problem> {
    let metrics: Result<Vec<Metric>, _> = metric.into_iter().map(str::parse).collect();
    let metrics = metrics.map_err(|error: report::MetricError| {
        Problem::new(StatusCode::BAD_REQUEST, "query", format!("metric: {error}"))
    })?;
    match threshold.unwrap_or(0.0) {
        threshold if (0.0..=1.0).contains(&threshold) => Ok(CompareOptions { metrics, threshold }),
        other => {
            let detail = format!("threshold={other}: write a share from 0 to 1, such as 0.05");
            Err(Problem::bad_request("query", detail))
        }
    }
}

/// Whether `text/html` comes before JSON and everything else in `Accept`, as browsers send it.
fn prefers_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/html")
}
