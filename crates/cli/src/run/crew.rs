//! Who carries a run out: this process alone, or agents on the hosts of a fleet.

use std::sync::{Arc, Mutex, PoisonError};

use experiment::{Cell, Fleet, Plan};
use fleet::{Crew, Event};
use provision::Run;

use super::arguments::RunArguments;
use super::begin::Refusal;
use super::{ground, load};
use crate::agent::OwnHand;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::target::{self, OpenOptions, Opened, TargetError};

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
) -> Result<Crew, Refusal> {
    match &plan.fleet {
        None => {
            try_targets(plan, run, arguments)?;
            Ok(Crew::here(Arc::new(OwnHand::of_run(run))))
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
            if let Err(line) = fits(plan, fleet, &crew) {
                crew.end();
                return Err(Refusal::Usage(line));
            }
            Ok(crew)
        }
    }
}

/// Whether every host that came has its variables: some launchers tell names only now.
fn fits(plan: &Plan, fleet: &Fleet, crew: &Crew) -> Result<(), String> {
    let mut targets: Vec<&Cell> = Vec::new();
    for cell in &plan.cells {
        if !targets.iter().any(|known| known.target == cell.target) {
            targets.push(cell);
        }
    }
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

/// Opens every target once, before anything is made: what is written wrongly is said now, not hours later.
///
/// # Errors
/// A URL or an option that cannot be used, or a device that may not be overwritten. What cannot be reached now is no
/// error: its cells will say so.
fn try_targets(plan: &Plan, run: &Run, arguments: &RunArguments) -> Result<(), Refusal> {
    let mut tried: Vec<&experiment::Target> = Vec::new();
    for cell in &plan.cells {
        if tried.contains(&&cell.target) {
            continue;
        }
        tried.push(&cell.target);
        let options = OpenOptions {
            run: run.clone(),
            place: run.id().clone(),
            destroy: arguments.destroy.clone(),
            seed: plan.seed,
            connect_timeout: ground::CONTACT,
        };
        let opened = target::open(&cell.target, &cell.workload, &options);
        if let Err(TargetError::Input(line)) = opened {
            return Err(Refusal::Usage(line));
        }
        if let Ok(Opened::File(_)) = &opened
            && cell.target.url.starts_with("block:")
            && load::changes_device(cell)
        {
            let opened = opened.map_err(|error| Refusal::Usage(error.to_string()))?;
            opened.prepare().map_err(|error| Refusal::Usage(error.to_string()))?;
        }
    }
    Ok(())
}
