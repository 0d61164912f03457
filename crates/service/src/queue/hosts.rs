//! The hosts that runs occupy: what each does now, and how its last runs ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{RunQueue, broken};
use crate::database::{AskedRun, AskedState};
use crate::policy::THIS_HOST;
use crate::problem::Problem;

/// Number of runs, the newest, whose hosts are known; the hosts of runs that wait or run always are.
const LOOKED_AT: u32 = 2000;
/// Number of runs of a host that are kept, the newest.
const RUNS_KEPT: usize = 20;

/// A host, by its name in the queue.
#[derive(Clone, Debug)]
pub(crate) struct KnownHost {
    pub name: String,
    /// The id of this service's run that occupies it.
    pub occupied_by: Option<String>,
    /// Number of this service's runs that wait for it.
    pub waiting: usize,
    /// Its last runs, newest first; a fleet's hosts share them.
    pub runs: Vec<Arc<AskedRun>>,
}

impl KnownHost {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), occupied_by: None, waiting: 0, runs: Vec::new() }
    }
}

impl RunQueue {
    /// The service's own host and those of its runs, by name.
    pub(crate) fn hosts(&self) -> Result<BTreeMap<String, KnownHost>, Problem> {
        let database = self.database();
        // A resumed run keeps its number, so it may be older than the newest runs.
        let mut runs = database.page(i64::MAX, LOOKED_AT).map_err(broken)?;
        runs.extend(database.in_state(AskedState::Running).map_err(broken)?);
        runs.extend(database.in_state(AskedState::Queued).map_err(broken)?);
        let runs: BTreeMap<i64, AskedRun> = runs.into_iter().map(|run| (run.number, run)).collect();
        Ok(hosts_of(runs.into_values().rev(), |run| database.owns(run)))
    }
}

/// The hosts of runs, newest first.
fn hosts_of(
    runs: impl Iterator<Item = AskedRun>,
    own: impl Fn(&AskedRun) -> bool,
) -> BTreeMap<String, KnownHost> {
    let mut hosts = BTreeMap::from([(THIS_HOST.to_owned(), KnownHost::new(THIS_HOST))]);
    for run in runs.map(Arc::new) {
        let own = own(&run);
        // Each service that shares the database has a host of its own by this name.
        for name in run.hosts.iter().filter(|name| own || *name != THIS_HOST) {
            let host = hosts.entry(name.clone()).or_insert_with(|| KnownHost::new(name));
            match run.state {
                AskedState::Running if own => host.occupied_by = Some(run.id.clone()),
                AskedState::Queued if own => host.waiting += 1,
                _ => {}
            }
            if host.runs.len() < RUNS_KEPT {
                host.runs.push(Arc::clone(&run));
            }
        }
    }
    hosts
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
