//! What carries orders out on one host.

use engine::{Control, StageContext, StageResult};
use metrics::Interval;
use reactor::live::Scope;

use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteFacts, SiteId, StageRequest};

/// One host's side of a run: it opens targets, prepares them and runs stages. Called from several threads at once, for
/// different sites.
pub trait HostExecutor: Send + Sync {
    /// Opens a target. Nothing is made yet.
    ///
    /// # Errors
    /// What is wrong with it.
    fn open(&self, opening: &OpenOrder) -> Result<SiteFacts, HostRefusal>;

    /// Does something with an opened target. Blocks.
    ///
    /// # Errors
    /// What could not be done.
    fn act(&self, site: SiteId, act: &Act) -> Result<Reply, HostRefusal>;

    /// Runs a stage to its end. `beside.rendezvous` says when it starts; the rest of `beside` is only for stages of
    /// this process.
    ///
    /// # Errors
    /// It could not begin.
    fn run_stage(
        &self,
        request: &StageRequest,
        beside: StageContext,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, HostRefusal>;

    /// The run to which connections and workers of its stages belong; `None`: all of this process are its.
    fn scope(&self) -> Option<Scope> {
        None
    }

    /// Nobody leads any more: removes all that was made and not asked to stay; what is left, for people.
    fn abandon(&self) -> Vec<String>;
}
