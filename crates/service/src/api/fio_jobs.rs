//! `/api/v3/fio-jobs`: fio's job files as runs.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::idempotency::idempotency_key;
use super::post_answers::{IdempotencyKey, PostAnswers};
use super::runs::{RunView, post};
use super::{ApiState, blocking};
use crate::body::{self, HeldBytes};
use crate::fio_jobs::{ConvertedJobs, FioJobs, convert};
use crate::policy;
use crate::problem::Problem;

/// What runs are called whose request names none.
const USUAL_NAME: &str = "fio";

/// A job file without storage, for the documents.
const EXAMPLE: &str = "[global]\nioengine=null\nsize=1m\nbs=4k\n[read]\nrw=randread\nio_size=4m\n";

/// Jobs to run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FioJobs)]
pub(crate) struct FioForm {
    /// The text of a job file. Files have absolute paths, or are below the absolute path of `directory=`. It includes no
    /// other files and sees no environment variables.
    #[schema(max_length = 1_048_576)]
    jobs: String,
    /// What the run is called
    #[serde(default)]
    #[schema(default = "fio", min_length = 1, max_length = 200)]
    name: Option<String>,
    /// The hosts whose agents run all jobs at the same time, as `user@host:port` or ranges such as `node[01-16]`; without
    /// them the jobs run on the service's own host
    #[serde(default)]
    #[schema(max_items = 10_000)]
    hosts: Vec<String>,
}

/// Jobs as an experiment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConvertedFioJobs {
    /// The equivalent experiment file, without keys.
    experiment: String,
    /// The hosts whose queue it would join.
    hosts: Vec<String>,
    cell_count: usize,
    /// What fio warns about too.
    warnings: Vec<String>,
}

/// The request's jobs, and its seed by its idempotency key: a repeated request asks for the same.
async fn jobs(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
    key: Option<&str>,
) -> Result<(FioJobs, HeldBytes), Problem> {
    let (bytes, held) = body::json(headers, body, &state.bodies).await?;
    // A job file may contain keys: an error does not quote the body.
    let form: FioForm = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!(
            "line {line}, column {column} of the body: not the expected JSON; next: send {{\"jobs\": \"the text of a job \
             file\"}}, optionally with \"name\" and \"hosts\": [\"HOST\", …]"
        );
        Problem::bad_request("json", detail)
    })?;
    let name = form.name.unwrap_or_else(|| USUAL_NAME.to_owned());
    if name.trim().is_empty() {
        return Err(Problem::bad_request("name", "name: write at least one character"));
    }
    let hosts = match form.hosts.is_empty() {
        true => Vec::new(),
        false => experiment::host_list(&form.hosts.join("\n"))
            .map_err(|fault| Problem::bad_request("hosts", format!("hosts: {fault}")))?,
    };
    let seed = key.map_or_else(|| fastrand::u64(..), seed_of);
    Ok((FioJobs { text: form.jobs, name, hosts, seed }, held))
}

/// The seed that belongs to an idempotency key.
fn seed_of(key: &str) -> u64 {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// Converts a job file into an experiment without running it
#[utoipa::path(
    post, path = "/api/v3/fio-jobs/convert", operation_id = "convertFioJobs", tag = "experiments",
    request_body(content = FioForm, example = json!({ "jobs": EXAMPLE })),
    responses(
        (status = 200, description = "The experiment", body = ConvertedFioJobs),
        (status = 408, description = "The body arrived too slowly"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 422, description = "The jobs have faults, or use what this service does not allow (`jobs`)")
    )
)]
pub(crate) async fn convert_only(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ConvertedFioJobs>, Problem> {
    let (jobs, _held) = jobs(&state, &headers, body, None).await?;
    blocking(move || {
        let ConvertedJobs { experiment, plan, warnings } = convert(jobs, state.queue.policy())?;
        let (hosts, cell_count) = (policy::hosts(&plan), plan.cells.len());
        Ok(Json(ConvertedFioJobs { experiment: experiment.text, hosts, cell_count, warnings }))
    })
    .await
}

/// Adds a job file to the queue
///
/// It becomes an experiment; everything else is as with `POST /api/v3/runs`. Keys in it stay in memory until the run ends.
#[utoipa::path(
    post, path = "/api/v3/fio-jobs", operation_id = "createFioRun", tag = "runs",
    params(IdempotencyKey),
    request_body(content = FioForm, example = json!({ "jobs": EXAMPLE })),
    responses(
        PostAnswers,
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("show" = (operation_id = "showRun", parameters(("id" = "$response.body#/id")))),
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("experiment" = (operation_id = "runExperiment", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 422, description = "The jobs have faults or use what this service does not allow (`jobs`), or came with the \
                                      Idempotency-Key of another request"),
        (status = 503, description = "The queue is full, the service is ending, or there are too many requests with large \
                                      bodies under way")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let (jobs, _held) = jobs(&state, &headers, body, key.as_deref()).await?;
    blocking(move || {
        let experiment = convert(jobs, state.queue.policy())?.experiment;
        post(&state, experiment, key.as_deref())
    })
    .await
}
