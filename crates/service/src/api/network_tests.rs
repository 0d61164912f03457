//! `/api/v3/network-tests`: tests of the network between hosts, as runs.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::ApiState;
use super::post_answers::{IdempotencyKey, PostAnswers};
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
    params(IdempotencyKey),
    request_body(content = NetworkTestForm, example = json!({ "fleet": { "hosts": ["node1.invalid", "node2.invalid"] }, "streams": [1] })),
    responses(
        PostAnswers,
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("result" = (operation_id = "runResult", parameters(("id" = "$response.body#/id")))),
            ("cells" = (operation_id = "runCells", parameters(("id" = "$response.body#/id")))),
            ("report" = (operation_id = "runReport", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 422, description = "A field is wrong (`field` names it), or the Idempotency-Key came with another body")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    post_fields(state, headers, body, EXAMPLE, NewWork::network_test).await
}
