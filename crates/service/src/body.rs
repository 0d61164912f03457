//! Reads the experiment of a request: bounded in size and time.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;
use serde::Deserialize;
use targets::AccessKey;
use utoipa::ToSchema;

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

/// An experiment as a client sent it.
#[derive(Debug)]
pub(crate) struct GivenExperiment {
    /// The text of the experiment file.
    pub text: String,
    /// Keys by target name; they stay in memory.
    pub keys: BTreeMap<String, AccessKey>,
}

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

/// Reads the body of a request.
///
/// # Errors
/// It is too large, too slow, of another type, or malformed.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<GivenExperiment, Problem> {
    let json = is_json(headers)?;
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|bytes: u64| bytes > MAX_BYTES as u64) {
        return Err(too_large());
    }
    let read = tokio::time::timeout(DEADLINE, axum::body::to_bytes(body, MAX_BYTES)).await;
    let bytes = match read {
        Err(_) => {
            let detail = format!("the body did not arrive within {} s", DEADLINE.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "slow-body", detail));
        }
        Ok(Err(error)) if error.source().is_some_and(|cause| cause.is::<LengthLimitError>()) => {
            return Err(too_large());
        }
        Ok(Err(error)) => return Err(Problem::bad_request("body", format!("the body broke off: {error}"))),
        Ok(Ok(bytes)) => bytes,
    };
    if !json {
        let text = experiment::decode("experiment", &bytes).map_err(Problem::faults)?;
        return Ok(GivenExperiment { text: text.to_owned(), keys: BTreeMap::new() });
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
    let keys = form.keys.into_iter().map(|(target, key)| {
        let KeyForm { id, secret, token } = key;
        (target, AccessKey { id, secret, token })
    });
    Ok(GivenExperiment { text: form.experiment, keys: keys.collect() })
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
