//! `/api/v3/schedules`: experiments that join the queue at given times, and the gates of their runs.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use provision::PostUrl;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::idempotency::idempotency_key;
use super::runs::{RunView, view};
use super::{ApiState, blocking};
use crate::body;
use crate::problem::Problem;
use crate::schedules::{Every, MissedRule, NewSchedule, ScheduleRecord};

/// Runs listed with a schedule.
const LISTED_RUNS: u32 = 20;
/// Next times listed.
const NEXT_TIMES: usize = 3;
/// What is worse by more than this share is slower, unless the schedule says otherwise.
const THRESHOLD: f64 = 0.05;

/// A schedule to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSchedule)]
pub(crate) struct ScheduleForm {
    /// The text of an experiment file. Keys are in memory only, so an experiment that needs some cannot be scheduled.
    #[schema(max_length = 1_048_576)]
    experiment: String,
    /// `30m`, `6h`, `1d at 02:00`, `1w on mon,thu at 02:00`
    #[schema(example = "1d at 02:00")]
    every: String,
    /// The time zone of its local times, by its name in the IANA database
    #[serde(default)]
    #[schema(default = "UTC", example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// What happens to times at which the service was down: one run for all of them, or none
    #[serde(default)]
    #[schema(default = "run")]
    missed_rule: MissedRule,
    /// A run is slower if a cell is significantly worse than in earlier runs, and by more than this share
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1, default = 0.05)]
    threshold: Option<f64>,
    /// Receives a POST with JSON when a run is slower or fails; the operator decides which hosts may
    #[serde(default)]
    #[schema(example = json!(null))]
    webhook: Option<String>,
}

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleView {
    /// Its id.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    id: String,
    /// The experiment's name.
    name: String,
    /// How often.
    every: String,
    /// The time zone of its local times.
    time_zone: String,
    /// What happens to times at which the service was down.
    missed_rule: MissedRule,
    /// What is worse by more than this share is slower.
    threshold: f64,
    /// The scheme and host of its webhook; the rest of the URL may be secret and is not returned.
    #[schema(required = true)]
    webhook: Option<String>,
    /// It starts nothing until it continues.
    paused: bool,
    /// When it was created.
    #[schema(value_type = String, format = DateTime)]
    created: Timestamp,
    /// The next times, with the offset of the time zone; none while it is paused.
    #[schema(value_type = Vec<String>)]
    next: Vec<String>,
    /// Number of times without a run because the last one was still queued.
    skipped: u64,
    /// Number of times without a run because the service was down.
    missed: u64,
    /// Why the last time had no run.
    #[schema(required = true)]
    problem: Option<String>,
    /// Its newest runs with their gates, newest first: one in a list, up to 20 on its own.
    runs: Vec<RunView>,
}

fn schedule(state: &ApiState, record: ScheduleRecord, runs: u32) -> Result<ScheduleView, Problem> {
    let runs = state.schedules.runs(&record.id, runs)?;
    let runs = runs.into_iter().map(|run| view(&state.schedules, run)).collect::<Result<_, _>>()?;
    let next = state.schedules.upcoming(&record, NEXT_TIMES);
    let next = next.iter().map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    let webhook = record.webhook.and_then(|url| PostUrl::parse(&url).ok());
    Ok(ScheduleView {
        next: next.collect(),
        webhook: webhook.map(|url| url.to_string()),
        id: record.id,
        name: record.name,
        every: record.every,
        time_zone: record.time_zone,
        missed_rule: record.missed_rule,
        threshold: record.threshold,
        paused: record.paused,
        created: record.created,
        skipped: record.skipped,
        missed: record.missed,
        problem: record.problem,
        runs,
    })
}

/// The id of a schedule in a path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SchedulePath {
    /// The schedule's id
    #[param(pattern = "^[a-z2-7]{8}$")]
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for SchedulePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        // No other text is found in the database.
        path.map(|Path(id)| Self { id }).map_err(|error| Problem::bad_request("path", error.body_text()))
    }
}

/// All schedules.
#[derive(Serialize, ToSchema)]
pub(crate) struct ScheduleList {
    schedules: Vec<ScheduleView>,
}

/// The schedules, oldest first
#[utoipa::path(
    get, path = "/api/v3/schedules", operation_id = "listSchedules", tag = "schedules",
    responses((status = 200, description = "The schedules, at most 100", body = ScheduleList))
)]
pub(crate) async fn list(State(state): State<ApiState>) -> Result<Json<ScheduleList>, Problem> {
    blocking(move || {
        let all = state.schedules.all()?.into_iter();
        let schedules = all.map(|record| schedule(&state, record, 1)).collect::<Result<_, _>>()?;
        Ok(Json(ScheduleList { schedules }))
    })
    .await
}

/// Adds a schedule
#[utoipa::path(
    post, path = "/api/v3/schedules", operation_id = "createSchedule", tag = "schedules",
    params((
        "Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "Of the requests with the same key, only the first adds a schedule; the others return it, until it is removed"
    )),
    request_body(content = ScheduleForm,
        example = json!({ "experiment": body::EXAMPLE, "every": "1d at 02:00", "time_zone": "Europe/Berlin" })),
    responses(
        (status = 201, description = "The schedule", body = ScheduleView, headers(("Location" = String, description = "Its path")),
         links(
            ("show" = (operation_id = "showSchedule", parameters(("id" = "$response.body#/id")))),
            ("pause" = (operation_id = "pauseSchedule", parameters(("id" = "$response.body#/id")))),
            ("continue" = (operation_id = "continueSchedule", parameters(("id" = "$response.body#/id")))),
            ("start" = (operation_id = "startSchedule", parameters(("id" = "$response.body#/id")))),
            ("remove" = (operation_id = "removeSchedule", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 200, description = "The schedule that an earlier request with this Idempotency-Key added", body = ScheduleView,
         headers(("Location" = String, description = "Its path"))),
        (status = 408, description = "The body arrived too slowly"),
        (status = 409, description = "The schedule that came with this Idempotency-Key belongs to another service with the same \
                                      database"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 422, description = "The experiment has faults or uses what this service does not allow; the rule, time zone or \
                                      threshold is none; the operator does not allow the webhook; or the request came with the \
                                      Idempotency-Key of another one"),
        (status = 503, description = "There are too many schedules, or too many requests with large bodies under way")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    // The webhook may be secret: an error does not quote the body.
    let form: ScheduleForm = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!(
            "line {line}, column {column} of the body: not the expected JSON; next: send {{\"experiment\": \"the text of \
             an experiment file\", \"every\": \"1d at 02:00\"}}, optionally with time_zone, missed_rule, threshold and webhook"
        );
        Problem::bad_request("json", detail)
    })?;
    let new = checked(form)?;
    blocking(move || {
        let added = state.schedules.add(new, key.as_deref())?;
        let status = if added.new { StatusCode::CREATED } else { StatusCode::OK };
        let own = format!("/api/v3/schedules/{}", added.record.id);
        let view = schedule(&state, added.record, LISTED_RUNS)?;
        Ok((status, [(header::LOCATION, own)], Json(view)).into_response())
    })
    .await
}

fn checked(form: ScheduleForm) -> Result<NewSchedule, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "schedule", detail);
    let every: Every =
        form.every.parse().map_err(|error: crate::schedules::EveryError| wrong(error.to_string()))?;
    let name = form.time_zone.as_deref().unwrap_or("UTC");
    let zone = TimeZone::get(name).map_err(|_| {
        let shown: String = name.chars().take(80).collect();
        wrong(format!(
            "time_zone: there is no time zone {shown:?}; next: write a name such as Europe/Berlin, or UTC"
        ))
    })?;
    let threshold = form.threshold.unwrap_or(THRESHOLD);
    if !(0.0..=1.0).contains(&threshold) {
        return Err(wrong(format!("threshold: {threshold}: write a share from 0 to 1, such as 0.05")));
    }
    let ScheduleForm { experiment, missed_rule, webhook, .. } = form;
    Ok(NewSchedule { experiment, every, zone, missed_rule, threshold, webhook })
}

/// One schedule, with its runs and their gates
#[utoipa::path(
    get, path = "/api/v3/schedules/{id}", operation_id = "showSchedule", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView),
        (status = 404, description = "There is no such schedule")
    )
)]
pub(crate) async fn show(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<Json<ScheduleView>, Problem> {
    blocking(move || {
        let record = state.schedules.one(&id)?;
        Ok(Json(schedule(&state, record, LISTED_RUNS)?))
    })
    .await
}

/// The experiment of a schedule, as it was posted
#[utoipa::path(
    get, path = "/api/v3/schedules/{id}/experiment", operation_id = "scheduleExperiment", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 200, description = "The text of the experiment file", body = Object, content_type = "application/yaml"),
        (status = 404, description = "There is no such schedule")
    )
)]
pub(crate) async fn experiment(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<impl IntoResponse, Problem> {
    let text = blocking(move || state.schedules.experiment(&id)).await?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text))
}

/// Removes a schedule; its runs stay
#[utoipa::path(
    delete, path = "/api/v3/schedules/{id}", operation_id = "removeSchedule", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "There is no such schedule")
    )
)]
pub(crate) async fn remove(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<StatusCode, Problem> {
    blocking(move || state.schedules.remove(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn paused(state: ApiState, id: String, paused: bool) -> Result<Json<ScheduleView>, Problem> {
    blocking(move || {
        let record = state.schedules.pause(&id, paused)?;
        Ok(Json(schedule(&state, record, LISTED_RUNS)?))
    })
    .await
}

/// Pauses a schedule; the times until it continues have no runs
#[utoipa::path(
    post, path = "/api/v3/schedules/{id}/pause", operation_id = "pauseSchedule", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView),
        (status = 404, description = "There is no such schedule")
    )
)]
pub(crate) async fn pause(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<Json<ScheduleView>, Problem> {
    paused(state, id, true).await
}

/// Continues a paused schedule, with its next time from now
#[utoipa::path(
    post, path = "/api/v3/schedules/{id}/continue", operation_id = "continueSchedule", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView),
        (status = 404, description = "There is no such schedule")
    )
)]
pub(crate) async fn resume(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<Json<ScheduleView>, Problem> {
    paused(state, id, false).await
}

/// Starts a run of a schedule now, besides its times
#[utoipa::path(
    post, path = "/api/v3/schedules/{id}/start", operation_id = "startSchedule", tag = "schedules",
    params(SchedulePath),
    responses(
        (status = 202, description = "The run, in the queue", body = RunView),
        (status = 404, description = "There is no such schedule"),
        (status = 409, description = "The last run of the schedule is still queued"),
        (status = 422, description = "The experiment uses what this service no longer allows"),
        (status = 503, description = "The queue is full, or the service is ending")
    )
)]
pub(crate) async fn start(
    State(state): State<ApiState>,
    SchedulePath { id }: SchedulePath,
) -> Result<Response, Problem> {
    blocking(move || {
        let run = state.schedules.start_now(&id)?;
        Ok((StatusCode::ACCEPTED, Json(view(&state.schedules, run)?)).into_response())
    })
    .await
}
