//! From a fleet's description to listening agents.

use std::sync::Arc;
use std::time::Duration;

use experiment::{Fleet, Launcher};
use fleet::launch::{LaunchError, LaunchSettings, SshLogin, launch};
use fleet::{Ends, FleetEvent, HostGroup, HostGroupSettings, Member, greet};

use crate::begin::RunError;
use crate::events::Events;
use crate::stop::StopToken;

/// Starts a fleet's agents and connects to them.
///
/// # Errors
/// A line for each host on which no agent could be started.
pub fn start_fleet(
    fleet: &Fleet,
    login: &SshLogin,
    told: &Arc<dyn Events>,
    stop: &StopToken,
    events: Arc<dyn Fn(FleetEvent) + Send + Sync>,
) -> Result<HostGroup, RunError> {
    let members = connect(&fleet.launcher, fleet.start_timeout_ms, login, told, stop)?;
    told.note(&format!("{} hosts are ready", members.len()));
    let silence = Duration::from_millis(fleet.silence_timeout_ms);
    Ok(HostGroup::new(members, HostGroupSettings::with_silence(silence), events))
}

/// Starts agents and waits until each has said hello, at most the given time in total.
///
/// # Errors
/// A line for each host on which no agent could be started.
pub(crate) fn connect(
    launcher: &Launcher,
    start_timeout_ms: u64,
    login: &SshLogin,
    told: &Arc<dyn Events>,
    stop: &StopToken,
) -> Result<Vec<Member>, RunError> {
    let stopped = || stop.is_requested();
    let patience = Duration::from_millis(start_timeout_ms);
    let mut settings = LaunchSettings::new(env!("CARGO_PKG_VERSION"), patience, &stopped);
    settings.login = login.clone();
    let say = {
        let told = Arc::clone(told);
        Arc::new(move |line: &str| told.note(line))
    };
    let say: fleet::launch::Say = say;
    let launched = launch(launcher, &settings, &say).map_err(|error| match error {
        LaunchError::Input(line) => RunError::Usage(line),
        other => RunError::Failure(other.lines().join("; ")),
    })?;
    let mut members = Vec::new();
    let mut failed = Vec::new();
    for greeted in greet(launched.into_iter().map(Ends::from).collect(), patience, &stopped) {
        match greeted {
            Ok(link) => members.push(Member::Link(link)),
            Err((name, why)) => failed.push(format!("{name}: {why}")),
        }
    }
    if !failed.is_empty() {
        return Err(RunError::Failure(failed.join("; ")));
    }
    Ok(members)
}
