//! What the agents of a run under way last reported.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use runner::timestamp::now;
use runner::{Events, RunEvent};
use serde::Serialize;
use store::{CellRecord, HostClock, HostResult, LostHost};
use utoipa::ToSchema;

use crate::api::stored;
use crate::event::{PointView, points};

/// Maximum number of agents of a run whose state is kept.
const MAX_AGENTS: usize = 4096;

/// The agents of a run under way: an observer of its events.
#[derive(Debug, Default)]
pub(crate) struct LiveAgents(Mutex<BTreeMap<String, LiveAgent>>);

/// One agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveAgent {
    /// Its last interval, and when it arrived.
    pub last: Option<(Timestamp, AgentInterval)>,
    /// Whether the cell of that interval is under way.
    pub is_active: bool,
    /// Whether it is gone for good.
    pub is_lost: bool,
    /// What the newest ended cell recorded about it.
    pub ended: Option<AgentCell>,
}

/// An interval of an agent.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct AgentInterval {
    /// Index of the cell in the plan.
    cell: u32,
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    stage: String,
    /// Number of the measurement in a study; 0 otherwise.
    trial: u32,
    /// Number of the interval in the stage, from 0.
    interval: u32,
    /// Its start, in seconds since the stage began.
    start_s: f64,
    /// Its length, in seconds.
    length_s: f64,
    /// One point per operation.
    ops: Vec<PointView>,
}

/// What an ended cell recorded about an agent, apart from its figures.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AgentCell {
    /// Index of the cell in the plan.
    pub cell: u32,
    /// Start of its first worker, in nanoseconds after the first agent's; null if it never started.
    #[schema(required = true)]
    started_ns: Option<i64>,
    /// Its clock relative to the service's; null if it is the same one.
    #[schema(value_type = Option<stored::HostClock>, required = true)]
    clock: Option<HostClock>,
    /// When and why it was lost; null if it was not.
    #[schema(value_type = Option<stored::LostHost>, required = true)]
    pub lost: Option<LostHost>,
}

impl AgentCell {
    fn of(cell: u32, host: &HostResult) -> Self {
        Self { cell, started_ns: host.started_ns, clock: host.clock, lost: host.lost.clone() }
    }

    /// A cell that lost its agent.
    #[cfg(test)]
    pub(crate) fn lost_in(cell: u32, why: &str) -> Self {
        let lost = Some(LostHost { at_s: 1.0, why: why.to_owned() });
        Self { cell, started_ns: None, clock: None, lost }
    }

    /// What a cell recorded about each of its agents, by name.
    pub(crate) fn all_of(record: &CellRecord) -> impl Iterator<Item = (&str, Self)> {
        let hosts = record.result.iter().flat_map(|result| &result.hosts);
        hosts.map(|host| (&*host.name, Self::of(record.index, host)))
    }
}

impl LiveAgents {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, LiveAgent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy, by name; the run waits no longer than that takes.
    pub(crate) fn all(&self) -> BTreeMap<String, LiveAgent> {
        self.lock().clone()
    }
}

/// The agent with this name, a new one if there is room.
fn agent<'a>(agents: &'a mut BTreeMap<String, LiveAgent>, name: &str) -> Option<&'a mut LiveAgent> {
    if !agents.contains_key(name) {
        if agents.len() >= MAX_AGENTS {
            return None;
        }
        agents.insert(name.to_owned(), LiveAgent::default());
    }
    agents.get_mut(name)
}

impl Events for LiveAgents {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::HostInterval { cell, stage, trial, host, interval } => {
                let last = AgentInterval {
                    cell,
                    stage: stage.to_owned(),
                    trial,
                    interval: interval.index,
                    start_s: interval.start_ns as f64 / 1e9,
                    length_s: interval.length_ns as f64 / 1e9,
                    ops: points(interval),
                };
                if let Some(agent) = agent(&mut self.lock(), host) {
                    agent.last = Some((now(), last));
                    agent.is_active = !agent.is_lost;
                }
            }
            RunEvent::HostLost { host, .. } => {
                if let Some(agent) = agent(&mut self.lock(), host) {
                    (agent.is_active, agent.is_lost) = (false, true);
                }
            }
            RunEvent::CellEnded(record) => {
                let mut agents = self.lock();
                for agent in agents.values_mut() {
                    agent.is_active &= agent.last.as_ref().is_some_and(|(_, last)| last.cell != record.index);
                }
                for (name, cell) in AgentCell::all_of(record) {
                    if let Some(agent) = agent(&mut agents, name) {
                        agent.ended = Some(cell);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Interval;
    use store::State;

    fn report(agents: &LiveAgents, cell: u32, host: &str) {
        let interval = Interval::default();
        agents.event(RunEvent::HostInterval { cell, stage: "measure", trial: 0, host, interval: &interval });
    }

    #[test]
    fn an_agent_is_active_until_the_cell_of_its_last_interval_ends() {
        let agents = LiveAgents::default();
        report(&agents, 0, "a");
        report(&agents, 1, "b");
        let ended = CellRecord {
            index: 0,
            state: State::Finished,
            started: None,
            finished: None,
            result: None,
            failure: None,
        };
        agents.event(RunEvent::CellEnded(&ended));
        let all = agents.all();
        assert_eq!((all["a"].is_active, all["b"].is_active), (false, true));
        report(&agents, 2, "a");
        assert!(agents.all()["a"].is_active);
    }

    #[test]
    fn a_lost_agent_is_not_active_while_its_cell_goes_on() {
        let agents = LiveAgents::default();
        let state = || agents.all().get("a").map(|agent| (agent.is_active, agent.is_lost));
        report(&agents, 0, "a");
        agents.event(RunEvent::HostLost { host: "a" });
        assert_eq!(state(), Some((false, true)));
        // One that never reported.
        agents.event(RunEvent::HostLost { host: "b" });
        assert!(agents.all()["b"].is_lost);
    }

    #[test]
    fn the_number_of_agents_is_bounded() {
        let agents = LiveAgents::default();
        (0..MAX_AGENTS + 10).for_each(|number| report(&agents, 0, &format!("host{number}")));
        assert_eq!(agents.all().len(), MAX_AGENTS);
    }
}
