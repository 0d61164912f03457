//! Filling a data set: every byte is written, and then looked for.

use engine::{DataSet, Shape, Workload};
use experiment::Cell;
use metrics::OpKind;
use store::StageRecord;
use units::Size;

use super::context::{Context, Fault, Order};
use super::load;
use crate::target::Opened;

/// A stage in which nothing was done yet.
pub fn record(name: &str, seconds: f64) -> StageRecord {
    StageRecord { name: name.to_owned(), seconds, ok: 0, failed: 0, bytes: 0, note: None }
}

/// Writes every byte of a data set.
///
/// # Errors
/// Not everything could be written, or a signal came.
pub fn fill(
    context: &Context,
    cell: &Cell,
    opened: &Opened,
    data_set: &DataSet,
    generation: u32,
) -> Result<StageRecord, Fault> {
    let mut prepared = record("prepare", 0.0);
    let reactor = opened.reactor(context.reactor);
    let mut part = 0;
    let mut run = |workload: Workload, bytes_expected: u64| -> Result<(), Fault> {
        let plan = load::mass(cell, workload, reactor, context.seed);
        let bytes_expected = (bytes_expected > 0).then_some(bytes_expected);
        let order = Order {
            cell,
            opened,
            name: super::PREPARE,
            trial: part,
            plan: &plan,
            bytes_expected,
            together: None,
        };
        part += 1;
        let result = context.stage(&order, &mut |_, _| false)?;
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
        if result.exhausted && result.total.bytes() >= bytes_expected.unwrap_or(0) {
            return Ok(());
        }
        let cause = result.error_samples.first().map_or_else(
            || "look at the target's health, then run again".to_owned(),
            |(kind, detail)| format!("{kind}: {detail}"),
        );
        Err(Fault::Failed(format!(
            "prepare wrote only {} of {}: {cause}",
            Size(result.total.bytes()).rounded(),
            Size(data_set.bytes()).rounded()
        )))
    };
    // Files that are there in full size are written over: what they held is of another generation.
    if matches!(data_set.shape(), Shape::Files { .. }) && opened.check_complete(data_set).is_err() {
        run(Workload::Visit { data_set: data_set.clone(), kind: OpKind::Create }, 0)?;
    }
    let block_bytes = load::large_block(data_set.shape().item_bytes());
    run(Workload::Fill { data_set: data_set.clone(), block_bytes, generation }, data_set.bytes())?;
    Ok(prepared)
}

/// Files must have their size, and every byte of them must have been written: a hole is an error.
///
/// # Errors
/// The first that is not so; one line.
pub fn check_size(opened: &Opened, data_set: &DataSet) -> Result<(), Fault> {
    opened.check_complete(data_set).map_err(|error| Fault::Failed(error.to_string()))?;
    super::allocated::check(opened, data_set).map_err(Fault::Failed)
}
