//! This process as an executor of a run: it opens targets, keeps their journals, and runs stages on them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{Control, StageContext, StageError, StageResult};
use fleet::{Act, HostExecutor, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest};
use metrics::Interval;
use provision::{Journal, ProvisionError, Run, RunId};
use reactor::live::Scope;
use targets::{ClearedFiles, HeldSecrets, OpenContext, ProcessEnvironment, Secrets, TargetError};

use super::host_target::HostTarget;

/// Maximum targets open at once.
const MAX_SITES: usize = 100_000;

/// This process as one of a run's executors.
pub struct LocalExecutor {
    /// The journal directory; `None`: the default.
    journals: Option<PathBuf>,
    /// Credentials of the run that this process coordinates; an agent receives them with each target.
    secrets: Arc<dyn Secrets>,
    /// Files that the run may overwrite.
    cleared: ClearedFiles,
    /// Directory for dumps of damaged blocks.
    directory: PathBuf,
    /// Distinguishes the connections and workers of this run from others in the process.
    scope: Scope,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Open journals, by run.
    runs: BTreeMap<RunId, Run>,
    sites: BTreeMap<SiteId, Arc<HostTarget>>,
}

impl LocalExecutor {
    /// For the coordinator, whose journal is already open; dumps of damaged blocks are written to `directory`.
    pub fn of_run(run: &Run, secrets: Arc<dyn Secrets>, directory: PathBuf) -> Self {
        let executor = Self { secrets, directory, ..Self::new(None) };
        executor.know(run);
        executor
    }

    /// Registers another run, whose journal is already open, so that targets can be opened for it.
    pub fn know(&self, run: &Run) {
        self.shared().runs.insert(run.id().clone(), run.clone());
    }

    /// For an agent, with its journal directory or the default one. Dumps are written to its current directory.
    pub fn new(journals: Option<PathBuf>) -> Self {
        Self {
            journals,
            secrets: Arc::new(ProcessEnvironment),
            cleared: ClearedFiles::default(),
            directory: PathBuf::new(),
            scope: Scope::unique(),
            shared: Mutex::default(),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal with this id, opened on first use.
    fn journal(&self, id: &RunId) -> Result<Run, HostRefusal> {
        // Locked while it opens: of two targets opened at once, the second uses the first one's journal.
        let mut shared = self.shared();
        if let Some(run) = shared.runs.get(id) {
            return Ok(run.clone());
        }
        let failed = |error: provision::ProvisionError| HostRefusal::failed(error.to_string());
        let run = self.journals().and_then(|journal| journal.reopen(id)).map_err(failed)?;
        shared.runs.insert(id.clone(), run.clone());
        Ok(run)
    }

    /// The journal directory of this process.
    fn journals(&self) -> Result<Journal, ProvisionError> {
        let directory = match &self.journals {
            Some(directory) => directory.clone(),
            None => Journal::default_directory()?,
        };
        Journal::open(&directory)
    }

    fn site(&self, site: SiteId) -> Result<Arc<HostTarget>, HostRefusal> {
        let found = self.shared().sites.get(&site).cloned();
        found.ok_or_else(|| HostRefusal::failed(format!("no target is open under number {site}")))
    }
}

/// A target's refusal, for the coordinator.
pub(super) fn refusal(error: &TargetError) -> HostRefusal {
    let kind = match error {
        TargetError::Driver(error) => Some(error.kind),
        TargetError::Input(_) | TargetError::Journal(_) => None,
    };
    HostRefusal {
        input: matches!(error, TargetError::Input(_)),
        error: kind,
        ..HostRefusal::failed(error.to_string())
    }
}

impl HostExecutor for LocalExecutor {
    fn open(&self, opening: &OpenOrder) -> Result<SiteFacts, HostRefusal> {
        let id = |text: &str| text.parse::<RunId>().map_err(|error| HostRefusal::failed(error.to_string()));
        let (run, place) = (self.journal(&id(&opening.run)?)?, id(&opening.place)?);
        for settled in &opening.settled {
            if let (Ok(id), Ok(journal)) = (settled.parse::<RunId>(), self.journals()) {
                // A journal that is missing, or whose run is alive, is not one of those meant.
                let _ = provision::forget(&journal, &id);
            }
        }
        let secrets: Arc<dyn Secrets> = match &opening.key {
            Some(key) => {
                let held = [(opening.cell.target.name.clone(), key.clone())];
                Arc::new(held.into_iter().collect::<HeldSecrets>().over(Arc::clone(&self.secrets)))
            }
            None => Arc::clone(&self.secrets),
        };
        let context = OpenContext {
            run,
            place,
            parts: opening.part.parts(),
            destroy: opening.destroy.clone(),
            cleared: self.cleared.clone(),
            secrets,
            seed: opening.draws,
            patience: opening.patience,
        };
        let site = HostTarget::open(opening, &context, &self.directory)?;
        let facts = site.facts();
        let mut shared = self.shared();
        if shared.sites.len() >= MAX_SITES {
            return Err(HostRefusal::failed(format!("more than {MAX_SITES} targets are open")));
        }
        shared.sites.insert(opening.site, Arc::new(site));
        Ok(facts)
    }

    fn act(&self, site: SiteId, act: &Act) -> Result<Reply, HostRefusal> {
        if *act == Act::Close {
            self.shared().sites.remove(&site);
            return Ok(Reply::Done);
        }
        self.site(site)?.act(act)
    }

    fn run_stage(
        &self,
        request: &StageRequest,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, HostRefusal> {
        let stage = self.site(request.site).and_then(|site| {
            let beside = StageContext { scope: Some(self.scope), ..beside.clone() };
            let plan = site.plan(request, beside)?;
            Ok((site, plan))
        });
        let (site, plan) = stage.inspect_err(|_| {
            // Nobody must wait for a stage that will not start.
            beside.rendezvous.as_ref().inspect(|rendezvous| rendezvous.leave());
        })?;
        drop(beside);
        site.run(&request.task, plan, control, observer).map_err(|error| HostRefusal {
            stopped: matches!(error, StageError::Stopped),
            error: match &error {
                StageError::Connect { error, .. } => Some(error.kind),
                _ => None,
            },
            ..HostRefusal::failed(error.to_string())
        })
    }

    fn scope(&self) -> Option<Scope> {
        Some(self.scope)
    }

    fn abandon(&self) -> Vec<String> {
        let (sites, runs) = {
            let mut shared = self.shared();
            (std::mem::take(&mut shared.sites), shared.runs.clone())
        };
        let mut told = Vec::new();
        for site in sites.into_values() {
            if let Err(refusal) = site.abandon() {
                told.push(refusal.text);
            }
        }
        for run in runs.into_values() {
            told.extend(run.remaining());
            // `manometer cleanup` finds a journal that cannot be removed.
            let _ = run.finish();
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// Two targets of one run, opened at the same moment on an agent.
    #[test]
    fn a_journal_that_is_asked_for_by_several_at_once_is_opened_once() {
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..20 {
            let executor = LocalExecutor::new(Some(directory.path().to_owned()));
            let (id, together) = (RunId::random(), Barrier::new(8));
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        together.wait();
                        executor.journal(&id).unwrap();
                    });
                }
            });
        }
    }
}
