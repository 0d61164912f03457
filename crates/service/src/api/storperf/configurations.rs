//! Groups of hosts.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Refusal;
use crate::api::{ApiState, parameters};
use crate::body;
use crate::storperf::{HostGroupBody, HostGroupView};

/// The group that is meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupQuery {
    stack_name: Option<String>,
}

/// A group.
pub(super) async fn show(
    State(state): State<ApiState>,
    query: Result<Query<GroupQuery>, QueryRejection>,
) -> Result<Json<HostGroupView>, Refusal> {
    let GroupQuery { stack_name } = parameters(query)?;
    Ok(Json(state.queue.groups().view(stack_name.as_deref())))
}

/// Adds or replaces a group.
pub(super) async fn put(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<HostGroupView>, Refusal> {
    let bytes = body::json(&headers, body).await?;
    let group = HostGroupBody::of(&bytes)?;
    Ok(Json(state.queue.groups().put(group)?))
}

/// Forgets a group; its hosts stay as they are.
pub(super) async fn remove(
    State(state): State<ApiState>,
    query: Result<Query<GroupQuery>, QueryRejection>,
) -> Result<Json<Value>, Refusal> {
    let GroupQuery { stack_name } = parameters(query)?;
    let mut groups = state.queue.groups();
    let id = groups.view(stack_name.as_deref());
    groups.remove(stack_name.as_deref());
    Ok(Json(json!({ "stack_id": id.stack_id() })))
}

/// No quotas: the service has no virtual machines.
pub(super) async fn quotas() -> Json<Value> {
    Json(json!({ "quota": [] }))
}
