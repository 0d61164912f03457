//! `/metrics` for Prometheus.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use super::{ApiState, blocking};
use crate::problem::Problem;

/// The current intervals of the runs under way.
pub(crate) async fn metrics(State(state): State<ApiState>) -> Result<impl IntoResponse, Problem> {
    blocking(move || {
        let text = exporters::text(&state.registry).map_err(Problem::internal)?;
        Ok(([(header::CONTENT_TYPE, exporters::CONTENT_TYPE)], text))
    })
    .await
}
