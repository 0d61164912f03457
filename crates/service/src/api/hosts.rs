//! `/api/v3/hosts`: the hosts that runs occupy, what each does now, and what runs recorded about it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::RunRecord;
use utoipa::{IntoParams, ToSchema};

use super::page::{PageStart, page};
use super::results::stored;
use super::{ApiState, blocking, page_size, parameters};
use crate::database::{AskedRun, AskedState};
use crate::policy::{THIS_HOST, queue_name};
use crate::problem::Problem;
use crate::queue::{KnownHost, RunQueue};
use crate::work::RunKind;

/// A host that runs occupy.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Host)]
pub(crate) struct HostView {
    /// Its name in the queue: `this host` is the service's own; `slurm` and `kubernetes` stand for the hosts that those choose.
    name: String,
    /// The id of the run that occupies it; null if it is free.
    #[schema(required = true)]
    occupied_by: Option<String>,
    /// Number of runs that wait for it.
    waiting: usize,
    /// Its newest run; null if it had none.
    #[schema(required = true)]
    last_run: Option<HostRunView>,
    /// How the last runs on it ended, of up to 20.
    ended: EndedRuns,
}

/// A run on a host.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HostRun)]
pub(super) struct HostRunView {
    /// Its id.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    id: String,
    /// What it does.
    kind: RunKind,
    /// The experiment's name; for other work, its kind.
    name: String,
    /// How far it got.
    state: AskedState,
    /// When it was posted.
    #[schema(value_type = String, format = DateTime)]
    asked: Timestamp,
    /// When it started.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    started: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    finished: Option<Timestamp>,
    /// Why it ended early, in one line; of a fleet, another host may be the cause.
    #[schema(required = true)]
    reason: Option<String>,
}

impl From<&AskedRun> for HostRunView {
    fn from(run: &AskedRun) -> Self {
        Self {
            id: run.id.clone(),
            kind: run.kind,
            name: run.name.clone(),
            state: run.state,
            asked: run.asked,
            started: run.started,
            finished: run.finished,
            reason: run.reason.clone(),
        }
    }
}

/// Number of runs by how they ended.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct EndedRuns {
    finished: usize,
    interrupted: usize,
    failed: usize,
}

impl EndedRuns {
    pub(super) fn of<'a>(runs: impl Iterator<Item = &'a AskedRun>) -> Self {
        let mut ended = Self::default();
        for run in runs {
            match run.state {
                AskedState::Finished => ended.finished += 1,
                AskedState::Interrupted => ended.interrupted += 1,
                AskedState::Failed => ended.failed += 1,
                AskedState::Queued | AskedState::Running | AskedState::Cancelled => {}
            }
        }
        ended
    }
}

impl From<&KnownHost> for HostView {
    fn from(host: &KnownHost) -> Self {
        Self {
            name: host.name.clone(),
            occupied_by: host.occupied_by.clone(),
            waiting: host.waiting,
            last_run: host.runs.first().map(|run| HostRunView::from(&**run)),
            ended: EndedRuns::of(host.runs.iter().map(|run| &**run)),
        }
    }
}

/// A host with its last runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HostDetail {
    #[serde(flatten)]
    host: HostView,
    /// Its last runs, newest first, up to 20.
    runs: Vec<HostRunView>,
    /// What the newest of these runs with results recorded about it; null if none did.
    #[schema(required = true)]
    recorded: Option<RecordedHost>,
}

/// What a run recorded about a host.
#[derive(Debug, Serialize, ToSchema)]
struct RecordedHost {
    /// The run.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// The version of manometer.
    version: String,
    /// `kernel`, `cpu.model`, `cpu.online`, `memory.bytes`, `nic.eth0.speed` and more, as texts of the system.
    facts: BTreeMap<String, String>,
}

/// What a run recorded about the host with this name in the queue.
fn recorded(record: RunRecord, host: &str) -> Option<RecordedHost> {
    let environment = if host == THIS_HOST {
        record.environment
    } else {
        record.hosts.into_iter().find(|one| queue_name(&one.name) == host)?.environment
    };
    Some(RecordedHost { run: record.id, version: record.version, facts: environment.facts })
}

fn newest_record(queue: &RunQueue, host: &KnownHost) -> Result<Option<RecordedHost>, Problem> {
    for run in &host.runs {
        let Some((_, record)) = stored(queue, &run.id)? else { continue };
        if let Some(found) = recorded(record, &host.name) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The parameters of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HostsQuery {
    /// The name of the last host of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// A page of hosts.
#[derive(Serialize, ToSchema)]
pub(crate) struct HostPage {
    hosts: Vec<HostView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The hosts by name: the service's own, and those of its last 2,000 runs
#[utoipa::path(
    get, path = "/api/v3/hosts", operation_id = "listHosts", tag = "hosts",
    params(HostsQuery),
    responses((status = 200, description = "A page of hosts", body = HostPage))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<HostsQuery>, QueryRejection>,
) -> Result<Json<HostPage>, Problem> {
    let HostsQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || Ok(Json(host_page(&state.queue.hosts()?, after.as_deref(), limit)?))).await
}

fn host_page(
    hosts: &BTreeMap<String, KnownHost>,
    after: Option<&str>,
    limit: u32,
) -> Result<HostPage, Problem> {
    let start = PageStart { path: "/api/v3/hosts", after, limit };
    let view = |host| Ok(HostView::from(host));
    let (hosts, next) = page(hosts.values(), |host: &KnownHost| &host.name, &start, view)?;
    Ok(HostPage { hosts, next })
}

/// One host with its last runs, and what they recorded about it
#[utoipa::path(
    get, path = "/api/v3/hosts/{name}", operation_id = "showHost", tag = "hosts",
    params(("name" = String, Path, description = "Its name in the queue")),
    responses(
        (status = 200, description = "The host", body = HostDetail),
        (status = 404, description = "No recent run occupies such a host")
    )
)]
pub(crate) async fn show(
    State(state): State<ApiState>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<HostDetail>, Problem> {
    let Path(name) = name.map_err(|error| Problem::bad_request("path", error.body_text()))?;
    blocking(move || {
        let known = state.queue.hosts()?.remove(&name).ok_or_else(|| {
            let detail = format!("there is no host {name:?}; next: GET /api/v3/hosts lists all");
            Problem::new(StatusCode::NOT_FOUND, "no-such-host", detail)
        })?;
        let runs = known.runs.iter().map(|run| HostRunView::from(&**run)).collect();
        let recorded = newest_record(&state.queue, &known)?;
        Ok(Json(HostDetail { host: HostView::from(&known), runs, recorded }))
    })
    .await
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
