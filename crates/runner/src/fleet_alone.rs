//! Refuses fleets for features that work on a single host only.

use experiment::{Logs, Plan};

/// A job asks for what is done on one host alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "job {job:?} {what}, which is done on one host alone; leave it out, or run it on that host without a fleet"
)]
pub struct OneHostOnly {
    /// Its name.
    pub job: String,
    /// What it does, in words.
    pub what: &'static str,
}

/// Refuses a plan for several hosts that uses a single-host feature: operation logs and their replay are files of the
/// coordinator.
///
/// # Errors
/// Which job uses which feature.
pub fn check_for_several(plan: &Plan) -> Result<(), OneHostOnly> {
    for cell in &plan.cells {
        let Some(job) = cell.workload.stream() else { continue };
        let only_here = [
            (job.logs != Logs::default(), "writes a log of its operations or figures"),
            (job.replay.is_some(), "plays a log of operations back"),
        ];
        if let Some((_, what)) = only_here.into_iter().find(|(asked, _)| *asked) {
            return Err(OneHostOnly { job: cell.name.clone(), what });
        }
    }
    Ok(())
}
