//! Work without an experiment: checks, network tests and calibrations.

use std::sync::Arc;

use checks::{
    CalibrateRequest, CheckReport, CheckRequest, CheckSource, NetworkReport, NetworkRequest, RecordOptions,
};
use provision::RunIdError;
use runner::{Events, StopToken};
use targets::HeldSecrets;

use super::{COMMAND, CarryOutError, JOURNAL, Place, RunEnd, SCRATCH, Task, joined, left_behind};
use crate::database::AskedState;
use crate::observer::Observer;
use crate::work::Calibration;

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
    // The key is readable for as long as its file is open.
    let _key;
    if let CheckSource::Ceph(ceph) = &mut request.source {
        (ceph.login, _key) = task.secrets.login.for_ssh(place.ssh_options).map_err(CarryOutError::Key)?;
    }
    let observer: Arc<dyn Events> = Arc::new(Observer::new(task.log, task.progress));
    let keys: HeldSecrets = task.secrets.keys.into_iter().collect();
    let report = checks::check(request, &observer, &task.stop, &keys)?;
    Ok(checked(&report))
}

/// The end of work that is worthless unless it is whole; `None` if nobody stopped it. The cells that had ended are kept.
fn stopped(stop: &StopToken) -> Option<RunEnd> {
    let reason = format!("stopped by {}", stop.reason()?.name());
    Some(RunEnd { state: AskedState::Interrupted, reason: Some(reason), result: None })
}

/// Measures the network between hosts.
pub(super) fn network(
    mut request: NetworkRequest,
    task: Task,
    place: &Place<'_>,
) -> Result<RunEnd, CarryOutError> {
    request.record = record(&task, place)?;
    // The key is readable for as long as its file is open.
    let (login, _key) = task.secrets.login.for_ssh(place.ssh_options).map_err(CarryOutError::Key)?;
    request.login = login;
    let observer: Arc<dyn Events> = Arc::new(Observer::new(task.log, task.progress));
    let found = checks::network(&request, &observer, &task.stop);
    match stopped(&task.stop) {
        Some(end) => Ok(end),
        None => Ok(linked(&found?)),
    }
}

fn linked(report: &NetworkReport) -> RunEnd {
    let reason = (!report.success()).then(|| {
        let verdict = report.verdict();
        let first = verdict.first().cloned().unwrap_or_default();
        match verdict.len() {
            0 | 1 => first,
            lines => format!("{first} (and {} more lines in the result)", lines - 1),
        }
    });
    RunEnd { state: AskedState::Finished, reason, result: Some(report.json()) }
}

/// Calibrates this host. Later results on it are judged against the calibration.
pub(super) fn calibrate(
    calibration: Calibration,
    task: Task,
    place: &Place<'_>,
) -> Result<RunEnd, CarryOutError> {
    let Calibration { seconds, repetitions, reactor } = calibration;
    let request = CalibrateRequest {
        seconds,
        repetitions,
        reactor,
        program: place.program.to_owned(),
        scratch: place.directory.join(SCRATCH),
        record: record(&task, place)?,
    };
    let observer: Arc<dyn Events> = Arc::new(Observer::new(task.log, task.progress));
    let found = checks::calibrate(&request, &observer, &task.stop);
    if let Some(end) = stopped(&task.stop) {
        return Ok(end);
    }
    let found = found?;
    store::save_calibration(place.results.file(), &found)?;
    let result = serde_json::to_string_pretty(&found).expect("all keys are strings");
    Ok(RunEnd { state: AskedState::Finished, reason: None, result: Some(result) })
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
