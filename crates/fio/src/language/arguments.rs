//! fio's command line: program options, job options, job files.

use super::faults::{ScriptFault, ScriptFaults, Warning};
use super::lines::{COMMAND_LINE, RawOption};
use super::options::{FioOption, OptionSupport, ValueKind, every_option, find_argument, find_option};
use super::section::Origin;
use experiment::nearest;

/// The parsed command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    /// Program options, in order.
    pub program: Vec<ProgramArgument>,
    /// Job options, in order, for [`Input::Arguments`](super::Input).
    pub jobs: Vec<JobArgument>,
    /// Job files, in order; `-` is standard input.
    pub files: Vec<String>,
}

/// A program option.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramArgument {
    /// The option.
    pub option: &'static FioOption,
    /// Its value.
    pub value: Option<String>,
    /// Its position.
    pub origin: Origin,
}

/// A job option as written on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct JobArgument(pub(super) RawOption);

impl Arguments {
    /// Whether a program option is present.
    pub fn has(&self, name: &str) -> bool {
        self.program.iter().any(|argument| argument.option.name == name)
    }

    /// The value of a program option; the last one if it is repeated.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.program.iter().rev().find(|argument| argument.option.name == name)?.value.as_deref()
    }

    /// All values of a program option, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.program
            .iter()
            .filter(move |argument| argument.option.name == name)
            .filter_map(|a| a.value.as_deref())
    }
}

/// Parses the command line: `--bs=4k`, `--bs 4k` and `-bs=4k` are equivalent, as in fio; every non-option argument is a
/// job file, wherever it occurs, and so is everything after `--`.
///
/// # Errors
/// Options that are unknown, unsupported (without `--ignore-unsupported`), or lack their value.
pub fn split_arguments(arguments: &[String]) -> Result<(Arguments, Vec<Warning>), ScriptFaults> {
    let ignore = arguments.iter().take_while(|text| *text != "--").any(|text| text == "--ignore-unsupported");
    let (mut split, mut faults, mut warnings) = (Arguments::default(), Vec::new(), Vec::new());
    let mut rest = arguments.iter().zip(1..);
    while let Some((text, number)) = rest.next() {
        if text == "--" {
            split.files.extend(rest.map(|(file, _)| file.clone()));
            break;
        }
        let Some(option) =
            text.strip_prefix("--").or_else(|| text.strip_prefix('-')).filter(|o| !o.is_empty())
        else {
            split.files.push(text.clone());
            continue;
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let mut shown = text.clone();
        let known = find_option(name).or_else(|| find_argument(name));
        if value.is_none() && known.is_some_and(|known| !known.may_be_alone()) {
            let following = rest.clone().next().map(|(next, _)| next).filter(|next| is_value(next));
            if let Some(next) = following {
                value = Some(next.clone());
                shown = format!("{text} {next}");
                rest.next();
            }
        }
        let raw = RawOption::of_command_line(name, value.as_deref(), &shown, number);
        match take(&mut split, known, raw) {
            Ok(()) => {}
            Err(Refused::Wrong(fault)) => faults.push(fault),
            Err(Refused::Unsupported(fault)) if ignore => warnings.push(Warning(fault)),
            Err(Refused::Unsupported(fault)) => faults.push(fault),
        }
    }
    match ScriptFaults::of(faults) {
        Some(faults) => Err(faults),
        None => Ok((split, warnings)),
    }
}

/// Whether an argument may be the value of the option before it: `-5` may.
fn is_value(next: &str) -> bool {
    match next.strip_prefix('-') {
        Some(rest) => rest.starts_with(|c: char| c.is_ascii_digit()),
        None => true,
    }
}

enum Refused {
    Wrong(ScriptFault),
    Unsupported(ScriptFault),
}

fn take(split: &mut Arguments, known: Option<&'static FioOption>, raw: RawOption) -> Result<(), Refused> {
    let Some(option) = known else { return Err(Refused::Unsupported(unknown(&raw))) };
    if option.is_of_jobs() && option.name != "name" {
        split.jobs.push(JobArgument(raw));
        return Ok(());
    }
    if let OptionSupport::Absent { why, instead } = option.support {
        let text = format!("--{} is not supported: {why}", raw.name);
        return Err(Refused::Unsupported(ScriptFault::new(&raw.name_origin, text, instead)));
    }
    if !option.may_be_alone() && raw.value.as_deref().is_none_or(str::is_empty) {
        let text = format!("--{} has no value", raw.name);
        return Err(Refused::Wrong(ScriptFault::new(
            &raw.name_origin,
            text,
            format!("write --{}=…", raw.name),
        )));
    }
    if option.kind == ValueKind::Flag && raw.value.is_some() && !option.is_of_jobs() {
        let text = format!("--{} takes no value", raw.name);
        return Err(Refused::Wrong(ScriptFault::new(
            &raw.name_origin,
            text,
            format!("write --{}", raw.name),
        )));
    }
    if option.is_of_jobs() {
        split.jobs.push(JobArgument(raw));
    } else {
        let origin = raw.value_origin.clone();
        split.program.push(ProgramArgument { option, value: raw.value, origin });
    }
    Ok(())
}

fn unknown(raw: &RawOption) -> ScriptFault {
    let known =
        every_option().flat_map(|option| std::iter::once(&option.name).chain(option.aliases).copied());
    let hint = match nearest(&raw.name, known) {
        Some(near) => format!("did you mean --{near}?"),
        None => format!("{COMMAND_LINE} options are listed in docs/fio-options.md"),
    };
    ScriptFault::new(&raw.name_origin, format!("there is no option {:?}", raw.name), hint)
}
