//! The service's latest messages.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Refusal;
use super::document::Logs;
use crate::api::{ApiState, parameters};

/// Lines that a request gets unless it says how many.
const USUAL_LINES: usize = 35;

/// How many lines.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogsQuery {
    /// A number of lines, 35 if absent; any other text for all that are kept
    lines: Option<String>,
}

/// The service's latest messages
#[utoipa::path(
    get, path = "/api/v1.0/logs", operation_id = "logs", tag = "logs", params(LogsQuery),
    responses((status = 200, description = "The messages, oldest first", body = Logs))
)]
pub(super) async fn show(
    State(state): State<ApiState>,
    query: Result<Query<LogsQuery>, QueryRejection>,
) -> Result<Json<Logs>, Refusal> {
    let LogsQuery { lines } = parameters(query)?;
    let most = match lines {
        None => USUAL_LINES,
        Some(text) => text.parse().unwrap_or(usize::MAX),
    };
    Ok(Json(Logs { logs: state.queue.messages(most) }))
}
