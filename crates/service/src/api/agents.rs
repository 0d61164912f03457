//! `/api/v3/agents` and `/api/v3/runs/ID/agents`: the agents of runs, what they run on and what they do.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::RunRecord;
use utoipa::{IntoParams, ToSchema};

use super::page::{PageStart, page};
use super::results::{failed, stored};
use super::{ApiState, RunPath, blocking, page_size, parameters};
use crate::agents::{AgentCell, AgentInterval, LiveAgent};
use crate::problem::Problem;
use crate::queue::RunQueue;

/// An agent: the process that loads one host of a run's fleet.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agent)]
pub(crate) struct AgentView {
    /// `RUN/NAME`.
    id: String,
    /// The id of its run.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    run: String,
    /// Its host's name in the fleet.
    name: String,
    /// What it does.
    state: AgentState,
    /// The version of manometer.
    version: String,
    /// When its last interval arrived; null if none did, or the run is not under way.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    last_seen: Option<Timestamp>,
    /// Its last interval; null if there is none, or the run is not under way.
    #[schema(required = true)]
    last_interval: Option<AgentInterval>,
    /// What the newest ended cell recorded about it; null if none did.
    #[schema(required = true)]
    last_cell: Option<AgentCell>,
    /// `kernel`, `cpu.model`, `cpu.online`, `memory.bytes`, `nic.eth0.speed` and more, as texts of the system.
    facts: BTreeMap<String, String>,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum AgentState {
    /// It reports intervals of a cell that is under way.
    Active,
    /// It waits for its next cell, or has not reported an interval yet.
    Idle,
    /// It is gone for good: for the rest of the run, or in the newest ended cell.
    Lost,
    /// Its run is not under way.
    Ended,
}

impl AgentState {
    /// `now` is what it does in a run under way.
    fn of(is_running: bool, now: &LiveAgent, ended: Option<&AgentCell>) -> Self {
        match now.is_lost || ended.is_some_and(|cell| cell.lost.is_some()) {
            _ if now.is_active => Self::Active,
            true => Self::Lost,
            false if is_running => Self::Idle,
            false => Self::Ended,
        }
    }
}

/// The agents of a run; `live` is what they last reported if it is under way, `ended` what its cells recorded.
fn agents(
    record: RunRecord,
    live: Option<BTreeMap<String, LiveAgent>>,
    mut ended: BTreeMap<String, AgentCell>,
) -> impl Iterator<Item = AgentView> {
    let is_running = live.is_some();
    let mut live = live.unwrap_or_default();
    let RunRecord { id, version, hosts, .. } = record;
    hosts.into_iter().map(move |host| {
        let now = live.remove(&host.name).unwrap_or_default();
        let last_cell = now.ended.clone().or_else(|| ended.remove(&host.name));
        let state = AgentState::of(is_running, &now, last_cell.as_ref());
        let (last_seen, last_interval) = now.last.unzip();
        AgentView {
            id: format!("{id}/{}", host.name),
            run: id.clone(),
            name: host.name,
            state,
            version: version.clone(),
            last_seen,
            last_interval,
            last_cell,
            facts: host.environment.facts,
        }
    })
}

/// The agents of the runs under way, by id.
fn of_all_runs(queue: &RunQueue) -> Result<BTreeMap<String, AgentView>, Problem> {
    let mut all = BTreeMap::new();
    for (id, live) in queue.all_agents() {
        // Absent until the run begins to measure.
        let Some((_, record)) = queue.results().run(&id).map_err(failed)? else { continue };
        let found = agents(record, Some(live.all()), BTreeMap::new());
        all.extend(found.map(|agent| (agent.id.clone(), agent)));
    }
    Ok(all)
}

/// The agents of one run, by name.
fn of_one_run(queue: &RunQueue, id: &str) -> Result<BTreeMap<String, AgentView>, Problem> {
    let live = queue.agents(id).map(|live| live.all());
    let Some((store, record)) = stored(queue, id)? else { return Ok(BTreeMap::new()) };
    let mut ended = BTreeMap::new();
    if !record.hosts.is_empty() {
        let mut cells = store.cells(id).map_err(failed)?;
        cells.sort_by_key(|cell| cell.finished);
        for cell in &cells {
            ended.extend(AgentCell::all_of(cell).map(|(name, cell)| (name.to_owned(), cell)));
        }
    }
    Ok(agents(record, live, ended).map(|agent| (agent.name.clone(), agent)).collect())
}

/// The parameters of the list of all agents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentsQuery {
    /// The `id` of the last agent of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// The parameters of the list of a run's agents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunAgentsQuery {
    /// The `name` of the last agent of the page before
    after: Option<String>,
    /// The size of a page
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

/// A page of agents.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentPage {
    agents: Vec<AgentView>,
    /// The path of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A page of agents by their keys in the map.
fn agent_page(mut agents: BTreeMap<String, AgentView>, start: &PageStart<'_>) -> Result<AgentPage, Problem> {
    let keys: Vec<String> = agents.keys().cloned().collect();
    let (keys, next) = page(&keys, |key: &String| key, start, Ok)?;
    Ok(AgentPage { agents: keys.into_iter().filter_map(|key| agents.remove(key)).collect(), next })
}

/// The agents of this service's runs under way
///
/// Of experiments with a fleet, and of network tests. A run has agents once all of them have started.
#[utoipa::path(
    get, path = "/api/v3/agents", operation_id = "listAgents", tag = "hosts",
    params(AgentsQuery),
    responses((status = 200, description = "A page of agents", body = AgentPage))
)]
pub(crate) async fn list(
    State(state): State<ApiState>,
    query: Result<Query<AgentsQuery>, QueryRejection>,
) -> Result<Json<AgentPage>, Problem> {
    let AgentsQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || {
        let start = PageStart { path: "/api/v3/agents", after: after.as_deref(), limit };
        Ok(Json(agent_page(of_all_runs(&state.queue)?, &start)?))
    })
    .await
}

/// The agents of a run by name, also after its end
#[utoipa::path(
    get, path = "/api/v3/runs/{id}/agents", operation_id = "runAgents", tag = "hosts",
    params(RunPath, RunAgentsQuery),
    responses(
        (status = 200, description = "A page of agents; empty if the run has none, or has not begun to measure", body = AgentPage),
        (status = 404, description = "There is no such run")
    )
)]
pub(crate) async fn of_run(
    State(state): State<ApiState>,
    RunPath { id }: RunPath,
    query: Result<Query<RunAgentsQuery>, QueryRejection>,
) -> Result<Json<AgentPage>, Problem> {
    let RunAgentsQuery { after, limit } = parameters(query)?;
    let limit = page_size(limit, 100, 500)?;
    blocking(move || {
        let path = format!("/api/v3/runs/{id}/agents");
        let start = PageStart { path: &path, after: after.as_deref(), limit };
        Ok(Json(agent_page(of_one_run(&state.queue, &id)?, &start)?))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_agent_is_lost_until_it_reports_again() {
        let lost: AgentCell = AgentCell::lost_in(3, "no news for 10 s");
        for (running, (is_active, is_lost), ended, expected) in [
            (true, (true, false), Some(&lost), AgentState::Active),
            (true, (false, false), Some(&lost), AgentState::Lost),
            (true, (false, true), None, AgentState::Lost),
            (false, (false, false), Some(&lost), AgentState::Lost),
            (true, (false, false), None, AgentState::Idle),
            (false, (false, false), None, AgentState::Ended),
        ] {
            let now = LiveAgent { is_active, is_lost, ..LiveAgent::default() };
            assert_eq!(AgentState::of(running, &now, ended), expected, "{running} {now:?} {ended:?}");
        }
    }
}
