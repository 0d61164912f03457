//! `/metrics` for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::{ApiState, blocking};
use crate::problem::Problem;

/// Figures of the queue and of the runs under way
///
/// OpenMetrics text for Prometheus.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "metrics",
    responses((status = 200, description = "The figures", body = String, content_type = "application/openmetrics-text"))
)]
pub(crate) async fn metrics(State(state): State<ApiState>) -> Result<impl IntoResponse, Problem> {
    blocking(move || {
        let text = exporters::text(&state.registry).map_err(Problem::internal)?;
        Ok(([(header::CONTENT_TYPE, exporters::CONTENT_TYPE)], text))
    })
    .await
}
