//! Is the plumbing between this host and its storage right?
//!
//! The stages, one way: request, provisioning, rows, removal, report.

mod demo;
mod limit;
mod paths;
mod place;
mod provisioned;
mod report;
mod request;
mod row;
mod row_targets;
mod sampler;
mod stage;
mod url;
mod verdict;
mod visit;

use std::collections::BTreeMap;

use drivers::Payload;
use provision::{Journal, Run, RunId};
use runner::{Events, StopReason, StopToken, timestamp};
use targets::Secrets;

pub use paths::SlowPath;
pub(crate) use provisioned::array_credentials;
pub use report::{CheckReport, CheckSettings, CheckedArray};
pub use request::{ArrayRequest, CheckLoad, CheckRequest, CheckSource, NfsAccess, S3_KEY, S3Access};
pub use row::{
    CheckRow, CheckedProtocol, ClientLoad, DataAddressFacts, PhaseFigures, PhaseSecond, RowOutcome,
    WrittenData,
};
pub use url::{NfsUrl, S3Url};
pub use verdict::{BestFigure, CheckVerdict, judge_check};

use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;
use demo::DemoArray;
use provisioned::Provisioned;
use stage::PhaseRunner;

/// Checks the paths to a storage: makes the targets or takes those that exist, writes and reads each through each address,
/// and removes what it made. `secrets` has the keys of buckets that exist, as [`S3_KEY`].
///
/// # Errors
/// There is nothing to report: no target could be had, or a stop came before. What was made is removed or in the journal.
pub fn check(
    mut request: CheckRequest,
    events: &dyn Events,
    stop: &StopToken,
    secrets: &dyn Secrets,
) -> Result<CheckReport, CheckError> {
    let started = timestamp::now();
    let demo = match request.source {
        CheckSource::Demo => Some(DemoArray::start(&mut request)?),
        _ => None,
    };
    let ports = demo.as_ref().map_or_else(BTreeMap::new, |demo| demo.ports.clone());
    let reactor = ReactorFacts::of(request.load.reactor)?;
    if let Some(reason) = &reactor.refusal {
        events.note(&format!("io_uring is refused, epoll is used: {reason}"));
    }
    let run = begin(&request)?;
    stop.set_leftovers(Some(runner::what_may_be_left(&run, request.journal_dir.as_deref())));
    let provisioned = match Provisioned::prepare(&request, &run, stop, events, &ports, secrets) {
        Ok(provisioned) => provisioned,
        Err(error) => return Err(abandon(&run, stop, events, error)),
    };
    let array = provisioned.array.clone();
    let rows = rows(&request, &provisioned, &run, stop, events);
    let left_behind = provisioned.remove(&run, events);
    drop(demo);
    if !left_behind.is_empty() {
        events.error(&left_behind_line(&left_behind));
    }
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

fn rows(
    request: &CheckRequest,
    provisioned: &Provisioned,
    run: &Run,
    stop: &StopToken,
    events: &dyn Events,
) -> Vec<CheckRow> {
    let mut phases = PhaseRunner {
        load: request.load.clone(),
        payload: Payload::new(seed(run.id())),
        events,
        stop,
        alone: runner::bottleneck::Alone::of_this_host(),
    };
    let rows = provisioned.targets.iter().zip(0..).map(|(target, number)| {
        // Other bytes in each row: what one left behind must not pass for what the next one wrote, nor make it cheaper.
        phases.payload = Payload::new(seed(run.id()).wrapping_add(number));
        visit::visit(&mut phases, target, run)
    });
    rows.collect()
}

fn begin(request: &CheckRequest) -> Result<Run, CheckError> {
    let directory = match &request.journal_dir {
        Some(directory) => directory.clone(),
        None => Journal::default_directory()?,
    };
    Ok(Journal::open(&directory)?.begin(&RunId::random())?)
}

/// Ends a check for which no target could be had.
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

/// The payload of a run is its own, so that nothing left by another can pass for it.
fn seed(run: &RunId) -> u64 {
    run.as_str().bytes().fold(0, |seed, byte| seed << 8 | u64::from(byte))
}
