//! An experiment file from its name to a plan, with what the command line says beside it.

use std::path::Path;

use experiment::{Plan, Settings, SourceText};

use super::RunArguments;
use crate::exit::CommandError;

/// Reads the experiment file.
///
/// # Errors
/// The file cannot be read, or has faults.
pub fn plan(file: &Path, arguments: &RunArguments) -> Result<Plan, CommandError> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| {
        CommandError::Usage(format!(
            "{name}: {error}; next: name an experiment file, such as those in examples/experiments"
        ))
    })?;
    let text =
        experiment::decode(&name, &bytes).map_err(|faults| CommandError::Faults(faults.to_string()))?;
    let environment = |name: &str| std::env::var(name).ok();
    let launcher = arguments.fleet.launcher().map_err(CommandError::Usage)?;
    let settings = Settings {
        kinds: targets::kinds(),
        set: &arguments.set,
        environment: &environment,
        launcher: launcher.as_ref(),
        sharing: arguments.fleet.sharing(),
        read_hosts: &crate::fleet::read_hosts,
    };
    let plan = experiment::parse(&SourceText { file: &name, text }, &settings)
        .map_err(|faults| CommandError::Faults(faults.to_string()))?;
    let fleet = arguments.fleet.fleet(plan.fleet).map_err(CommandError::Usage)?;
    let plan = Plan { fleet, ..plan };
    if plan.fleet.is_some() {
        runner::check_for_several(&plan).map_err(CommandError::Usage)?;
    }
    Ok(plan)
}
