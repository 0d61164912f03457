//! `/api/v3/checks`: checks of storage, as runs.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::ApiState;
use super::post_answers::{IdempotencyKey, PostAnswers};
use super::runs::{RunView, post_fields};
use crate::new_work::NewWork;
use crate::problem::Problem;
use crate::work::CheckForm;

/// A short check, for the documents.
const EXAMPLE: &str = r#"{"demo": true, "duration": "200ms"}"#;

/// Checks storage from the service's host
///
/// It writes and reads through each address over the network, removes what it created, and becomes a run: its `kind` is `check`,
/// its report is at `/api/v3/runs/{id}/result`.
#[utoipa::path(
    post, path = "/api/v3/checks", operation_id = "createCheck", tag = "runs",
    params(IdempotencyKey),
    request_body(content = CheckForm, example = json!({ "demo": true, "duration": "200ms" })),
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
    post_fields(state, headers, body, EXAMPLE, NewWork::check).await
}
