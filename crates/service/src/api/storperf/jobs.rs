//! Jobs and initializations.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, IntoResponses};

use super::Refusal;
use super::document::{InitializationBody, JobBody, JobId, StoppedHosts, StoppedJob};
use crate::api::results::stored;
use crate::api::{ApiState, blocking, parameters};
use crate::body;
use crate::database::AskedState;
use crate::new_work::{NewWork, RunSecrets};
use crate::problem::Problem;
use crate::queue::RunQueue;
use crate::storperf::{self, GroupBook, JobRequest, StorperfJob};

/// Maximum number of jobs in a list.
const LISTED: u32 = 1000;
/// Maximum number of reports in a list; each can have megabytes.
const REPORTS: u32 = 50;

/// Which job, and what of it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// The job's id; `job_id` means the same
    #[serde(alias = "job_id")] // what the original's documents say
    id: Option<String>,
    /// `metrics`, `metadata` or `status`
    #[serde(rename = "type")]
    #[param(pattern = "^(metrics|metadata|status)$")]
    kind: Option<String>,
}

/// Reads a request's body.
type ReadJob = fn(&[u8], &GroupBook) -> Result<JobRequest, Problem>;

/// Fills a target
#[utoipa::path(
    post, path = "/api/v1.0/initializations", operation_id = "initialize", tag = "jobs",
    request_body = InitializationBody, responses(Added)
)]
pub(super) async fn initialize(
    state: State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<JobId>, Refusal> {
    add(state, headers, body, storperf::initialization).await
}

/// Adds a job
#[utoipa::path(
    post, path = "/api/v1.0/jobs", operation_id = "createJob", tag = "jobs",
    request_body = JobBody, responses(Added)
)]
pub(super) async fn create(
    state: State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<JobId>, Refusal> {
    add(state, headers, body, storperf::job).await
}

/// Adds a job, as in version 1.0
#[utoipa::path(
    post, path = "/api/v2.0/jobs", operation_id = "createJobV2", tag = "jobs",
    request_body = JobBody, responses(Added)
)]
pub(super) async fn create_v2(
    state: State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<JobId>, Refusal> {
    add(state, headers, body, storperf::job).await
}

/// What posting a job can be answered.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "described")]
enum Added {
    /// The job is in the queue
    #[response(status = 200)]
    Queued(#[to_schema] JobId),
    /// The body arrived too slowly
    #[response(status = 408)]
    Slow,
    /// The body is too large
    #[response(status = 413)]
    Large,
    /// The body is not JSON
    #[response(status = 415)]
    OtherType,
    /// The queue is full, or the service is ending or busy
    #[response(status = 503)]
    Unavailable,
}

async fn add(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
    read: ReadJob,
) -> Result<Json<JobId>, Refusal> {
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    let posted = blocking(move || {
        let queue = &state.queue;
        let request = read(&bytes, &queue.groups())?;
        let text = storperf::experiment(&request, queue.storperf_sample())?;
        let JobRequest { job, login, .. } = request;
        let secrets = RunSecrets { login, ..RunSecrets::default() };
        queue.post(NewWork { secrets, storperf: Some(job), ..NewWork::experiment(text) }, None)
    })
    .await?;
    Ok(Json(JobId { job_id: posted.run.id }))
}

/// Jobs, or one job's metrics, metadata or status
///
/// Without an id: `job_ids`, newest first; with `type=status` the status of each, with `type=metadata` the reports of the
/// newest. With an id: its metrics, or what `type` says.
#[utoipa::path(
    get, path = "/api/v1.0/jobs", operation_id = "showJobs", tag = "jobs", params(JobQuery),
    responses(
        (status = 200, description = "What was asked for", body = Object),
        (status = 404, description = "There is no such job")
    )
)]
pub(super) async fn show(
    State(state): State<ApiState>,
    query: Result<Query<JobQuery>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let JobQuery { id, kind } = parameters(query)?;
    let kind = Kind::of(kind.as_deref())?;
    let answer = blocking(move || match id {
        Some(id) => one(&state.queue, &id, kind),
        None => all(&state.queue, kind),
    });
    Ok(Json(answer.await?))
}

/// What a request wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Usual,
    Metrics,
    Metadata,
    Status,
}

impl Kind {
    fn of(text: Option<&str>) -> Result<Self, Problem> {
        match text {
            None => Ok(Self::Usual),
            Some("metrics") => Ok(Self::Metrics),
            Some("metadata") => Ok(Self::Metadata),
            Some("status") => Ok(Self::Status),
            Some(other) => {
                Err(Problem::bad_request("query", format!("type={other}: write metrics, metadata or status")))
            }
        }
    }
}

fn one(queue: &RunQueue, id: &str, kind: Kind) -> Result<Value, Problem> {
    let job = queue.storperf_job(id)?;
    let run = queue.run(id)?;
    let stored = stored(queue, id)?;
    let answer = match kind {
        Kind::Usual | Kind::Metrics => storperf::metrics(stored.as_ref()),
        Kind::Metadata => storperf::metadata(&job, &run, stored.as_ref()),
        Kind::Status => storperf::status(&run, stored.as_ref()),
    };
    answer.map_err(Problem::internal)
}

fn all(queue: &RunQueue, kind: Kind) -> Result<Value, Problem> {
    let failed = |error: store::StoreError| Problem::internal(error);
    match kind {
        Kind::Usual | Kind::Metrics => {
            let jobs = queue.storperf_jobs(LISTED)?;
            Ok(json!({ "job_ids": jobs.into_iter().map(|(run, _)| run.id).collect::<Vec<_>>() }))
        }
        Kind::Metadata => {
            let mut results = Vec::new();
            for (run, job) in queue.storperf_jobs(REPORTS)? {
                let stored = stored(queue, &run.id)?;
                if let Some(mut report) =
                    storperf::finished_report(&job, &run, stored.as_ref()).map_err(failed)?
                {
                    report["_id"] = run.id.into();
                    results.push(report);
                }
            }
            Ok(json!({ "results": results }))
        }
        Kind::Status => {
            let mut all = serde_json::Map::new();
            for (run, _) in queue.storperf_jobs(LISTED)? {
                // The cells of one job are in its own status.
                all.insert(run.id.clone(), storperf::status(&run, None).map_err(failed)?);
            }
            Ok(all.into())
        }
    }
}

/// Stops a job: the one named, else the newest that has not ended
#[utoipa::path(
    delete, path = "/api/v1.0/jobs", operation_id = "stopJob", tag = "jobs", params(JobQuery),
    responses(
        (status = 200, description = "It is ending, or has ended; asked again, it ends at once", body = StoppedJob),
        (status = 404, description = "There is no such job")
    )
)]
pub(super) async fn stop(
    State(state): State<ApiState>,
    query: Result<Query<JobQuery>, QueryRejection>,
) -> Result<Json<StoppedJob>, Refusal> {
    let JobQuery { id, .. } = parameters(query)?;
    let hosts = blocking(move || {
        let queue = &state.queue;
        let (run, job): (_, StorperfJob) = match id {
            Some(id) => (queue.run(&id)?, queue.storperf_job(&id)?),
            None => {
                let jobs = queue.storperf_jobs(LISTED)?;
                let going = |state| matches!(state, AskedState::Queued | AskedState::Running);
                match jobs.into_iter().find(|(run, _)| going(run.state)) {
                    Some(found) => found,
                    None => return Ok(StoppedHosts::None(true)),
                }
            }
        };
        queue.stop(&run.id)?;
        Ok(StoppedHosts::Of(job.hosts))
    })
    .await?;
    Ok(Json(StoppedJob { hosts }))
}
