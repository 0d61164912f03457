//! Reads the bodies of requests: bounded in size and time, and in what all of them take together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use targets::AccessKey;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::ToSchema;

use crate::new_work::{NewWork, RunSecrets};
use crate::problem::Problem;

/// Maximum size of a body: an experiment of the maximum size (1 MiB) with every other character escaped in JSON.
const MAX_BYTES: usize = 2 << 20;

/// Maximum size of all bodies that arrive or wait to be read.
const MAX_TOTAL_BYTES: usize = 64 << 20;

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
pub(crate) struct KeyForm {
    id: String,
    secret: String,
    /// The session token of a temporary key.
    #[serde(default)]
    token: Option<String>,
}

/// What all bodies may take together. A body takes what has arrived of it, so slow clients hold little.
#[derive(Clone)]
pub(crate) struct BodyBudget(Arc<Semaphore>);

impl Default for BodyBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_TOTAL_BYTES)))
    }
}

/// What one body takes, for as long as it is held.
pub(crate) type HeldBytes = Option<OwnedSemaphorePermit>;

/// Reads the body of a request with an experiment.
///
/// # Errors
/// It is too large, too slow, of another type, or malformed, or there are too many others.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    budget: &BodyBudget,
) -> Result<(NewWork, HeldBytes), Problem> {
    let json = is_json(headers)?;
    let (bytes, held) = bytes(headers, body, budget).await?;
    if !json {
        let text = experiment::decode("experiment", &bytes).map_err(Problem::faults)?;
        return Ok((NewWork::experiment(text.to_owned()), held));
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
    let secrets = RunSecrets { keys: access_keys(form.keys), ..RunSecrets::default() };
    Ok((NewWork { secrets, ..NewWork::experiment(form.experiment) }, held))
}

/// Keys, as runs use them.
pub(crate) fn access_keys(keys: BTreeMap<String, KeyForm>) -> BTreeMap<String, AccessKey> {
    let keys = keys.into_iter().map(|(target, key)| {
        let KeyForm { id, secret, token } = key;
        (target, AccessKey { id, secret, token })
    });
    keys.collect()
}

/// Reads the body of a request that may bring keys for an experiment: JSON, or empty.
///
/// # Errors
/// It is too large, too slow, of another type, or malformed, or there are too many others.
pub(crate) async fn keys(
    headers: &HeaderMap,
    body: Body,
    budget: &BodyBudget,
) -> Result<BTreeMap<String, AccessKey>, Problem> {
    let (bytes, _held) = json(headers, body, budget).await?;
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
/// It is too large, too slow, or of another type, or there are too many others.
pub(crate) async fn json(
    headers: &HeaderMap,
    body: Body,
    budget: &BodyBudget,
) -> Result<(Vec<u8>, HeldBytes), Problem> {
    if headers.contains_key(header::CONTENT_TYPE) && !is_json(headers)? {
        let detail = "the body of this request is JSON; next: send Content-Type: application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", detail));
    }
    let (bytes, held) = bytes(headers, body, budget).await?;
    if !bytes.is_empty() {
        is_json(headers)?;
    }
    Ok((bytes, held))
}

async fn bytes(
    headers: &HeaderMap,
    body: Body,
    budget: &BodyBudget,
) -> Result<(Vec<u8>, HeldBytes), Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|bytes: u64| bytes > MAX_BYTES as u64) {
        return Err(too_large());
    }
    tokio::time::timeout(DEADLINE, collect(body, budget)).await.unwrap_or_else(|_| {
        let detail = format!("the body did not arrive within {} s", DEADLINE.as_secs());
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "slow-body", detail))
    })
}

async fn collect(mut body: Body, budget: &BodyBudget) -> Result<(Vec<u8>, HeldBytes), Problem> {
    let (mut bytes, mut held): (Vec<u8>, HeldBytes) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Problem::bad_request("body", format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > MAX_BYTES {
            return Err(too_large());
        }
        let more = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let more = Arc::clone(&budget.0).try_acquire_many_owned(more).map_err(|_| busy())?;
        match &mut held {
            None => held = Some(more),
            Some(held) => held.merge(more),
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, held))
}

fn busy() -> Problem {
    let detail = "too many requests with large bodies are under way; next: repeat this one later";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bodies_together_take_no_more_than_the_budget() {
        let budget = BodyBudget(Arc::new(Semaphore::new(10)));
        let (bytes, held) = collect(Body::from("123456"), &budget).await.unwrap();
        assert_eq!(bytes, b"123456");
        let refused = collect(Body::from("12345"), &budget).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(held);
        let (_, held) = collect(Body::from("1234567890"), &budget).await.unwrap();
        assert!(held.is_some());
        assert!(collect(Body::empty(), &budget).await.unwrap().1.is_none());
    }
}
