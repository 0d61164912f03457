//! The service's latest messages.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Refusal;
use crate::api::{ApiState, parameters};

/// Lines that a request gets unless it says how many.
const USUAL_LINES: usize = 35;

/// How many lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogsQuery {
    lines: Option<String>,
}

/// The last lines: a number of them, or all that are kept for any other text.
pub(super) async fn show(
    State(state): State<ApiState>,
    query: Result<Query<LogsQuery>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let LogsQuery { lines } = parameters(query)?;
    let most = match lines {
        None => USUAL_LINES,
        Some(text) => text.parse().unwrap_or(usize::MAX),
    };
    Ok(Json(json!({ "logs": state.queue.messages(most) })))
}
