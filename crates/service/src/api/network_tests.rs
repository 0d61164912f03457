//! `/api/v3/network-tests`: tests of the network between hosts, as runs.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::ApiState;
use super::runs::{RunView, post_fields};
use crate::new_work::NewWork;
use crate::problem::Problem;
use crate::work::NetworkTestForm;

/// A short network test, for the documents.
const EXAMPLE: &str = r#"{"fleet": {"hosts": ["node1", "node2"]}}"#;

/// Measures the network between hosts
///
/// Each pair moves bytes from memory to memory over TCP. It becomes a run, whose `kind` is `network-test`; the matrix and its judgement
/// are at `/api/v3/runs/{id}/result`. Fleets have the rules of experiments.
#[utoipa::path(
    post, path = "/api/v3/network-tests", operation_id = "createNetworkTest", tag = "runs",
    params((
        "Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, pattern = "^[!-~]([ -~]*[!-~])?$",
        description = "Of the requests with the same key, only the first adds a run; the others return it"
    )),
    request_body(content = NetworkTestForm, example = json!({ "fleet": { "hosts": ["node1.invalid", "node2.invalid"] }, "streams": [1] })),
    responses(
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("result" = (operation_id = "runResult", parameters(("id" = "$response.body#/id")))),
            ("cells" = (operation_id = "runCells", parameters(("id" = "$response.body#/id")))),
            ("report" = (operation_id = "runReport", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 200, description = "The run that an earlier request with this Idempotency-Key added", body = RunView,
         headers(("Location" = String, description = "Its path"))),
        (status = 408, description = "The body arrived too slowly"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 422, description = "A field is wrong (`field` names it), or the Idempotency-Key came with another body"),
        (status = 503, description = "The queue is full, or the service is ending")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    post_fields(state, headers, body, EXAMPLE, NewWork::network_test).await
}
