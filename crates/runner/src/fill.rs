//! Fills a data set: writes every byte, then checks that it is there.

use experiment::{Cell, Sharing};
use fleet::{Act, HostGroupResult, StageTask};
use metrics::OpKind;
use store::StageRecord;
use units::Size;

use super::context::{CellFailure, CellStage, Context};
use super::site::Site;
use crate::stages::PREPARE;

/// Writes every byte of all hosts' data sets. A host lost meanwhile is not waited for if the run may continue without
/// it; a remaining host writes the part that others read.
///
/// # Errors
/// Not everything could be written, or a signal arrived.
pub fn fill(
    context: &Context,
    cell: &Cell,
    site: &Site,
    generation: u32,
) -> Result<StageRecord, CellFailure> {
    let mut filling =
        Filling { context, cell, generation, part: 0, prepared: StageRecord::new(PREPARE, 0.0) };
    filling.over(site)?;
    let others_read_it = matches!(context.sharing(), Sharing::Common | Sharing::Neighbour);
    for lost in site.lost(context) {
        let name = &context.hosts[lost];
        if !others_read_it {
            let text = format!("{name} was lost in preparation: the cell goes on without it and its part");
            context.remark(cell, "host-lost", &text);
            continue;
        }
        context.remark(
            cell,
            "host-lost",
            &format!("{name} was lost in preparation: another host prepares its part"),
        );
        let heirs = Site::of_lost(context, cell, lost)?;
        let filled = filling.over(&heirs);
        heirs.close(context);
        filled?;
    }
    Ok(filling.prepared)
}

/// Progress of filling a data set.
struct Filling<'a> {
    context: &'a Context,
    cell: &'a Cell,
    generation: u32,
    /// Number of stages so far.
    part: u32,
    prepared: StageRecord,
}

impl Filling<'_> {
    /// Creates and fills what the hosts of a site lack.
    fn over(&mut self, site: &Site) -> Result<(), CellFailure> {
        // Full-size files are overwritten: their content is of another generation. Missing files with names were created
        // when the place was entered.
        let numbered = self.cell.workload.user_files().is_none();
        if numbered && site.kind() == "files" && check_complete(self.context, site, false).is_err() {
            self.run(site, StageTask::Create)?;
        }
        self.run(site, StageTask::Fill { generation: self.generation })
    }

    fn run(&mut self, site: &Site, task: StageTask) -> Result<(), CellFailure> {
        let fills = matches!(task, StageTask::Fill { .. });
        let stage = CellStage {
            trial: self.part,
            bytes_expected: fills.then(|| site.bytes()).filter(|bytes| *bytes > 0),
            ..CellStage::full_pass(self.cell, site, PREPARE, task)
        };
        self.part += 1;
        let HostGroupResult { whole, parts, .. } = self.context.stage(stage, &mut |_, _| false)?;
        self.prepared.ok += whole.total.ok();
        // A file that an interrupted preparation already created is no error.
        let there: u64 = whole
            .total
            .op(OpKind::Create)
            .map_or(0, |stats| stats.errors[metrics::ErrorKind::AlreadyExists as usize]);
        self.prepared.failed += whole.total.failed() - there;
        self.prepared.bytes += whole.total.bytes();
        if whole.stopped {
            return Err(CellFailure::Interrupted);
        }
        if let Some(error) = self.context.recorder().failure() {
            return Err(CellFailure::Failed(error.to_string()));
        }
        // What a lost host did not write says nothing about the target.
        let kept = || parts.iter().filter(|part| part.lost.is_none());
        let written: u64 = kept().map(|part| part.result.total.bytes()).sum();
        let expected: u64 = kept().map(|part| site.bytes_of(part.member)).sum();
        if kept().all(|part| part.result.exhausted) && (!fills || written >= expected) {
            return Ok(());
        }
        let cause = whole.error_samples.first().map_or_else(
            || "look at the target's health, then run again".to_owned(),
            |(kind, detail)| format!("{kind}: {detail}"),
        );
        Err(CellFailure::Failed(format!(
            "prepare wrote only {} of {}: {cause}",
            Size(written).rounded(),
            Size(expected).rounded()
        )))
    }
}

/// Checks that files have their full size and every byte was written: a hole is an error.
///
/// # Errors
/// The first file that fails the check; one line.
pub fn check_size(context: &Context, site: &Site) -> Result<(), CellFailure> {
    check_complete(context, site, true)
}

fn check_complete(context: &Context, site: &Site, allocated: bool) -> Result<(), CellFailure> {
    site.act(context, &Act::CheckComplete { allocated }).map(drop)
}
