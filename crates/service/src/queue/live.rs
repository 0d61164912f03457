//! What the runs do now.

use std::sync::Arc;

use exporters::CurrentRun;
use runner::progress::SharedProgress;

use super::RunQueue;
use crate::agents::LiveAgents;
use crate::event_log::EventLog;

impl RunQueue {
    /// The state of a run under way; `None` before it begins and after its end.
    pub(crate) fn progress(&self, id: &str) -> Option<Arc<SharedProgress>> {
        self.shared().running.get(id)?.progress.get().cloned()
    }

    /// What the agents of a run under way last reported; `None` if it is not under way.
    pub(crate) fn agents(&self, id: &str) -> Option<Arc<LiveAgents>> {
        self.shared().running.get(id).map(|running| Arc::clone(&running.agents))
    }

    /// The ids of the runs under way, and what their agents last reported.
    pub(crate) fn all_agents(&self) -> Vec<(String, Arc<LiveAgents>)> {
        let shared = self.shared();
        shared.running.iter().map(|(id, running)| (id.clone(), Arc::clone(&running.agents))).collect()
    }

    /// The events of a run; `None` if it ended long ago or in an earlier process.
    pub(crate) fn log(&self, id: &str) -> Option<Arc<EventLog>> {
        self.shared().logs.get(id).cloned()
    }

    /// Number of runs that wait, and of runs under way.
    pub(crate) fn lengths(&self) -> (usize, usize) {
        let shared = self.shared();
        (shared.queued(), shared.running.len())
    }

    /// What the runs under way measure now.
    pub(crate) fn current(&self) -> Vec<Arc<CurrentRun>> {
        self.shared().running.values().filter_map(|running| running.current.get().cloned()).collect()
    }
}
