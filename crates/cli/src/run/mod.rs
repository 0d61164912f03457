//! `manometer run`: carries out an experiment.
//!
//! The stages, one way: arguments, plan, journal and results file, cells, removal, output. A cell goes: target, place,
//! data set, caches, warm-up, measurement until it is steady, verification, judgement.

mod allocated;
pub mod arguments;
mod begin;
mod cell;
mod context;
mod dry_run;
mod environment;
mod facts;
pub mod figures;
mod fill;
mod gates;
mod ground;
mod job;
mod limits;
mod load;
mod matrix;
mod measure;
mod outcome;
mod output;
#[cfg(test)]
mod output_tests;
mod recall;
mod recorder;
mod samples;
mod study;
mod together;
mod verdict;
#[cfg(test)]
mod verdict_tests;
mod verify;

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use reactor::{Backend, Reactor, clock};
use store::{CellRecord, RunRecord, State};

use self::arguments::{Format, RunArguments};
use self::begin::{Begun, Refusal};
use self::context::Context;
use self::matrix::Outcome;
use self::recorder::Recorder;
use crate::exit;
use crate::interrupt::{Interrupt, Manner};
use crate::live::{Model, Screen, screen};
use crate::messages::{self, Messages};

/// Name of the stage in which every byte is written.
pub const PREPARE: &str = "prepare";
/// Name of the stage that is reported.
pub const MEASURE: &str = "measure";
/// Name of the stage in which everything is read and compared.
pub const VERIFY: &str = "verify";

/// Carries an experiment out from beginning to end; the process's exit code.
pub fn run(arguments: RunArguments, messages: &Messages) -> u8 {
    match attempt(arguments, messages) {
        Ok(code) => code,
        Err(Refusal::Usage(line)) => exit::input(messages, &line),
        Err(Refusal::Faults(text)) => {
            messages.paragraph(&text);
            2
        }
        Err(Refusal::Failure(line)) => exit::failure(messages, &line),
    }
}

fn attempt(arguments: RunArguments, messages: &Messages) -> Result<u8, Refusal> {
    let begun = match (&arguments.resume, &arguments.file) {
        (Some(wanted), _) => begin::resume(wanted, &arguments, messages)?,
        (None, Some(file)) => {
            let plan = begin::plan(file, &arguments)?;
            if arguments.dry_run {
                return Ok(show_plan(&plan, &arguments));
            }
            begin::new(plan, &arguments)?
        }
        (None, None) => return Err(Refusal::Usage("name an experiment file, or --resume RUN".to_owned())),
    };
    let destination = arguments.output_file.as_deref().map(File::create).transpose().map_err(|error| {
        Refusal::Usage(format!("--output-file: {error}: name a file that can be written"))
    })?;
    let (id, flags) = (begun.record.id.clone(), flags(&arguments, &begun));
    let (outcome, store, left, interrupt) = carry_out(begun, &arguments, messages)?;
    let failure = |error: store::StoreError| Refusal::Failure(error.to_string());
    let record = store.run(&id).map_err(failure)?;
    let cells = store.cells(&id).map_err(failure)?;
    let mut json = Vec::new();
    crate::results::export::json::write(&store, &record, None, false, &mut json)
        .map_err(|error| Refusal::Failure(format!("{error:#}")))?;
    let shown = Shown {
        json: String::from_utf8_lossy(&json).into_owned(),
        record: &record,
        cells: &cells,
        flags: &flags,
    };
    shown.write(&arguments, destination, messages);
    if let Some(line) = &outcome.failure {
        messages.error(line);
    }
    if !left.is_empty() {
        messages.error(&format!("left behind: {}; next: run `manometer cleanup`", left.join(", ")));
    }
    Ok(match interrupt.ended_by() {
        Some((_, code)) => code,
        None if outcome.state == State::Finished && left.is_empty() && output::success(&cells) => 0,
        None => 1,
    })
}

fn show_plan(plan: &experiment::Plan, arguments: &RunArguments) -> u8 {
    print(&match arguments.output {
        Format::Json => dry_run::json(plan),
        Format::Text => dry_run::text(plan),
    });
    0
}

/// Writes to standard output. A reader that closed the pipe early is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Runs the cells; what came of it, the results file, and what is left behind against our will.
fn carry_out(
    mut begun: Begun,
    arguments: &RunArguments,
    messages: &Messages,
) -> Result<(Outcome, store::Store, Vec<String>, Interrupt), Refusal> {
    let failure = |text: String| Refusal::Failure(text);
    let reactor = arguments.reactor;
    begun.record.environment = environment::capture(&reactor_facts(reactor, messages)?);
    let interrupt = Interrupt::listen(messages.clone(), Manner::Run)
        .map_err(|error| failure(format!("signals cannot be caught: {error}")))?;
    interrupt.leftovers(Some(leftovers(arguments, &begun.run)));
    interrupt.before_leaving(Some(Arc::new(screen::restore)));
    let plan = begun.record.plan.clone();
    let model = Model {
        run: begun.record.id.clone(),
        experiment: begun.record.name.clone(),
        began_ns: clock::now_ns(),
        cells: matrix::lines(&plan, &begun.cells),
        ..Model::default()
    };
    let screen = Screen::begin(model, messages, arguments.live)
        .map_err(|error| Refusal::Usage(format!("--live: {error}; next: run without --live")))?;
    begin::try_targets(&plan, &begun.run, arguments)?;
    if !begun.resumed {
        begun.store.begin_run(&begun.record).map_err(|error| failure(error.to_string()))?;
    }
    let recorder =
        Recorder::new(begun.store, &begun.record.id).map_err(|error| failure(error.to_string()))?;
    let context = Context {
        run: begun.run,
        recorder: Mutex::new(recorder),
        screen,
        messages: messages.clone(),
        interrupt: interrupt.clone(),
        reactor,
        destroy: arguments.destroy.clone(),
        seed: plan.seed,
        cache_bytes: environment::cache_bytes(),
        outcomes: None,
        traces: Box::new(|_| None),
    };
    if begun.resumed {
        context.recorder().event(None, "resume", "the run goes on at its first unfinished cell");
    } else {
        messages.note(&format!(
            "run {} of {}: {} cells",
            begun.record.id,
            begun.record.name,
            plan.cells.len()
        ));
    }
    let done: Vec<u32> =
        begun.cells.iter().filter(|cell| cell.state == State::Finished).map(|cell| cell.index).collect();
    let outcome = matrix::carry_out(&context, &plan, &done);
    let Context { screen, recorder, run, .. } = context;
    screen.end();
    interrupt.leftovers(None);
    let remaining = run.remaining();
    let kept = plan.cells.iter().any(|cell| !cell.stages.clean_up);
    let left = if kept { Vec::new() } else { remaining.clone() };
    if kept && !remaining.is_empty() {
        messages.note(&format!("kept: {}; `manometer cleanup` removes it", remaining.join(", ")));
    }
    Ok((outcome, recorder.into_inner().unwrap_or_else(PoisonError::into_inner).into_store(), left, interrupt))
}

/// Tries the reactor before anything is made, and says so when io_uring is refused.
fn reactor_facts(
    choice: reactor::Choice,
    messages: &Messages,
) -> Result<Vec<(&'static str, String)>, Refusal> {
    let reactor =
        Reactor::open(choice).map_err(|error| Refusal::Failure(format!("--reactor {choice}: {error}")))?;
    let backend = match reactor.backend() {
        Backend::Epoll => "epoll",
        Backend::Uring | Backend::Simulated => "io_uring",
    };
    let mut facts = vec![("reactor", backend.to_owned())];
    if let Some(reason) = reactor.refusal() {
        messages.note(&format!("io_uring is refused, epoll and threads are used: {reason}"));
        facts.push(("reactor.refusal", reason));
    }
    Ok(facts)
}

fn leftovers(arguments: &RunArguments, run: &provision::Run) -> String {
    let flag = match &arguments.journal_dir {
        Some(directory) => format!(" --journal-dir {}", directory.display()),
        None => String::new(),
    };
    format!(
        "whatever is named {} may still exist; next: `manometer cleanup{flag}` removes what the journal {} lists",
        run.id().object_name(),
        run.path().display()
    )
}

/// What has to be added to other commands so that they find what this run used.
fn flags(arguments: &RunArguments, begun: &Begun) -> output::Flags {
    let named = arguments.results.is_some() || begun.record.plan.results.is_some();
    let results = named.then(|| format!(" --results {}", begun.store.path().display()));
    let journal = arguments.journal_dir.as_ref();
    output::Flags {
        results: results.unwrap_or_default(),
        journal: journal.map_or_else(String::new, |path| format!(" --journal-dir {}", path.display())),
    }
}

/// What is shown when a run is over.
struct Shown<'a> {
    json: String,
    record: &'a RunRecord,
    cells: &'a [CellRecord],
    flags: &'a output::Flags,
}

impl Shown<'_> {
    fn write(self, arguments: &RunArguments, destination: Option<File>, messages: &Messages) {
        let text = |width| output::text(self.record, self.cells, width, self.flags);
        let mut shown = arguments.output;
        if let Some(mut file) = destination {
            let content = match arguments.output {
                Format::Json => self.json.clone(),
                Format::Text => text(None),
            };
            if let Err(error) = file.write_all(content.as_bytes()).and_then(|()| file.sync_all()) {
                messages.error(&format!("--output-file: {error}; the results file has everything"));
            }
            shown = Format::Text;
        }
        match shown {
            Format::Json => print(&self.json),
            Format::Text => print(&text(messages::terminal_width())),
        }
    }
}
