//! Who executes a run: this process, or agents on the hosts of a fleet.

use std::sync::{Arc, Mutex, PoisonError};

use experiment::{Cell, HostValueError, Plan};
use fleet::{FleetEvent, HostGroup};
use host::LocalExecutor;
use provision::Run;
use targets::Secrets;

use super::open_requests::OpenRequests;
use super::preflight::{self, Depth};
use crate::begin::RunError;
use crate::events::{Events, RunEvent};
use crate::fleet_start::start_fleet;
use crate::options::RunOptions;
use crate::stop::StopToken;

/// Stands for the name of a run where any will do.
const RUN: &str = "manometer";
/// Maximum events held until they are reported.
const MAX_EVENTS: usize = 10_000;

/// Events of the host group that are not reported yet.
#[derive(Default)]
pub struct HostGroupEvents {
    events: Mutex<Vec<Told>>,
}

/// An event of the host group as stored in the results.
pub struct Told {
    /// The kind of event.
    pub kind: &'static str,
    /// A line.
    pub text: String,
}

impl HostGroupEvents {
    /// Adds an event that was reported to the user.
    pub(crate) fn add(&self, told: Told) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MAX_EVENTS {
            events.push(told);
        }
    }

    /// Takes all pending events and marks them as reported.
    pub fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The hosts of a plan, after every target was checked from each of them.
///
/// # Errors
/// An agent could not be started; a target cannot be used: every fault.
pub fn assemble(
    plan: &Plan,
    run: &Run,
    (options, resumed): (&RunOptions, bool),
    events: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: &Arc<dyn Secrets>,
    host_group_events: &Arc<HostGroupEvents>,
) -> Result<HostGroup, RunError> {
    let host_group = start(plan, run, options, events, stop, secrets, host_group_events)?;
    let requests = OpenRequests::of_run(plan, &host_group, run, options, &**secrets);
    let ready = fits(plan, &host_group).map_err(|error| RunError::Usage(error.to_string())).and_then(|()| {
        let seen = preflight::look(&requests, Depth::of(options, resumed), &**events);
        seen.warnings().for_each(|text| events.warn(text));
        seen.verdict()
    });
    match ready {
        Ok(()) => Ok(host_group),
        Err(error) => {
            host_group.end();
            Err(error)
        }
    }
}

/// Starts the agents of a plan's fleet, or uses this process alone.
///
/// # Errors
/// An agent could not be started.
pub fn start(
    plan: &Plan,
    run: &Run,
    options: &RunOptions,
    events: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: &Arc<dyn Secrets>,
    host_group_events: &Arc<HostGroupEvents>,
) -> Result<HostGroup, RunError> {
    let Some(fleet) = &plan.fleet else {
        let executor = LocalExecutor::of_run(run, Arc::clone(secrets), options.directory.clone());
        return Ok(HostGroup::here(Arc::new(executor)));
    };
    let host_group_events = Arc::clone(host_group_events);
    let warn = Arc::clone(events);
    let tell = move |event: FleetEvent| {
        if let FleetEvent::Lost { name, .. } = &event {
            warn.event(RunEvent::HostLost { host: name });
        }
        let told = told(&event);
        warn.warn(&told.text);
        host_group_events.add(told);
    };
    start_fleet(fleet, &options.login, events, stop, Arc::new(tell))
}

/// Checks that every connected host has its variables: some launchers report names only at this point.
///
/// # Errors
/// The first host without a value: one line.
pub fn fits(plan: &Plan, host_group: &HostGroup) -> Result<(), HostValueError> {
    let Some(fleet) = &plan.fleet else { return Ok(()) };
    // The names of what is provisioned differ from run to run, and mean nothing to a host.
    let named = |cell: &Cell| plan.with_provisioned(cell, RUN);
    let targets: Vec<Cell> = preflight::targets(plan).into_iter().map(named).collect();
    let names = host_group.names();
    let hosts = names.iter().zip(0..);
    hosts
        .flat_map(|host| targets.iter().map(move |cell| (host, cell)))
        .try_for_each(|((name, index), cell)| fleet.cell_for(targets::kinds(), cell, name, index).map(drop))
}

fn told(event: &FleetEvent) -> Told {
    match event {
        FleetEvent::Lost { name, why, .. } => {
            Told { kind: "host-lost", text: format!("{name}: lost: {why}") }
        }
        FleetEvent::Said { name, text, .. } => Told { kind: "host", text: format!("{name}: {text}") },
    }
}
