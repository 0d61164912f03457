//! Are the paths between this host and its storage in order?
//!
//! The stages, in order: request, provisioning, rows, removal, report.

mod ceph;
mod ceph_paths;
mod demo;
mod document;
mod input;
mod input_error;
mod limit;
mod paths;
mod plan;
mod probe;
mod provisioned;
mod report;
mod request;
mod row;
mod row_targets;
mod stage;
mod stored;
mod verdict;
mod visit;

use std::sync::Arc;

use experiment::Cell;
use fleet::HostGroup;
use host::LocalExecutor;
use provision::{Journal, Run, RunId};
use runner::bottleneck::Alone;
use runner::{Events, StopReason, StopToken, timestamp};
use store::RunMaker;
use targets::{HeldSecrets, Patience, Secrets};

pub use input::{
    CheckInput, CheckNfsInput, CheckRadosInput, CheckS3Input, gateway, management_address, positive,
};
pub use input_error::{CheckInputError, OptionStyle};
pub use paths::SlowPath;
pub use report::{CheckReport, CheckSettings, CheckedArray};
pub use request::{
    ArrayRequest, CephRequest, CheckAccess, CheckLoad, CheckRequest, CheckSource, ExistingTarget,
};
pub use row::{CheckRow, ClientLoad, DataAddressFacts, PhaseFigures, RowOutcome, WrittenData};
pub use verdict::{BestFigure, CheckVerdict, judge_check};

use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;
use crate::site::SiteOpening;
use crate::stored::keep_failure;
use demo::DemoArray;
use provisioned::Provisioned;
use row::CheckPhase;
use row_targets::RowTarget;
use stage::PhaseRunner;
use stored::StoredCheck;

/// Checks the paths to a storage system: creates the targets or uses existing ones, writes and reads each one through
/// each address, and removes what it created. `secrets` has the credentials of existing targets, by the scheme of their
/// protocol.
///
/// # Errors
/// There is nothing to report: no target was available, or a stop was requested first. What was created is removed or
/// in the journal.
pub fn check(
    mut request: CheckRequest,
    observer: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: &dyn Secrets,
) -> Result<CheckReport, CheckError> {
    let started = timestamp::now();
    let events = &**observer;
    // Must precede the conversion of a demonstration into a request to an array.
    let store = stored::open(&request)?;
    let demo = match request.source {
        CheckSource::Demo => Some(DemoArray::start(&mut request)?),
        _ => None,
    };
    let ports = demo.as_ref().map(|demo| demo.ports.clone()).unwrap_or_default();
    let reactor = ReactorFacts::of(request.load.reactor)?;
    if let Some(reason) = &reactor.refusal {
        events.note(&format!("io_uring is refused, epoll is used: {reason}"));
    }
    let run = begin(&request)?;
    stop.set_leftovers(Some(runner::what_may_be_left(&run, request.journal_dir.as_deref())));
    let provisioned = match Provisioned::prepare(&request, &run, stop, observer, &ports, secrets) {
        Ok(provisioned) => provisioned,
        Err(error) => {
            let plan = plan::of_check(&request.load, &[])?;
            let record =
                stored::record(&run.id().to_string(), plan, started, &reactor, &request.record.command);
            let error = abandon(&run, stop, events, error);
            keep_failure(store, RunMaker::Check, &record, &error, stop, observer);
            return Err(error);
        }
    };
    let array = provisioned.array.clone();
    let begun = plan::of_check(&request.load, &provisioned.targets).and_then(|plan| {
        let cells = plan.cells.clone();
        let record = stored::record(&run.id().to_string(), plan, started, &reactor, &request.record.command);
        StoredCheck::begin(store, &record, observer).map(|stored| (cells, stored))
    });
    let measured = begun
        .map(|(cells, stored)| rows(&request, (&provisioned.targets, &cells), &run, stop, events, stored));
    let left_behind = provisioned.remove(&run, events);
    drop(demo);
    if !left_behind.is_empty() {
        events.error(&left_behind_line(&left_behind));
    }
    let (rows, mut stored) = measured?;
    left_behind.iter().for_each(|left| stored.event("error", &format!("left behind: {left}")));
    stored.finish(stop);
    Ok(CheckReport {
        run_id: run.id().to_string(),
        started,
        finished: timestamp::now(),
        settings: request.settings(),
        array,
        reactor,
        verdict: judge_check(&rows),
        rows,
        left_behind,
        interrupted_by: stop.reason().map(StopReason::name),
    })
}

/// Checks each target through its two cells.
fn rows(
    request: &CheckRequest,
    (targets, cells): (&[RowTarget], &[Cell]),
    run: &Run,
    stop: &StopToken,
    events: &dyn Events,
    stored: StoredCheck,
) -> (Vec<CheckRow>, StoredCheck) {
    let with_cells = || targets.iter().zip(cells.chunks_exact(CheckPhase::ALL.len()));
    let keys =
        with_cells().filter_map(|(target, cells)| Some((cells[0].target.name.clone(), target.key.clone()?)));
    let secrets = Arc::new(keys.collect::<HeldSecrets>());
    let executor = LocalExecutor::of_run(run, secrets, request.scratch.clone());
    let host_group = HostGroup::here(Arc::new(executor));
    let mut phases = PhaseRunner {
        host_group: &host_group,
        label: String::new(),
        events,
        stop,
        alone: Alone::of_this_host(),
        stored,
    };
    let id = run.id().to_string();
    let patience = Patience { connect: request.load.connect_timeout, answer: request.load.op_timeout };
    let mut rows = Vec::new();
    for (number, (target, cells)) in (0..).zip(with_cells()) {
        let opening = SiteOpening {
            number,
            run: &id,
            // Different bytes in each row: data left by one must not pass for data written by the next, nor make it
            // cheaper to store.
            seed: seed(run.id()).wrapping_add(u64::from(number)),
            reactor: request.load.reactor,
            patience,
        };
        phases.stored.begin_row(number);
        let row = visit::visit(&mut phases, target, [&cells[0], &cells[1]], opening);
        phases.stored.end_row(&row);
        rows.push(row);
    }
    (rows, phases.stored)
}

fn begin(request: &CheckRequest) -> Result<Run, CheckError> {
    let directory = match &request.journal_dir {
        Some(directory) => directory.clone(),
        None => Journal::default_directory()?,
    };
    Ok(Journal::open(&directory)?.begin(&request.record.id())?)
}

/// Ends a check for which no target was available.
fn abandon(run: &Run, stop: &StopToken, events: &dyn Events, error: CheckError) -> CheckError {
    if let Err(error) = run.finish() {
        events.warn(&error.to_string());
    }
    let remaining = run.remaining();
    if !remaining.is_empty() {
        events.error(&left_behind_line(&remaining));
    }
    match stop.reason() {
        Some(_) => CheckError::Stopped(error.to_string()),
        None => error,
    }
}

fn left_behind_line(remaining: &[String]) -> String {
    format!("left behind: {}; next: run `manometer cleanup`", remaining.join(", "))
}

/// Every run has its own payload, so that data left by another cannot pass for it.
fn seed(run: &RunId) -> u64 {
    run.as_str().bytes().fold(0, |seed, byte| seed << 8 | u64::from(byte))
}
