//! `manometer forget`: removes a run or a baseline from a results file.

use anyhow::Result;
use clap::Args;
use store::StoreError;
use units::Size;

use super::{ResultsFile, WrongInput, ended};
use crate::messages::Messages;

/// Removes a run, or a baseline, from the results file and frees its space.
///
/// It does not ask for confirmation, but takes only a full id, so that no other run is removed by mistake.
///
/// Exit code: 0 removed, 1 it is still running or the file cannot be written, 2 wrong usage or no such run.
#[derive(Args, Debug)]
pub struct ForgetArguments {
    /// The run: its full id, as shown by `manometer list`
    #[arg(value_name = "RUN", required_unless_present = "baseline")]
    run: Option<String>,
    /// Remove this named baseline instead of a run
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    baseline: Option<String>,
    #[command(flatten)]
    file: ResultsFile,
}

/// Removes the run; returns the process's exit code.
pub fn run(arguments: &ForgetArguments, messages: &Messages) -> u8 {
    ended(forget(arguments, messages), messages)
}

fn forget(arguments: &ForgetArguments, messages: &Messages) -> Result<()> {
    let store = arguments.file.open()?;
    if let Some(name) = &arguments.baseline {
        store.forget_baseline(name)?;
        messages.note(&format!("baseline {name} was removed"));
        return Ok(());
    }
    let Some(run) = &arguments.run else { return Ok(()) };
    let before = store.bytes();
    if let Err(error) = store.forget(run) {
        // Names that other commands accept for a run, such as `last`, are not enough here.
        return Err(match (&error, store.run(run)) {
            (StoreError::Unknown { .. }, Ok(meant)) => WrongInput(format!(
                "no run {run:?}: forget wants the whole id, and {run} stands for run {} ({}); next: manometer forget {}",
                meant.id, meant.plan.name, meant.id
            ))
            .into(),
            _ => error.into(),
        });
    }
    let after = store.bytes();
    messages.note(&format!(
        "run {run} was removed: {} has {} now, {} before",
        store.path().display(),
        Size(after).rounded(),
        Size(before).rounded(),
    ));
    Ok(())
}
