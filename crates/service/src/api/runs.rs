//! `/api/v3/runs`: posting, listing and stopping runs.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::idempotency::idempotency_key;
use super::post_answers::{IdempotencyKey, PostAnswers};
use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::body::{self, EXAMPLE, JsonForm, KeysForm};
use crate::database::{AskedRun, AskedState};
use crate::new_work::NewWork;
use crate::problem::Problem;
use crate::schedules::{CallState, GateView, Schedules, WebhookCall};
use crate::work::{FieldFault, RunKind, object};

/// The media type of experiments.
const YAML: &str = "application/yaml";
/// That of other work.
pub(super) const JSON: &str = "application/json";

/// A run with the paths to everything about it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunView {
    #[serde(flatten)]
    run: AskedRun,
    /// The id of the schedule that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<String>,
    /// How it compares with earlier runs of its schedule, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateView>,
    /// The call of its schedule's webhook, if there was a reason for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<CallView>,
    links: Links,
}

/// A call of a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookCall)]
struct CallView {
    /// How far it got.
    state: CallState,
    /// Attempts so far.
    attempts: u32,
    /// Why the last attempt failed.
    #[schema(required = true)]
    error: Option<String>,
}

impl From<WebhookCall> for CallView {
    fn from(WebhookCall { state, attempts, error, .. }: WebhookCall) -> Self {
        Self { state, attempts, error }
    }
}

/// Paths of the service.
#[derive(Debug, Serialize, ToSchema)]
struct Links {
    #[serde(rename = "self")]
    own: String,
    events: String,
    cells: String,
    intervals: String,
    report: String,
    /// The experiment as it was posted; absent for other work.
    #[serde(skip_serializing_if = "Option::is_none")]
    experiment: Option<String>,
    /// What it found; absent for an experiment, whose results are its cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// What was posted, without secrets.
    request: String,
}

/// A run as responses show it.
pub(super) fn view(schedules: &Schedules, run: AskedRun) -> Result<RunView, Problem> {
    let scheduled = schedules.of_run(&run.id)?;
    let own = format!("/api/v3/runs/{}", run.id);
    let below = |name: &str| format!("{own}/{name}");
    let is_experiment = run.kind == RunKind::Experiment;
    let links = Links {
        events: below("events"),
        cells: below("cells"),
        intervals: below("intervals"),
        report: below("report"),
        experiment: is_experiment.then(|| below("experiment")),
        result: (!is_experiment).then(|| below("result")),
        request: below("request"),
        own,
    };
    let (schedule, gate, call) =
        scheduled.map_or((None, None, None), |found| (Some(found.schedule), found.gate, found.call));
    Ok(RunView { run, schedule, gate, webhook: call.map(CallView::from), links })
}

/// Adds an experiment to the queue
#[utoipa::path(
    post, path = "/api/v3/runs", operation_id = "createRun", tag = "runs",
    params(IdempotencyKey),
    request_body(content(
        (Object = "application/yaml", example = json!(EXAMPLE)),
        (JsonForm = "application/json", example = json!({ "experiment": EXAMPLE }))
    ), description = "An experiment file (schemas/experiment.schema.json)"),
    responses(
        PostAnswers,
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("show" = (operation_id = "showRun", parameters(("id" = "$response.body#/id")))),
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("resume" = (operation_id = "resumeRun", parameters(("id" = "$response.body#/id")))),
            ("events" = (operation_id = "runEvents", parameters(("id" = "$response.body#/id")))),
            ("experiment" = (operation_id = "runExperiment", parameters(("id" = "$response.body#/id")))),
            ("cells" = (operation_id = "runCells", parameters(("id" = "$response.body#/id")))),
            ("intervals" = (operation_id = "runIntervals", parameters(("id" = "$response.body#/id")))),
            ("report" = (operation_id = "runReport", parameters(("id" = "$response.body#/id")))),
            ("compare" = (operation_id = "compareRuns", parameters(("id" = "$response.body#/id"), ("with" = "$response.body#/id"))))
         )),
        (status = 415, description = "The body is neither YAML nor JSON"),
        (status = 422, description = "The experiment has faults, uses what this service does not allow, or came with the \
                                      Idempotency-Key of another one")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (given, _held) = body::read(&headers, body, &state.bodies).await?;
    blocking(move || post(&state, given, key.as_deref())).await
}

/// Adds work that is described by the fields of a JSON object, such as `example`.
pub(super) async fn post_fields(
    state: ApiState,
    headers: HeaderMap,
    body: Body,
    example: &'static str,
    work: fn(Map<String, Value>) -> Result<NewWork, FieldFault>,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    blocking(move || post(&state, work(object(&bytes, example)?)?, key.as_deref())).await
}

/// Adds work, unless a request with the same idempotency key did.
pub(super) fn post(state: &ApiState, work: NewWork, key: Option<&str>) -> Result<Response, Problem> {
    let posted = state.queue.post(work, key)?;
    let view = view(&state.schedules, posted.run)?;
    let status = if posted.new { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, [(header::LOCATION, view.links.own.clone())], Json(view)).into_response())
}

/// The parameters of a list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The id of the last run of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u32>,
}

/// A page of runs.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunPage {
    runs: Vec<RunView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The runs, newest first
#[utoipa::path(
    get, path = "/api/v3/runs", operation_id = "listRuns", tag = "runs",
    params(ListQuery),
    responses(
        (status = 200, description = "A page of runs", body = RunPage),
        (status = 404, description = "There is no run with the id `after`")
    )
)]
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
        let runs = runs.into_iter().map(|run| view(&state.schedules, run)).collect::<Result<_, _>>()?;
        Ok(Json(RunPage { runs, next }))
    })
    .await
}

/// One run
#[utoipa::path(
    get, path = "/api/v3/runs/{id}", operation_id = "showRun", tag = "runs",
    params(RunPath),
    responses(
        (status = 200, description = "The run", body = RunView),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn show(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<impl IntoResponse, Problem> {
    blocking(move || Ok(Json(view(&state.schedules, state.queue.run(&id)?)?))).await
}

/// The experiment of a run, as it was posted
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/experiment", operation_id = "runExperiment", tag = "runs",
    params(RunPath),
    responses(
        (status = 200, description = "The text of the experiment file", body = Object, content_type = "application/yaml"),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run is no experiment (`not-an-experiment`)")
    )
)]
pub(crate) async fn experiment(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<impl IntoResponse, Problem> {
    let text = blocking(move || {
        let run = state.queue.run(&id)?;
        if run.kind != RunKind::Experiment {
            let detail = format!(
                "run {id} is {}; next: GET /api/v3/runs/{id}/request for what was posted",
                run.kind.words()
            );
            return Err(Problem::new(StatusCode::CONFLICT, "not-an-experiment", detail));
        }
        state.queue.request(&run)
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, YAML)], text))
}

/// What was posted as a run, without secrets
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/request", operation_id = "runRequest", tag = "runs",
    params(RunPath),
    responses(
        (status = 200, description = "The text of an experiment file, or the JSON of other work",
         content((Object = "application/yaml"), (Object = "application/json"))),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn request(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<impl IntoResponse, Problem> {
    let (kind, text) = blocking(move || {
        let run = state.queue.run(&id)?;
        Ok((run.kind, state.queue.request(&run)?))
    })
    .await?;
    let media = if kind == RunKind::Experiment { YAML } else { JSON };
    Ok(([(header::CONTENT_TYPE, media)], text))
}

/// Stops a run, or takes it from the queue
///
/// The measurement ends with its current interval and is kept; a second request stops it at once. A run that has ended stays
/// as it is.
#[utoipa::path(
    post, path = "/api/v3/runs/{id}/stop", operation_id = "stopRun", tag = "runs",
    params(RunPath),
    responses(
        (status = 202, description = "The run is ending", body = RunView),
        (status = 200, description = "The run has ended", body = RunView),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run belongs to another service with the same database")
    )
)]
pub(crate) async fn stop(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
) -> Result<Response, Problem> {
    blocking(move || {
        let run = state.queue.stop(&id)?;
        let status = if run.state == AskedState::Running { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok((status, Json(view(&state.schedules, run)?)).into_response())
    })
    .await
}

/// Resumes an interrupted or failed run
///
/// It returns to the queue under its id. Finished cells are kept; the others run. A run that waits or runs stays as it is. Keys
/// that came with the run were in memory only, so they are sent again.
#[utoipa::path(
    post, path = "/api/v3/runs/{id}/resume", operation_id = "resumeRun", tag = "runs",
    params(RunPath),
    request_body(content = Option<KeysForm>, description = "Nothing, or the keys for its targets"),
    responses(
        (status = 202, description = "The run, in the queue again", body = RunView),
        (status = 200, description = "The run already waits or runs", body = RunView),
        (status = 404, description = "There is no such run"),
        (status = 408, description = "The body arrived too slowly"),
        (status = 409, description = "There is nothing to resume: the run is finished (`finished`), has no results \
                                      (`no-results`), or is no experiment (`not-an-experiment`); its secrets are missing (`secrets`); or it belongs to another service \
                                      with the same database (`another-service`)"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 422, description = "The experiment uses what this service no longer allows"),
        (status = 503, description = "The queue is full, or the service is ending")
    )
)]
pub(crate) async fn resume(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let keys = body::keys(&headers, body, &state.bodies).await?;
    blocking(move || {
        let resumed = state.queue.resume(&id, keys)?;
        let status = if resumed.new { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok((status, Json(view(&state.schedules, resumed.run)?)).into_response())
    })
    .await
}

/// Stops a run, as `/stop` does; its results stay
#[utoipa::path(
    delete, path = "/api/v3/runs/{id}", operation_id = "removeRun", tag = "runs",
    params(RunPath),
    responses(
        (status = 202, description = "The run is ending", body = RunView),
        (status = 200, description = "The run has ended", body = RunView),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run belongs to another service with the same database")
    )
)]
pub(crate) async fn remove(state: State<ApiState>, run: RunPath) -> Result<Response, Problem> {
    stop(state, run).await
}
