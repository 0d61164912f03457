//! Agents as processes of this host.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::deadline::Deadline;
use super::process::Launched;
use super::start::start_all;
use super::{LaunchError, LaunchSettings};

/// Agents started concurrently: starting is limited by the CPU.
const AT_ONCE: usize = 16;

pub(super) fn launch(count: u32, settings: &LaunchSettings<'_>) -> Result<Vec<Launched>, LaunchError> {
    if count == 0 {
        return Err(LaunchError::Input(
            "a fleet of 0 agents cannot do anything; ask for 1 or more".to_owned(),
        ));
    }
    let names: Vec<String> = (0..count).map(|index| format!("local-{index}")).collect();
    let deadline = Deadline::after(settings.start_timeout, settings.stop);
    start_all(&names, AT_ONCE, |_, name| {
        let mut command = Command::new(&settings.program);
        command.arg0("manometer").args(&settings.agent);
        let mut launched = Launched::spawn(name, &mut command)?;
        launched.wait_for_output(&deadline)?;
        Ok(launched)
    })
}
