//! `/api/v1.0` and `/api/v2.0`: `StorPerf`'s requests, answered in its structure.

mod configurations;
mod document;
mod jobs;
mod logs;

use axum::response::{IntoResponse, Response};
use axum::{Json, http};
use serde_json::json;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ApiState;
use super::document::{PROBLEM, complete};
use crate::problem::Problem;

/// Its routes with their descriptions.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(document::Frame::openapi())
        .routes(routes!(jobs::initialize))
        .routes(routes!(jobs::show, jobs::create, jobs::stop))
        .routes(routes!(jobs::create_v2))
        .routes(routes!(configurations::show, configurations::put, configurations::remove))
        .routes(routes!(configurations::quotas))
        .routes(routes!(logs::show))
}

/// The OpenAPI document of `/api/v1.0` and `/api/v2.0`, as the service serves it at `/api/v1.0/openapi.json`.
pub(crate) fn openapi_json() -> String {
    let error = json!({
        "application/json": { "schema": { "$ref": "#/components/schemas/Message" } },
        PROBLEM: { "schema": { "$ref": "#/components/schemas/Problem" } }
    });
    let document = complete(routes().get_openapi(), &error);
    format!("{document:#}\n")
}

/// An error as `StorPerf`'s clients read them: a message.
struct Refusal(Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.0.status();
        // What cannot be run is a bad request here.
        let status = match status {
            http::StatusCode::UNPROCESSABLE_ENTITY => http::StatusCode::BAD_REQUEST,
            other => other,
        };
        (status, Json(json!({ "message": self.0.detail() }))).into_response()
    }
}
