//! Prepares a data set: writes every byte and checks that it is there, and sets what else a load reads.

use experiment::{Cell, Sharing};
use fleet::{Act, HostGroupResult, StageTask};
use metrics::OpKind;
use reactor::clock;
use store::StageRecord;
use units::Size;

use super::context::{CellFailure, CellStage, Context};
use super::site::Site;
use crate::stages::PREPARE;

/// More than the parts of filling: two, and two for each lost host.
const AFTER_FILLING: u32 = 1 << 20;

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
    pass(context, cell, site, Pass::Fill { generation })
}

/// Sets what the operations of a load read besides content, such as the keys of objects, on each file or object of all
/// hosts' data sets; `None` if they read nothing else. A load may have changed it, so every such load needs this.
///
/// # Errors
/// As [`fill`].
pub fn set(context: &Context, cell: &Cell, site: &Site) -> Result<Option<StageRecord>, CellFailure> {
    let mut kinds = cell.workload.ops.iter().filter_map(|weighted| weighted.op.traits().set_by);
    let Some(kind) = kinds.next() else { return Ok(None) };
    let begun_ns = clock::now_ns();
    let set = pass(context, cell, site, Pass::Set { kind })?;
    let seconds = clock::now_ns().saturating_sub(begun_ns) as f64 / 1e9;
    Ok(Some(StageRecord { seconds, note: Some(format!("{kind} on each")), ..set }))
}

/// What is done to the whole data set.
#[derive(Clone, Copy)]
enum Pass {
    /// Every byte is written.
    Fill { generation: u32 },
    /// One operation on each file or object.
    Set { kind: OpKind },
}

fn pass(context: &Context, cell: &Cell, site: &Site, pass: Pass) -> Result<StageRecord, CellFailure> {
    // Each part of the preparation has a number of its own.
    let part = match pass {
        Pass::Fill { .. } => 0,
        Pass::Set { .. } => AFTER_FILLING,
    };
    let mut filling = Filling { context, cell, pass, part, prepared: StageRecord::new(PREPARE, 0.0) };
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
    pass: Pass,
    /// Number of stages so far.
    part: u32,
    prepared: StageRecord,
}

impl Filling<'_> {
    /// Creates and fills what the hosts of a site lack, or sets what they need.
    fn over(&mut self, site: &Site) -> Result<(), CellFailure> {
        let generation = match self.pass {
            Pass::Fill { generation } => generation,
            Pass::Set { kind } => return self.run(site, StageTask::Visit { kind }),
        };
        // Full-size files are overwritten: their content is of another generation. Missing files with names were created
        // when the place was entered.
        let numbered = self.cell.workload.user_files().is_none();
        if numbered && site.kind() == "files" && check_complete(self.context, site, false).is_err() {
            self.run(site, StageTask::Visit { kind: OpKind::Create })?;
        }
        self.run(site, StageTask::Fill { generation })
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
        let failed = whole.total.failed() - there;
        self.prepared.failed += failed;
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
        let complete = match self.pass {
            Pass::Fill { .. } => !fills || written >= expected,
            // A visit passes over what fails.
            Pass::Set { .. } => failed == 0,
        };
        if complete && kept().all(|part| part.result.exhausted) {
            return Ok(());
        }
        let cause = whole.error_samples.first().map_or_else(
            || "look at the target's health, then run again".to_owned(),
            |(kind, detail)| format!("{kind}: {detail}"),
        );
        Err(CellFailure::Failed(match self.pass {
            Pass::Fill { .. } => {
                let [written, expected] = [written, expected].map(|bytes| Size(bytes).rounded());
                format!("prepare wrote only {written} of {expected}: {cause}")
            }
            Pass::Set { kind } => format!("prepare could not {kind} everywhere: {cause}"),
        }))
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
