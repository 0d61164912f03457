//! From a fleet as it is written to agents that listen.

use std::sync::Arc;
use std::time::Duration;

use experiment::Fleet;
use fleet::launch::{LaunchError, LaunchSettings, launch};
use fleet::{Crew, CrewSettings, Ends, Event, Member, greet};

use super::FleetArguments;
use crate::interrupt::Interrupt;
use crate::messages::Messages;
use crate::run::Refusal;

/// Starts the agents of a fleet and greets them.
///
/// # Errors
/// A line for each host on which no agent could be started.
pub fn start(
    fleet: &Fleet,
    arguments: &FleetArguments,
    messages: &Messages,
    interrupt: &Interrupt,
    events: Arc<dyn Fn(Event) + Send + Sync>,
) -> Result<Crew, Refusal> {
    let stop = || interrupt.arrived_already();
    let patience = Duration::from_millis(fleet.start_timeout_ms);
    let mut settings = LaunchSettings::new(env!("CARGO_PKG_VERSION"), patience, &stop);
    settings.password = arguments.password().map_err(Refusal::Usage)?;
    let say = {
        let messages = messages.clone();
        Arc::new(move |line: &str| messages.note(line))
    };
    let say: fleet::launch::Say = say;
    let launched = launch(&fleet.launcher, &settings, &say).map_err(|error| match error {
        LaunchError::Input(line) => Refusal::Usage(line),
        other => Refusal::Failure(other.lines().join("; ")),
    })?;
    let mut members = Vec::new();
    let mut failed = Vec::new();
    for greeted in greet(launched.into_iter().map(Ends::from).collect(), patience, &stop) {
        match greeted {
            Ok(link) => members.push(Member::Link(link)),
            Err((name, why)) => failed.push(format!("{name}: {why}")),
        }
    }
    if !failed.is_empty() {
        return Err(Refusal::Failure(failed.join("; ")));
    }
    messages.note(&format!("{} hosts are ready", members.len()));
    let silence = Duration::from_millis(fleet.silence_timeout_ms);
    Ok(Crew::new(members, CrewSettings::with_silence(silence), events))
}
