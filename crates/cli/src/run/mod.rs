//! `manometer run`: carries out an experiment.
//!
//! The stages, one way: arguments, plan, journal and results file, cells, removal, output. A cell goes: target, place,
//! data set, caches, warm-up, measurement until it is steady, verification, judgement.

pub mod allocated;
mod approach;
pub mod arguments;
mod baseline;
mod begin;
pub mod bottleneck;
mod cell;
mod context;
mod crew;
mod dry_run;
mod dumps;
pub mod environment;
mod execute;
mod facts;
pub mod figures;
mod fill;
mod gates;
pub mod ground;
mod hosts;
pub mod job;
mod limits;
pub mod load;
mod matrix;
mod measure;
mod outcome;
mod output;
#[cfg(test)]
mod output_tests;
mod recall;
mod recorder;
mod replay;
mod samples;
mod site;
mod study;
mod together;
mod trial;
mod verdict;
#[cfg(test)]
mod verdict_tests;
mod verify;

use std::fs::File;
use std::io::Write;

use self::arguments::{Format, RunArguments};
pub use self::begin::Refusal;
use self::execute::execute;
pub use self::execute::{Carried, Hooks, execute_plan};
pub use self::outcome::nothing;
pub use self::output::count;
pub use self::replay::look as look_at_replays;
use crate::exit;
use crate::live::line::line;
use crate::live::screen::Show;
use crate::messages::{self, Messages};
pub use facts::START_CORE_WAIT;

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
                return show_plan(&plan, &arguments).map(|()| 0);
            }
            begin::new(plan, &arguments)?
        }
        (None, None) => return Err(Refusal::Usage("name an experiment file, or --resume RUN".to_owned())),
    };
    let destination = arguments.output_file.as_deref().map(File::create).transpose().map_err(|error| {
        Refusal::Usage(format!("--output-file: {error}: name a file that can be written"))
    })?;
    let show = if arguments.live { Show::Full } else { Show::Line { newline_ns: None, line } };
    let carried = execute(begun, &arguments, messages, Hooks { show, ..Hooks::default() })?;
    let mut json = Vec::new();
    crate::results::export::json::write(&carried.store, &carried.record, None, None, &mut json)
        .map_err(|error| Refusal::Failure(format!("{error:#}")))?;
    let shown = Shown { json: String::from_utf8_lossy(&json).into_owned(), carried: &carried };
    let written = shown.write(&arguments, destination, messages);
    let code = carried.end(&arguments, messages);
    // Once the terminal is gone nobody is left to be shown anything; the results file has everything.
    if code != SIGHUP_CODE {
        written?;
    }
    Ok(code)
}

/// Exit code of a run that SIGHUP ended.
const SIGHUP_CODE: u8 = 129;

fn show_plan(plan: &experiment::Plan, arguments: &RunArguments) -> Result<(), Refusal> {
    print(&match arguments.output {
        Format::Json => dry_run::json(plan),
        Format::Text => dry_run::text(plan),
    })
}

/// Writes to standard output. A reader that closed the pipe early is no error.
fn print(text: &str) -> Result<(), Refusal> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Refusal::Failure(format!(
            "standard output: {error}; next: `manometer show` prints what the results file has"
        ))),
        _ => Ok(()),
    }
}

/// What is shown when a run is over.
struct Shown<'a> {
    json: String,
    carried: &'a Carried,
}

impl Shown<'_> {
    fn write(
        self,
        arguments: &RunArguments,
        destination: Option<File>,
        messages: &Messages,
    ) -> Result<(), Refusal> {
        let text = |width| self.carried.text(width);
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
