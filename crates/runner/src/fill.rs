//! Filling a data set: every byte is written, and then looked for.

use experiment::Cell;
use fleet::{Act, StageTask};
use metrics::OpKind;
use store::StageRecord;
use units::Size;

use super::context::{Context, Fault, Order};
use super::site::Site;

/// A stage in which nothing was done yet.
pub fn record(name: &str, seconds: f64) -> StageRecord {
    StageRecord { name: name.to_owned(), seconds, ok: 0, failed: 0, bytes: 0, note: None }
}

/// Writes every byte of the data set of all hosts.
///
/// # Errors
/// Not everything could be written, or a signal came.
pub fn fill(context: &Context, cell: &Cell, site: &Site, generation: u32) -> Result<StageRecord, Fault> {
    let mut prepared = record("prepare", 0.0);
    let mut part = 0;
    let mut run = |task: StageTask, bytes_expected: u64| -> Result<(), Fault> {
        let order = Order {
            trial: part,
            bytes_expected: (bytes_expected > 0).then_some(bytes_expected),
            ..Order::mass(cell, site, crate::stages::PREPARE, task)
        };
        part += 1;
        let result = context.stage(order, &mut |_, _| false)?.whole;
        prepared.ok += result.total.ok();
        // A file that a killed run had made already is no error.
        let there: u64 = result
            .total
            .op(OpKind::Create)
            .map_or(0, |stats| stats.errors[metrics::ErrorKind::AlreadyExists as usize]);
        prepared.failed += result.total.failed() - there;
        prepared.bytes += result.total.bytes();
        if result.stopped {
            return Err(Fault::Interrupted);
        }
        if let Some(error) = context.recorder().failure() {
            return Err(Fault::Failed(error));
        }
        if result.exhausted && result.total.bytes() >= bytes_expected {
            return Ok(());
        }
        let cause = result.error_samples.first().map_or_else(
            || "look at the target's health, then run again".to_owned(),
            |(kind, detail)| format!("{kind}: {detail}"),
        );
        Err(Fault::Failed(format!(
            "prepare wrote only {} of {}: {cause}",
            Size(result.total.bytes()).rounded(),
            Size(site.bytes()).rounded()
        )))
    };
    // Files that are there in full size are written over: what they held is of another generation.
    if site.kind() == "files" && check_complete(context, site, false).is_err() {
        run(StageTask::Create, 0)?;
    }
    run(StageTask::Fill { generation }, site.bytes())?;
    Ok(prepared)
}

/// Files must have their size, and every byte of them must have been written: a hole is an error.
///
/// # Errors
/// The first that is not so; one line.
pub fn check_size(context: &Context, site: &Site) -> Result<(), Fault> {
    check_complete(context, site, true)
}

fn check_complete(context: &Context, site: &Site, allocated: bool) -> Result<(), Fault> {
    site.act(context, &Act::CheckComplete { allocated }).map(drop)
}
