//! Who carries a run out: this process alone, or agents on the hosts of a fleet.

use std::sync::{Arc, Mutex, PoisonError};

use experiment::{Fleet, Plan};
use fleet::{FleetEvent, HostGroup};
use host::LocalExecutor;
use provision::Run;
use targets::{ClearedFiles, Secrets};

use super::open_requests::OpenRequests;
use super::preflight;
use crate::begin::RunError;
use crate::events::Events;
use crate::fleet_start::start_fleet;
use crate::options::RunOptions;
use crate::stop::StopToken;

/// Events that are kept until they are told, at most.
const MAX_EVENTS: usize = 10_000;

/// What happened to the host group and was not told yet.
#[derive(Default)]
pub struct HostGroupEvents {
    events: Mutex<Vec<Told>>,
}

/// Something that host_group_events, as it is kept in the results.
pub struct Told {
    /// The kind of event.
    pub kind: &'static str,
    /// A line.
    pub text: String,
}

impl HostGroupEvents {
    fn add(&self, told: Told) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MAX_EVENTS {
            events.push(told);
        }
    }

    /// All of it; it is told now.
    pub fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Starts the agents of a plan's fleet, or takes this process alone, once every target is known to be written well.
///
/// # Errors
/// A target cannot be used as it is written; an agent could not be started.
pub fn assemble(
    plan: &Plan,
    run: &Run,
    options: &RunOptions,
    events: &Arc<dyn Events>,
    stop: &StopToken,
    secrets: &Arc<dyn Secrets>,
    host_group_events: &Arc<HostGroupEvents>,
) -> Result<HostGroup, RunError> {
    match &plan.fleet {
        None => {
            let cleared = ClearedFiles::default();
            preflight::here(plan, run, options, secrets, &cleared)?;
            Ok(HostGroup::here(Arc::new(LocalExecutor::of_run(
                run,
                Arc::clone(secrets),
                cleared,
                options.directory.clone(),
            ))))
        }
        Some(fleet) => {
            let host_group_events = Arc::clone(host_group_events);
            let warn = Arc::clone(events);
            let tell = move |event: FleetEvent| {
                let told = told(&event);
                warn.warn(&told.text);
                host_group_events.add(told);
            };
            let host_group = start_fleet(fleet, options.password.as_ref(), events, stop, Arc::new(tell))?;
            let approach = OpenRequests {
                plan,
                host_group: &host_group,
                run,
                reactor: options.reactor,
                destroy: options.destroy.as_deref(),
                secrets: &**secrets,
            };
            if let Err(line) = fits(plan, fleet, &host_group).and_then(|()| preflight::on_hosts(&approach)) {
                host_group.end();
                return Err(RunError::Usage(line));
            }
            Ok(host_group)
        }
    }
}

/// Whether every host that came has its variables: some launchers tell names only now.
fn fits(plan: &Plan, fleet: &Fleet, host_group: &HostGroup) -> Result<(), String> {
    let targets = preflight::targets(plan);
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
