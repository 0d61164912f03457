//! What is done on one host alone: a fleet that asks for it is refused.

use experiment::{Logs, Plan};

/// Refuses a plan for several hosts that asks for what only one does: logs of operations, and their replay, are files of the
/// host that leads.
///
/// # Errors
/// Which cell asks for what, and what to do about it: one line.
pub fn check_for_several(plan: &Plan) -> Result<(), String> {
    for cell in &plan.cells {
        let Some(job) = cell.workload.stream() else { continue };
        let only_here = [
            (job.logs != Logs::default(), "writes a log of its operations or figures"),
            (job.replay.is_some(), "plays a log of operations back"),
        ];
        if let Some((_, what)) = only_here.into_iter().find(|(asked, _)| *asked) {
            return Err(format!(
                "job {:?} {what}, which is done on one host alone; leave it out, or run it on that host without a fleet",
                cell.name
            ));
        }
    }
    Ok(())
}
