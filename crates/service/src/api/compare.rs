//! `/api/v3/runs/ID/compare`: what changed between two runs.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use provision::RunId;
use report::{CompareOptions, Document, RunComparison};
use serde::Deserialize;

use super::results::{failed, measured, page};
use super::{ApiState, RunPath, blocking, parameters};
use crate::problem::Problem;

/// What to compare with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareQuery {
    /// The id of the reference run.
    with: String,
}

/// Compares a run with a reference run: as JSON, or as a page if `Accept` prefers `text/html`.
pub(crate) async fn compare(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
    headers: HeaderMap,
    query: Result<Query<CompareQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let CompareQuery { with } = parameters(query)?;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let as_page = accepted.starts_with("text/html");
    blocking(move || {
        let reference: RunId = with.parse().map_err(|_| Problem::no_run(&with))?;
        let load = |id: &str| {
            let (store, record) = measured(&state.queue, id)?;
            Document::load(&store, record).map_err(failed)
        };
        let (a, b) = (load(&reference.to_string())?, load(&id)?);
        let found = RunComparison::of(&a, &b, &CompareOptions::default());
        let mut response = match as_page {
            true => page(found.html(&a, &b)).into_response(),
            false => Json(found.json()).into_response(),
        };
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
        Ok(response)
    })
    .await
}
