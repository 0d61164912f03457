//! Groups of hosts.

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Refusal;
use super::document::{ForgottenGroup, GroupBody, Quotas};
use crate::api::{ApiState, parameters};
use crate::body;
use crate::storperf::{HostGroupBody, HostGroupView};

/// The group that is meant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupQuery {
    /// Its name; `StorPerfAgentGroup` if absent
    stack_name: Option<String>,
}

/// A group of hosts; one that does not exist has none
#[utoipa::path(
    get, path = "/api/v1.0/configurations", operation_id = "showGroup", tag = "configurations", params(GroupQuery),
    responses((status = 200, description = "The group", body = HostGroupView))
)]
pub(super) async fn show(
    State(state): State<ApiState>,
    query: Result<Query<GroupQuery>, QueryRejection>,
) -> Result<Json<HostGroupView>, Refusal> {
    let GroupQuery { stack_name } = parameters(query)?;
    Ok(Json(state.queue.groups().view(stack_name.as_deref())))
}

/// Adds or replaces a group of hosts
#[utoipa::path(
    post, path = "/api/v1.0/configurations", operation_id = "putGroup", tag = "configurations", request_body = GroupBody,
    responses(
        (status = 200, description = "The group", body = HostGroupView),
        (status = 408, description = "The body arrived too slowly"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is not JSON"),
        (status = 501, description = "It asks for virtual machines"),
        (status = 503, description = "The service is busy")
    )
)]
pub(super) async fn put(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<HostGroupView>, Refusal> {
    let (bytes, _held) = body::json(&headers, body, &state.bodies).await?;
    let group = HostGroupBody::of(&bytes)?;
    Ok(Json(state.queue.groups().put(group)?))
}

/// Forgets a group; its hosts stay as they are
#[utoipa::path(
    delete, path = "/api/v1.0/configurations", operation_id = "removeGroup", tag = "configurations", params(GroupQuery),
    responses((status = 200, description = "The group is forgotten", body = ForgottenGroup))
)]
pub(super) async fn remove(
    State(state): State<ApiState>,
    query: Result<Query<GroupQuery>, QueryRejection>,
) -> Result<Json<ForgottenGroup>, Refusal> {
    let GroupQuery { stack_name } = parameters(query)?;
    let mut groups = state.queue.groups();
    let id = groups.view(stack_name.as_deref());
    groups.remove(stack_name.as_deref());
    Ok(Json(ForgottenGroup { stack_id: id.stack_id().map(str::to_owned) }))
}

/// No quotas: the service has no virtual machines
#[utoipa::path(
    get, path = "/api/v1.0/quotas", operation_id = "quotas", tag = "configurations",
    responses((status = 200, description = "An empty list", body = Quotas))
)]
pub(super) async fn quotas() -> Json<Quotas> {
    Json(Quotas { quota: [] })
}
