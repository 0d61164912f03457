//! Reads the experiment of a request: bounded in size and time.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;
use serde::Deserialize;
use targets::AccessKey;
use utoipa::ToSchema;

use crate::new_experiment::NewExperiment;
use crate::problem::Problem;

/// Maximum size of a body: an experiment of the maximum size (1 MiB) with every other character escaped in JSON.
const MAX_BYTES: usize = 2 << 20;

/// Maximum time for a body to arrive.
const DEADLINE: Duration = Duration::from_secs(20);

/// A short experiment against a simulated target, for the documents.
pub(crate) const EXAMPLE: &str = "\
name: example
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

/// An experiment and the keys for its targets.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PostedExperiment)]
pub(crate) struct JsonForm {
    /// The text of an experiment file.
    #[schema(max_length = 1_048_576)]
    experiment: String,
    /// Keys by the names of the targets. They stay in memory until the run ends.
    #[serde(default)]
    keys: BTreeMap<String, KeyForm>,
}

/// The keys for the targets of an experiment that the service has.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GivenKeys)]
pub(crate) struct KeysForm {
    /// Keys by the names of the targets. They stay in memory until the run ends.
    #[serde(default)]
    keys: BTreeMap<String, KeyForm>,
}

/// An access key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AccessKey)]
struct KeyForm {
    id: String,
    secret: String,
    /// The session token of a temporary key.
    #[serde(default)]
    token: Option<String>,
}

/// Reads the body of a request with an experiment.
///
/// # Errors
/// It is too large, too slow, of another type, or malformed.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<NewExperiment, Problem> {
    let json = is_json(headers)?;
    let bytes = bytes(headers, body).await?;
    if !json {
        let text = experiment::decode("experiment", &bytes).map_err(Problem::faults)?;
        return Ok(NewExperiment::of(text.to_owned()));
    }
    // An error names the position and what was expected; with a wrong type it may quote a value, so a secret.
    let form: JsonForm = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!(
            "line {line}, column {column} of the body: not the expected JSON; next: send {{\"experiment\": \"the text of \
             an experiment file\"}}, optionally with \"keys\": {{\"TARGET\": {{\"id\": …, \"secret\": …}}}}"
        );
        Problem::bad_request("json", detail)
    })?;
    Ok(NewExperiment { keys: access_keys(form.keys), ..NewExperiment::of(form.experiment) })
}

fn access_keys(keys: BTreeMap<String, KeyForm>) -> BTreeMap<String, AccessKey> {
    let keys = keys.into_iter().map(|(target, key)| {
        let KeyForm { id, secret, token } = key;
        (target, AccessKey { id, secret, token })
    });
    keys.collect()
}

/// Reads the body of a request that may bring keys for an experiment: JSON, or empty.
///
/// # Errors
/// It is too large, too slow, of another type, or malformed.
pub(crate) async fn keys(headers: &HeaderMap, body: Body) -> Result<BTreeMap<String, AccessKey>, Problem> {
    let bytes = json(headers, body).await?;
    if bytes.is_empty() {
        return Ok(BTreeMap::new());
    }
    // As above: an error may quote a secret.
    let form: KeysForm = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!(
            "line {line}, column {column} of the body: not the expected JSON; next: send nothing, or {{\"keys\": \
             {{\"TARGET\": {{\"id\": …, \"secret\": …}}}}}}"
        );
        Problem::bad_request("json", detail)
    })?;
    Ok(access_keys(form.keys))
}

/// Reads the body of a request that is JSON, as its type must say, or empty.
///
/// # Errors
/// It is too large, too slow, or of another type.
pub(crate) async fn json(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    if headers.contains_key(header::CONTENT_TYPE) && !is_json(headers)? {
        let detail = "the body of this request is JSON; next: send Content-Type: application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
    }
    let bytes = bytes(headers, body).await?;
    match headers.contains_key(header::CONTENT_TYPE) || bytes.is_empty() {
        true => Ok(bytes),
        false => is_json(headers).map(|_| bytes),
    }
}

async fn bytes(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|bytes: u64| bytes > MAX_BYTES as u64) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(DEADLINE, axum::body::to_bytes(body, MAX_BYTES)).await;
    match read {
        Err(_) => {
            let detail = format!("the body did not arrive within {} s", DEADLINE.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "slow-body", detail))
        }
        Ok(Err(error)) if error.source().is_some_and(|cause| cause.is::<LengthLimitError>()) => {
            Err(too_large())
        }
        Ok(Err(error)) => Err(Problem::bad_request("body", format!("the body broke off: {error}"))),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

fn too_large() -> Problem {
    let detail = format!("a body has at most {} MiB", MAX_BYTES >> 20);
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
}

/// Whether the body is JSON; otherwise it is YAML. Forms and plain text, which any page can send without asking, are
/// refused.
fn is_json(headers: &HeaderMap) -> Result<bool, Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match &*kind {
        "application/json" => Ok(true),
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Ok(false),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "content-type",
            format!(
                "Content-Type {kind:?} is not supported; next: send application/yaml or application/json"
            ),
        )),
    }
}
