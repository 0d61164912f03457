//! Who carries a run out: this process alone, or agents on the hosts of a fleet.

use std::sync::{Arc, Mutex, PoisonError};

use experiment::{Fleet, Plan};
use fleet::{Crew, Event};
use provision::Run;
use targets::{ClearedFiles, Secrets};

use super::approach::Approach;
use super::arguments::RunArguments;
use super::begin::Refusal;
use super::trial;
use crate::agent::OwnHand;
use crate::interrupt::Interrupt;
use crate::messages::Messages;

/// Events that are kept until they are told, at most.
const MOST_EVENTS: usize = 10_000;

/// What happened to the crew and was not told yet.
#[derive(Default)]
pub struct Happened {
    events: Mutex<Vec<Told>>,
}

/// Something that happened, as it is kept in the results.
pub struct Told {
    /// The kind of event.
    pub kind: &'static str,
    /// A line.
    pub text: String,
}

impl Happened {
    fn add(&self, told: Told) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MOST_EVENTS {
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
    arguments: &RunArguments,
    messages: &Messages,
    interrupt: &Interrupt,
    happened: &Arc<Happened>,
    secrets: &Arc<dyn Secrets>,
) -> Result<Crew, Refusal> {
    match &plan.fleet {
        None => {
            let cleared = ClearedFiles::default();
            trial::here(plan, run, arguments, secrets, &cleared)?;
            Ok(Crew::here(Arc::new(OwnHand::of_run(run, Arc::clone(secrets), cleared))))
        }
        Some(fleet) => {
            let happened = Arc::clone(happened);
            let warn = messages.clone();
            let tell = move |event: Event| {
                let told = told(&event);
                warn.warn(&told.text);
                happened.add(told);
            };
            let crew = crate::fleet::start(fleet, &arguments.fleet, messages, interrupt, Arc::new(tell))?;
            let destroy = arguments.destroy.as_deref();
            let reactor = arguments.reactor;
            let approach = Approach { plan, crew: &crew, run, reactor, destroy, secrets: &**secrets };
            if let Err(line) = fits(plan, fleet, &crew).and_then(|()| trial::on_hosts(&approach)) {
                crew.end();
                return Err(Refusal::Usage(line));
            }
            Ok(crew)
        }
    }
}

/// Whether every host that came has its variables: some launchers tell names only now.
fn fits(plan: &Plan, fleet: &Fleet, crew: &Crew) -> Result<(), String> {
    let targets = trial::targets(plan);
    let names = crew.names();
    let hosts = names.iter().zip(0..);
    hosts
        .flat_map(|host| targets.iter().map(move |cell| (host, cell)))
        .try_for_each(|((name, index), cell)| fleet.cell_for(cell, name, index).map(drop))
}

fn told(event: &Event) -> Told {
    match event {
        Event::Lost { name, why, .. } => Told { kind: "host-lost", text: format!("{name}: lost: {why}") },
        Event::Said { name, text, .. } => Told { kind: "host", text: format!("{name}: {text}") },
    }
}
