//! Work without an experiment: checks.

use std::sync::Arc;

use checks::{CheckReport, CheckRequest, CheckSource, RecordOptions};
use provision::RunIdError;
use runner::Events;
use targets::HeldSecrets;

use super::{COMMAND, CarryOutError, JOURNAL, Place, RunEnd, SCRATCH, Task, joined, left_behind};
use crate::database::AskedState;
use crate::observer::Observer;

/// How a run of the service is recorded.
fn record(task: &Task, place: &Place<'_>) -> Result<RecordOptions, RunIdError> {
    Ok(RecordOptions {
        id: Some(task.id.parse()?),
        results: Some(place.results.file().to_owned()),
        database: place.results.server().cloned(),
        command: COMMAND.to_owned(),
    })
}

/// Checks the paths to a storage system.
pub(super) fn check(
    mut request: CheckRequest,
    task: Task,
    place: &Place<'_>,
) -> Result<RunEnd, CarryOutError> {
    request.record = record(&task, place)?;
    request.scratch = place.directory.join(SCRATCH);
    // A simulated array ends with this process: nothing on it needs a journal that outlives it.
    let is_real = !matches!(request.source, CheckSource::Demo);
    request.journal_dir = is_real.then(|| place.directory.join(JOURNAL));
    let observer: Arc<dyn Events> = Arc::new(Observer { log: task.log, progress: task.progress });
    let keys: HeldSecrets = task.secrets.keys.into_iter().collect();
    let report = checks::check(request, &observer, &task.stop, &keys)?;
    Ok(checked(&report))
}

fn checked(report: &CheckReport) -> RunEnd {
    let (state, what) = match report.interrupted_by {
        Some(by) => (AskedState::Interrupted, Some(format!("stopped by {by}"))),
        None if report.success() => (AskedState::Finished, None),
        None => (AskedState::Finished, Some(report.verdict.working.clone())),
    };
    let reason = joined([what, left_behind(&report.left_behind)]);
    RunEnd { state, reason, result: Some(report.json()) }
}
