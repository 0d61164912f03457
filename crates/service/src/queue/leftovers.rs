//! What the service's runs created on arrays and targets, and what is left.

use provision::{Journal, RunId};

use super::{RunQueue, broken};
use crate::database::AskedRun;
use crate::problem::Problem;
use crate::work::RunKind;

impl RunQueue {
    /// Whether a run of this service, or what its hosts share, has this id and is under way.
    pub(crate) fn is_under_way(&self, run: &RunId) -> bool {
        // The journal of a place that all hosts share has the id of an agent, also if they are threads of this process.
        let shares = |own: RunId| own.of_agent(0) == *run || own.of_agent(u32::MAX) == *run;
        let is = |own: &String| own == run.as_str() || own.parse().is_ok_and(shares);
        self.shared().running.keys().any(is)
    }

    /// What the runs of this service created and have not removed.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The newest runs of a kind, newest first, each with what was posted.
    pub(crate) fn of_kind(&self, kind: RunKind, limit: u32) -> Result<Vec<(AskedRun, String)>, Problem> {
        self.database().of_kind(kind, limit).map_err(broken)
    }
}
