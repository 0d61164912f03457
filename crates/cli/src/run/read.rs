//! Reads an experiment from its file, or from a URL and flags, into a plan, applying the command line's settings.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use experiment::{
    BriefExperiment, BriefText, Diagnostics, Plan, SHORTEST_PROBE_S, Settings, SourceText, is_url,
};
use units::Span;

use super::RunArguments;
use crate::exit::CommandError;

/// The experiment as read.
pub struct Given {
    pub plan: Plan,
    /// The experiment file that is equivalent to a URL and flags.
    pub written: Option<BriefText>,
}

/// Reads what the command line names; `None` if it names nothing.
///
/// # Errors
/// The file cannot be read; the file, the URL or a flag has faults; flags contradict each other.
pub fn given(arguments: &mut RunArguments) -> Result<Option<Given>, CommandError> {
    if arguments.source.is_none() {
        arguments.source = arguments.brief.misplaced_url().map(Into::into);
    }
    let url = |path: &Path| path.to_str().filter(|text| is_url(targets::kinds(), text)).map(str::to_owned);
    if let Some(url) = arguments.source.as_deref().and_then(url) {
        let probe = arguments.probe.map(|probe| probe.to_string());
        let brief = BriefExperiment { probe, ..arguments.brief.experiment(&url) };
        let written = brief.text(targets::kinds());
        let plan = plan(arguments, |settings| written.parse(settings))?;
        return Ok(Some(Given { plan, written: Some(written) }));
    }
    if let Some(flag) = arguments.brief.first_given() {
        let line = match (&arguments.source, &arguments.resume) {
            (Some(file), _) => format!(
                "{flag} goes with a target's URL, and {} is a file; write it there, or give --set",
                file.display()
            ),
            (None, Some(_)) => {
                format!("{flag}: a resumed run keeps its stored plan; take {flag} away")
            }
            (None, None) => {
                format!("{flag} needs a target: manometer run URL {flag} …, such as file:///mnt/data")
            }
        };
        return Err(CommandError::Usage(line));
    }
    let Some(file) = arguments.source.as_deref() else { return Ok(None) };
    if arguments.print_experiment {
        let line =
            format!("--print-experiment goes with a target's URL, and {} is a file already", file.display());
        return Err(CommandError::Usage(line));
    }
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
    let text = experiment::decode(&name, &bytes).map_err(faults)?;
    let mut plan =
        plan(arguments, |settings| experiment::parse(&SourceText { file: &name, text }, settings))?;
    if let Some(probe) = arguments.probe {
        ask_for_probes(&mut plan, probe)?;
    }
    Ok(Some(Given { plan, written: None }))
}

/// Enables the probe for every cell that supports it, regardless of the file.
fn ask_for_probes(plan: &mut Plan, probe: Span) -> Result<(), CommandError> {
    let probe_s = probe.0.as_secs_f64();
    if probe_s > 0.0 && probe_s < SHORTEST_PROBE_S {
        let line = format!("--probe={probe}: a trial takes at least one second; next: --probe=5s");
        return Err(CommandError::Usage(line));
    }
    for cell in &mut plan.cells {
        cell.stages.probe_s = probe_s;
    }
    Ok(())
}

fn faults(faults: Diagnostics) -> CommandError {
    CommandError::Faults(faults.to_string())
}

/// The plan from `read`, with the settings of the command line.
fn plan(
    arguments: &RunArguments,
    read: impl FnOnce(&Settings<'_>) -> Result<Plan, Diagnostics>,
) -> Result<Plan, CommandError> {
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
    let plan = read(&settings).map_err(faults)?;
    let fleet = arguments.fleet.fleet(plan.fleet).map_err(CommandError::Usage)?;
    let plan = Plan { fleet, ..plan };
    if plan.fleet.is_some() {
        runner::check_for_several(&plan).map_err(|error| CommandError::Usage(error.to_string()))?;
    }
    Ok(plan)
}

/// The error for an unreadable file, which says what it is if it is something else.
fn unreadable(file: &Path, error: &std::io::Error) -> CommandError {
    let name = file.display();
    let found = std::fs::metadata(file).map(|found| found.file_type()).ok();
    let as_url = || {
        let path = std::path::absolute(file).ok()?.to_str()?.to_owned();
        experiment::TargetUrl::parse(targets::kinds(), &path).err().map(|fault| fault.hint)
    };
    let line = match found {
        Some(found) if found.is_dir() => {
            let hint = as_url().unwrap_or_default();
            format!("{name} is a directory, not an experiment file; to measure files in it {hint}")
        }
        Some(found) if found.is_block_device() => {
            let hint = as_url().unwrap_or_default();
            format!("{name} is a block device, not an experiment file; to measure it {hint}")
        }
        _ => format!(
            "{name}: {error}; next: name an experiment file (`manometer init` writes one) or a target's URL, such as \
             file:///mnt/data"
        ),
    };
    CommandError::Usage(line)
}
