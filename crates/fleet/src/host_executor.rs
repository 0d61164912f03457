//! Carries out orders on one host.

use engine::{Control, StageContext, StageResult};
use metrics::Interval;
use reactor::live::Scope;

use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest};

/// One host's side of a run: it opens targets, prepares them and runs stages. Called from several threads concurrently,
/// for different sites.
pub trait HostExecutor: Send + Sync {
    /// Opens a target. Creates nothing yet.
    ///
    /// # Errors
    /// The target's error.
    fn open(&self, opening: &OpenOrder) -> Result<SiteFacts, HostRefusal>;

    /// Performs an act on an opened target. Blocks.
    ///
    /// # Errors
    /// The act failed.
    fn act(&self, site: SiteId, act: &Act) -> Result<Reply, HostRefusal>;

    /// Runs a stage to its end. `beside.rendezvous` says when it starts; the rest of `beside` is only for stages in
    /// this process.
    ///
    /// # Errors
    /// The stage could not start.
    fn run_stage(
        &self,
        request: &StageRequest,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, HostRefusal>;

    /// The run that owns the stages' connections and workers; `None`: all of this process belong to it.
    fn scope(&self) -> Option<Scope> {
        None
    }

    /// The coordinator is gone: removes everything that was created and not meant to stay; returns what is left, for
    /// people.
    fn abandon(&self) -> Vec<String>;
}
