//! `/api/v1.0` and `/api/v2.0`: `StorPerf`'s requests, answered in its structure.

mod configurations;
mod jobs;
mod logs;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, http};

use super::ApiState;
use crate::problem::Problem;

/// Its routes.
pub(super) fn router() -> Router<ApiState> {
    Router::new()
        .route("/api/v1.0/initializations", post(jobs::initialize))
        .route("/api/v1.0/jobs", get(jobs::show).post(jobs::create).delete(jobs::stop))
        .route("/api/v2.0/jobs", post(jobs::create))
        .route(
            "/api/v1.0/configurations",
            get(configurations::show).post(configurations::put).delete(configurations::remove),
        )
        .route("/api/v1.0/quotas", get(configurations::quotas))
        .route("/api/v1.0/logs", get(logs::show))
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
        (status, Json(serde_json::json!({ "message": self.0.detail() }))).into_response()
    }
}
