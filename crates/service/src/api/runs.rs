//! `/api/v3/runs`: posting, listing and stopping runs.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::body;
use crate::database::{AskedRun, AskedState};
use crate::problem::Problem;

/// Maximum length of an idempotency key.
const LONGEST_KEY: usize = 255;

/// A run with the paths to everything about it.
#[derive(Debug, Serialize)]
struct RunView {
    #[serde(flatten)]
    run: AskedRun,
    links: Links,
}

#[derive(Debug, Serialize)]
struct Links {
    #[serde(rename = "self")]
    own: String,
    events: String,
    cells: String,
    intervals: String,
    report: String,
}

fn view(run: AskedRun) -> RunView {
    let own = format!("/api/v3/runs/{}", run.id);
    let below = |name: &str| format!("{own}/{name}");
    let links = Links {
        events: below("events"),
        cells: below("cells"),
        intervals: below("intervals"),
        report: below("report"),
        own,
    };
    RunView { run, links }
}

/// Adds an experiment to the queue.
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let given = body::read(&headers, body).await?;
    let posted = blocking(move || state.queue.post(given, key.as_deref())).await?;
    let status = if posted.new { StatusCode::ACCEPTED } else { StatusCode::OK };
    let view = view(posted.run);
    Ok((status, [(header::LOCATION, view.links.own.clone())], Json(view)).into_response())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(text) if (1..=LONGEST_KEY).contains(&text.len()) => Ok(Some(text.to_owned())),
        _ => Err(Problem::bad_request(
            "idempotency-key",
            format!("an Idempotency-Key has 1 to {LONGEST_KEY} characters of ASCII"),
        )),
    }
}

/// The parameters of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    after: Option<String>,
    limit: Option<u32>,
}

/// A page of runs.
#[derive(Serialize)]
pub(crate) struct RunPage {
    runs: Vec<RunView>,
    /// The next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The runs, newest first.
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<RunPage>, Problem> {
    let ListQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 50, 500)?;
    blocking(move || {
        let mut runs = state.queue.page(after.as_deref(), limit + 1)?;
        let more = runs.len() > limit as usize;
        runs.truncate(limit as usize);
        let last = runs.last().filter(|_| more);
        let next = last.map(|run| format!("/api/v3/runs?limit={limit}&after={}", run.id));
        Ok(Json(RunPage { runs: runs.into_iter().map(view).collect(), next }))
    })
    .await
}

/// One run.
pub(crate) async fn show(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
) -> Result<impl IntoResponse, Problem> {
    blocking(move || Ok(Json(view(state.queue.run(&id)?)))).await
}

/// The experiment of a run, as it was posted.
pub(crate) async fn experiment(
    State(state): State<ApiState>,
    RunPath(id): RunPath,
) -> Result<impl IntoResponse, Problem> {
    let text = blocking(move || state.queue.experiment(&id)).await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text))
}

/// Stops a run, or takes it from the queue.
pub(crate) async fn stop(State(state): State<ApiState>, RunPath(id): RunPath) -> Result<Response, Problem> {
    blocking(move || {
        let run = state.queue.stop(&id)?;
        let status = if run.state == AskedState::Running { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok((status, Json(view(run))).into_response())
    })
    .await
}
