//! `/api/v3/calibrations`: calibrations of the service's host, as runs.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::ApiState;
use super::post_answers::{IdempotencyKey, PostAnswers};
use super::runs::{RunView, post_fields};
use crate::new_work::NewWork;
use crate::problem::Problem;
use crate::work::CalibrationForm;

/// A short calibration, for the documents.
const EXAMPLE: &str = r#"{"seconds": 0.2, "repetitions": 3}"#;

/// Measures the most that the service's host can drive
///
/// It becomes a run, whose `kind` is `calibration`; what it found is at `/api/v3/runs/{id}/result`, and later results on this host
/// are judged against it. The operator allows it by `--allow-local`.
#[utoipa::path(
    post, path = "/api/v3/calibrations", operation_id = "createCalibration", tag = "runs",
    params(IdempotencyKey),
    request_body(content = CalibrationForm, example = json!({ "seconds": 0.05, "repetitions": 1 })),
    responses(
        PostAnswers,
        (status = 202, description = "The run, in the queue", body = RunView, headers(("Location" = String, description = "Its path")),
         links(
            ("stop" = (operation_id = "stopRun", parameters(("id" = "$response.body#/id")))),
            ("result" = (operation_id = "runResult", parameters(("id" = "$response.body#/id")))),
            ("cells" = (operation_id = "runCells", parameters(("id" = "$response.body#/id")))),
            ("report" = (operation_id = "runReport", parameters(("id" = "$response.body#/id"))))
         )),
        (status = 422, description = "A field is wrong (`field` names it), the service does not allow calibrations (`not-allowed`), or the \
                                      Idempotency-Key came with another body")
    )
)]
pub(crate) async fn create(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    post_fields(state, headers, body, EXAMPLE, NewWork::calibration).await
}
