//! Every target is opened once before anything is made: what is written wrongly is said now, not hours later.
//!
//! What cannot be reached now is no error: its cells will say so.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use experiment::{Cell, Plan};
use fleet::{Act, HostRefusal as Refused, SiteId, Trouble};
use host::load;
use provision::{Run, settled_on, settled_told};
use targets::{ClearedFiles, OpenContext, Patience, Secrets, TargetError};

use super::open_requests::OpenRequests;
use crate::begin::RunError;
use crate::options::RunOptions;

/// The number under which hosts try targets; those of cells count from 0.
const TRIED: SiteId = SiteId::MAX;

/// A cell for each target of the plan.
pub fn targets(plan: &Plan) -> Vec<&Cell> {
    let mut targets: Vec<&Cell> = Vec::new();
    for cell in &plan.cells {
        if !targets.iter().any(|known| known.target == cell.target) {
            targets.push(cell);
        }
    }
    targets
}

/// Opens every target in this process.
///
/// # Errors
/// A URL or an option that cannot be used, or a device that may not be overwritten.
pub fn here(
    plan: &Plan,
    run: &Run,
    options: &RunOptions,
    secrets: &Arc<dyn Secrets>,
    cleared: &ClearedFiles,
) -> Result<(), RunError> {
    for cell in targets(plan) {
        let context = OpenContext {
            run: run.clone(),
            place: run.id().clone(),
            destroy: options.destroy.clone(),
            cleared: cleared.clone(),
            secrets: Arc::clone(secrets),
            seed: plan.seed,
            patience: Patience::default(),
        };
        let opened = targets::open(&cell.target, &cell.workload, &context);
        if let Err(TargetError::Input(line)) = opened {
            return Err(RunError::Usage(line));
        }
        if opened.is_ok() && overwrites(cell) {
            let opened = opened.map_err(|error| RunError::Usage(error.to_string()))?;
            opened.prepare().map_err(|error| RunError::Usage(error.to_string()))?;
        }
    }
    Ok(())
}

/// Opens every target on every host.
///
/// # Errors
/// As [`here`]: one line, with the first host that says so and how many others do.
pub fn on_hosts(approach: &OpenRequests<'_>) -> Result<(), String> {
    let names = approach.host_group.names();
    for cell in targets(approach.plan) {
        let members = approach.host_group.alive();
        let mut openings = approach.openings(cell, TRIED, &members)?;
        let journals = approach.run.path().parent().unwrap_or(Path::new("."));
        for (member, opening) in &mut openings {
            let settled = settled_on(journals, &names[*member]);
            opening.settled = settled.iter().map(ToString::to_string).collect();
        }
        let (mut open, mut refusals) = (Vec::new(), Vec::new());
        for (member, answer) in approach.host_group.open(openings) {
            match answer {
                Ok(_) => {
                    // If this cannot be noted, the host is told again the next time.
                    let _ = settled_told(journals, &names[member]);
                    open.push(member);
                }
                Err(Trouble::Refused(refused)) if refused.input => refusals.push((member, refused)),
                Err(_) => {}
            }
        }
        if refusals.is_empty() && overwrites(cell) {
            let prepared = approach.host_group.act(&open, TRIED, &Act::Prepare).into_iter();
            refusals.extend(prepared.filter_map(|(member, answer)| match answer {
                Err(Trouble::Refused(refused)) => Some((member, refused)),
                _ => None,
            }));
        }
        // A host that is lost has forgotten it, too.
        let _ = approach.host_group.act(&open, TRIED, &Act::Close);
        if let Some(line) = line(cell, &names, &refusals) {
            return Err(line);
        }
    }
    Ok(())
}

/// What hosts refused, in one line.
fn line(cell: &Cell, names: &[String], refusals: &[(usize, Refused)]) -> Option<String> {
    let (member, Refused { text, .. }) = refusals.first()?;
    let target = &cell.target;
    let named = [&target.name, &target.url].into_iter().any(|name| !name.is_empty() && text.contains(name));
    let whose = if named { String::new() } else { format!("target {}: ", target.name) };
    let others: BTreeSet<usize> = refusals[1..].iter().map(|(other, _)| *other).collect();
    let more = match others.len() {
        0 => String::new(),
        1 => " (and another host)".to_owned(),
        more => format!(" (and {more} other hosts)"),
    };
    Some(format!("{}{more}: {whose}{text}", names[*member]))
}

/// The load writes to a whole block device.
fn overwrites(cell: &Cell) -> bool {
    targets::kind_of(&cell.target.url).is_some_and(|kind| kind.device) && load::changes_device(cell)
}
