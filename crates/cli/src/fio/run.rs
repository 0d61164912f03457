//! `manometer fio` from its command line to its exit code.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clap::CommandFactory;
use experiment::Plan;
use fio::output::{self, FioReport, Formats};
use jiff::tz::TimeZone;
use runner::{Events, JobsOutcome, RunOptions, RunOutcome, timestamp};
use targets::{HeldSecrets, ProcessEnvironment};

use super::arguments::{FioArguments, FioInvocation};
use super::eta;
use super::hosts;
use super::input::{self, Jobs};
use super::status::StatusWriter;
use crate::exit::{self, CommandError};
use crate::interrupt::{self, Manner};
use crate::live::{RunView, Show, WithoutNotes, line};
use crate::messages::{Messages, terminal_width};
use crate::run::output as output_of_run;
use crate::stdout;

/// Runs job files from start to end; returns the process's exit code.
pub fn run(arguments: FioArguments, messages: &Messages) -> u8 {
    attempt(&arguments.arguments, messages).unwrap_or_else(|refusal| refusal.tell(messages))
}

fn attempt(arguments: &[String], messages: &Messages) -> Result<u8, CommandError> {
    let (line, warnings) =
        fio::split_arguments(arguments).map_err(|faults| CommandError::Faults(faults.to_string()))?;
    if line.has("help") {
        return Ok(print(&help()));
    }
    if line.has("version") {
        // Programs around fio look for `fio-3.` and a number; the name of this program follows.
        return Ok(print(&format!("{} (manometer {})\n", output::FIO_VERSION, env!("CARGO_PKG_VERSION"))));
    }
    let asked = FioInvocation::of(line)?;
    let mut jobs = input::read(&asked.line)?;
    jobs.plan = hosts::spread(jobs.plan, &asked.line)?;
    jobs.warnings.splice(0..0, warnings);
    for warning in &jobs.warnings {
        messages.paragraph(&format!("warning: {}", warning.0));
    }
    if asked.line.has("parse-only") {
        return Ok(0);
    }
    let mut destination = Destination::open(&asked)?;
    if asked.line.has("convert") {
        let text = fio::convert(&jobs.plan, &jobs.warnings).ok_or_else(|| {
            CommandError::Failure("the jobs cannot be written as an experiment file".to_owned())
        })?;
        return destination.write(text.as_bytes(), messages);
    }
    carry_out(&asked, jobs, destination, messages)
}

fn carry_out(
    asked: &FioInvocation,
    jobs: Jobs,
    destination: Destination,
    messages: &Messages,
) -> Result<u8, CommandError> {
    let secrets = Arc::new(jobs.keys.into_iter().collect::<HeldSecrets>().over(Arc::new(ProcessEnvironment)));
    let plan = jobs.plan;
    let options = run_options(asked)?;
    let destination = Arc::new(Mutex::new(destination));
    let view = observer(asked, &plan, &destination, messages)?;
    let stop = interrupt::listen(messages, Manner::Run)?;
    let started = timestamp::now();
    let carried = runner::run(plan.clone(), &options, view, &stop, secrets)?;
    let finished = timestamp::now();
    if !asked.progress.tells_notes(messages.bars().is_some()) {
        // The notes would have reported it.
        failed_jobs(&carried).for_each(|line| messages.error(&line));
    }
    let mut destination = destination.lock().unwrap_or_else(PoisonError::into_inner);
    let written = match asked.formats {
        None => {
            let width = terminal_width().filter(|_| destination.0.is_none());
            let (results, journal) = (asked.line.value("results"), options.journal.as_deref());
            let flags = output_of_run::Flags::of(&carried, results.map(Path::new), journal);
            destination.write(output_of_run::of_run(&carried, width, &flags).as_bytes(), messages)
        }
        Some(formats) => {
            let outcome = JobsOutcome::of(plan, &carried, started, finished);
            destination.write(&shaped(&outcome, &formats)?, messages)
        }
    };
    let code = exit::of_run(&carried, options.save_baseline.as_deref(), messages);
    let fine = written? == 0;
    Ok(if code == 0 && !fine { 1 } else { code })
}

/// A line for each job that failed.
fn failed_jobs(carried: &RunOutcome) -> impl Iterator<Item = String> {
    carried.cells.iter().filter_map(|cell| {
        let name = carried.record.planned(cell.index).map_or("", |planned| &planned.name);
        Some(format!("{name}: {}", cell.failure.as_ref()?))
    })
}

/// The observer of the run: as with fio, success is silent where nobody watches.
fn observer(
    asked: &FioInvocation,
    plan: &Plan,
    destination: &Arc<Mutex<Destination>>,
    messages: &Messages,
) -> Result<Arc<dyn Events>, CommandError> {
    let (progress, terminal) = (asked.progress, messages.bars().is_some());
    let line = if asked.formats.is_none() { line::line } else { eta::line };
    let show = match progress.is_shown(terminal) {
        _ if asked.line.has("live") => Show::Full,
        true => Show::Line { newline_ns: progress.newline_ns, line },
        false => Show::Nothing,
    };
    let view = RunView::new(messages, show).map_err(CommandError::Usage)?;
    let view: Arc<dyn Events> =
        if progress.tells_notes(terminal) { Arc::new(view) } else { Arc::new(WithoutNotes(view)) };
    let Some(every) = asked.status_every else { return Ok(view) };
    // Without a format these are figures for people.
    let formats = asked.formats.unwrap_or_default();
    let writer = StatusWriter::begin((plan, every, formats), destination, messages, view);
    Ok(Arc::new(writer.map_err(|error| CommandError::Failure(format!("--status-interval: {error}")))?))
}

fn shaped(outcome: &JobsOutcome, formats: &Formats) -> Result<Vec<u8>, CommandError> {
    let mut text = Vec::new();
    if formats.normal && !formats.json {
        text.extend_from_slice(output::prelude(&outcome.plan).as_bytes());
    }
    output::write(&FioReport::of(outcome, false, TimeZone::system()), formats, &mut text)
        .map_err(|error| CommandError::Failure(format!("the output cannot be made: {error}")))?;
    Ok(text)
}

/// Run options from the command line, apart from the jobs.
fn run_options(asked: &FioInvocation) -> Result<RunOptions, CommandError> {
    let line = &asked.line;
    let reactor = match line.value("reactor") {
        None => reactor::BackendChoice::Auto,
        Some(text) => {
            text.parse().map_err(|error| CommandError::Usage(format!("--reactor={text}: {error}")))?
        }
    };
    Ok(RunOptions {
        reactor,
        destroy: line.value("destroy").map(Into::into).into_iter().collect(),
        results: line.value("results").map(Into::into),
        save_baseline: line.value("save-baseline").map(Into::into),
        baseline: line.value("baseline").map(Into::into),
        journal: line.value("journal-dir").map(Into::into),
        // A problem with a job's files is the job's own result.
        preflight: false,
        keep_outcomes: asked.formats.is_some(),
        ..crate::run::of_this_process()?
    })
}

/// Where the output goes.
pub(super) struct Destination(Option<File>);

impl Destination {
    /// Opened before anything runs, so that an unwritable name is reported at once.
    fn open(asked: &FioInvocation) -> Result<Self, CommandError> {
        let file = asked.output.as_ref().map(File::create).transpose().map_err(|error| {
            let name = asked.output.as_deref().unwrap_or(std::path::Path::new("")).display();
            CommandError::Usage(format!("--output={name}: {error}; next: name a file that can be written"))
        })?;
        Ok(Self(file))
    }

    /// Writes everything; returns the exit code.
    pub(super) fn write(&mut self, bytes: &[u8], messages: &Messages) -> Result<u8, CommandError> {
        let Some(file) = &mut self.0 else {
            stdout::put(bytes);
            return Ok(0);
        };
        if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
            messages.error(&format!("--output: {error}; the results file has everything"));
            return Ok(1);
        }
        Ok(0)
    }
}

fn print(text: &str) -> u8 {
    stdout::put(text.as_bytes());
    0
}

/// The same page as `manometer help fio`.
fn help() -> String {
    let mut command = crate::Cli::command();
    let fio = command.find_subcommand_mut("fio").expect("it is one of the commands");
    fio.render_long_help().to_string()
}
