//! `manometer run`: from its arguments to its output.

pub mod arguments;
pub mod brief;
mod cells;
mod dry_run;
pub mod output;
#[cfg(test)]
mod output_tests;
mod read;

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use runner::{Events, RunOptions, RunOutcome, StopReason, StopToken};
use targets::{ProcessEnvironment, Secrets};

use self::arguments::{RunArguments, SummaryFormat};
use crate::exit::{self, CommandError};
use crate::exports::LiveExports;
use crate::interrupt::{self, Manner};
use crate::live::line::line;
use crate::live::{RunView, Show};
use crate::messages::{self, Messages};
use crate::stdout;

/// Runs an experiment from start to end; returns the process's exit code.
pub fn run(arguments: RunArguments, messages: &Messages) -> u8 {
    attempt(arguments, messages).unwrap_or_else(|refusal| refusal.tell(messages))
}

fn attempt(mut arguments: RunArguments, messages: &Messages) -> Result<u8, CommandError> {
    let given = read::given(&mut arguments)?;
    if let Some(written) = given.as_ref().and_then(|given| given.written.as_ref()) {
        if arguments.print_experiment {
            return stdout::print(written.as_str(), "write it to a file with room").map(|()| 0);
        }
        messages.note("This command stands for the following experiment; --print-experiment prints only that, to save it to a file.");
        written.as_str().lines().for_each(|line| messages.note(&format!("  {line}")));
    }
    if let Some(given) = &given {
        remarks(given, arguments.dry_run, messages);
    }
    let given = given.map(|given| given.plan);
    if let Some(plan) = given.as_ref().filter(|_| arguments.dry_run) {
        return dry_run(plan, &arguments, messages).map(|()| 0);
    }
    if arguments.resume.is_some() && given.is_none() && !arguments.set.is_empty() {
        let text = "--set: a resumed run keeps its stored plan; take --set away";
        return Err(CommandError::Usage(text.to_owned()));
    }
    let options = options(&arguments)?;
    let exports = LiveExports::start(&arguments.exports, messages)?;
    let begun = match (&arguments.resume, given) {
        (Some(wanted), given) => runner::resume(wanted, given, &options, messages)?,
        (None, Some(plan)) => runner::new_run(plan, &options)?,
        (None, None) => {
            let text = "name an experiment FILE or the URL of a target, such as file:///mnt/data, or --resume RUN; next: \
                        `manometer run --help` has examples";
            return Err(CommandError::Usage(text.to_owned()));
        }
    };
    let destination = arguments.output_file.as_deref().map(File::create).transpose().map_err(|error| {
        CommandError::Usage(format!("--output-file: {error}: name a file that can be written"))
    })?;
    let show = if arguments.live { Show::Full } else { Show::Line { newline_ns: None, line } };
    let view = RunView::new(messages, show).map_err(CommandError::Usage)?;
    let stop = interrupt::listen(messages, Manner::Run)?;
    let secrets = Arc::new(ProcessEnvironment);
    let mut observers = exports.observers(&begun.record);
    observers.push(Arc::new(view));
    let outcome = runner::execute(begun, &options, Arc::new(observers), &stop, secrets);
    exports.finish(messages);
    let outcome = outcome?;
    let mut json = Vec::new();
    crate::results::export::json::write(&outcome.store, &outcome.record, None, None, &mut json)
        .map_err(|error| CommandError::Failure(format!("{error:#}")))?;
    let flags = output::Flags::of(&outcome, arguments.results.as_deref(), arguments.journal_dir.as_deref());
    let shown = Shown { json: String::from_utf8_lossy(&json).into_owned(), outcome: &outcome, flags };
    let written = shown.write(&arguments, destination, messages);
    let code = exit::of_run(&outcome, arguments.save_baseline.as_deref(), messages);
    // Once the terminal is gone, nobody can see output; the results file has everything.
    if outcome.stopped != Some(StopReason::HangUp) {
        written?;
    }
    Ok(code)
}

/// Points out what is allowed but seldom intended.
fn remarks(given: &read::Given, looks: bool, messages: &Messages) {
    given.plan.remarks().iter().for_each(|line| messages.note(&format!("note: {line}")));
    if looks || given.written.is_some() {
        for target in given.plan.through_page_cache(targets::kinds()) {
            messages.note(&format!(
                "note: target {target} is read through this client's page cache: what fits into memory is read from there; \
                 direct: true goes past it"
            ));
        }
    }
}

/// The run options of the command line; asks for the password if necessary.
fn options(arguments: &RunArguments) -> Result<RunOptions, CommandError> {
    Ok(RunOptions {
        reactor: arguments.reactor,
        destroy: arguments.destroy.clone(),
        preflight: !arguments.no_preflight,
        results: arguments.results.clone(),
        journal: arguments.journal_dir.clone(),
        baseline: arguments.baseline.clone(),
        save_baseline: arguments.save_baseline.clone(),
        login: arguments.fleet.login().map_err(CommandError::Usage)?,
        ..of_this_process()?
    })
}

/// Run options with this process's directory and command line, and otherwise the defaults.
pub fn of_this_process() -> Result<RunOptions, CommandError> {
    let directory = std::env::current_dir()
        .map_err(|error| CommandError::Failure(format!("the current directory cannot be found: {error}")))?;
    Ok(RunOptions {
        command: host::environment::command_line(std::env::args()),
        ..RunOptions::new(directory)
    })
}

/// Shows the plan and the state of its targets.
///
/// # Errors
/// A target cannot be used; an agent cannot be started; standard output cannot be written.
fn dry_run(
    plan: &experiment::Plan,
    arguments: &RunArguments,
    messages: &Messages,
) -> Result<(), CommandError> {
    let seen = match arguments.no_preflight {
        true => None,
        false => {
            let events: Arc<dyn Events> = Arc::new(messages.clone());
            let secrets: Arc<dyn Secrets> = Arc::new(ProcessEnvironment);
            Some(runner::preflight(plan, &options(arguments)?, &events, &StopToken::new(), &secrets))
        }
    };
    let shown = seen.as_ref().and_then(|seen| seen.as_ref().ok());
    print(&match arguments.output {
        SummaryFormat::Json => dry_run::json(plan, shown),
        SummaryFormat::Text => dry_run::text(plan, shown, messages::width()),
    })?;
    let Some(seen) = seen.transpose()? else { return Ok(()) };
    seen.warnings().for_each(|text| messages.warn(text));
    Ok(seen.verdict()?)
}

fn print(text: &str) -> Result<(), CommandError> {
    stdout::print(text, "`manometer show` prints what the results file has")
}

/// What is shown at the end of a run.
struct Shown<'a> {
    json: String,
    outcome: &'a RunOutcome,
    flags: output::Flags,
}

impl Shown<'_> {
    fn write(
        self,
        arguments: &RunArguments,
        destination: Option<File>,
        messages: &Messages,
    ) -> Result<(), CommandError> {
        let text = |width| output::of_run(self.outcome, width, &self.flags);
        let mut shown = arguments.output;
        if let Some(mut file) = destination {
            let content = match arguments.output {
                SummaryFormat::Json => self.json.clone(),
                SummaryFormat::Text => text(None),
            };
            if let Err(error) = file.write_all(content.as_bytes()).and_then(|()| file.sync_all()) {
                messages.error(&format!("--output-file: {error}; the results file has everything"));
            }
            shown = SummaryFormat::Text;
        }
        match shown {
            SummaryFormat::Json => print(&self.json),
            SummaryFormat::Text => print(&text(messages::terminal_width())),
        }
    }
}
