//! Every option in fio's HOWTO, and how it is supported here.

mod blocks;
mod engine_names;
mod engines;
mod files;
mod general;
mod pattern;
mod program;
mod queue;
mod replay;
mod reports;
mod table;
mod verify;

pub use engine_names::{FioEngine, every_engine, find_engine};
pub(crate) use engines::is_secret;
pub use table::document;
pub use targets::{OptionSupport, ValueKind};

/// An option of fio, or one that this program adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioOption {
    /// Its name in code and messages: the commonly used one, such as `rw` and `bs`.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// The kind of its value.
    pub kind: ValueKind,
    /// What it applies to.
    pub group: OptionGroup,
    /// How it compares with fio's option.
    pub support: OptionSupport,
    /// Values that make an unsupported option harmless, so that they are accepted.
    pub harmless: &'static [&'static str],
}

/// What an option applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    /// A job, with any engine.
    Job,
    /// A job, with these engines only.
    Engine(&'static [&'static str]),
    /// The command line; says whether a value follows.
    Program(Argument),
    /// A profile.
    Profile,
}

/// Whether a command-line option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// No value.
    None,
    /// A value, after `=` or as the next argument.
    Required,
    /// A value after `=`, or nothing.
    Optional,
}

/// The largest integer that fio stores in most options.
const MOST: i64 = u32::MAX as i64;

const fn same(name: &'static str, aliases: &'static [&'static str], kind: ValueKind) -> FioOption {
    FioOption { name, aliases, kind, group: OptionGroup::Job, support: OptionSupport::Same, harmless: &[] }
}

const fn differs(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: ValueKind,
    how: &'static str,
) -> FioOption {
    FioOption { support: OptionSupport::Differs(how), ..same(name, aliases, kind) }
}

const fn absent(name: &'static str, kind: ValueKind, why: &'static str, instead: &'static str) -> FioOption {
    FioOption { support: OptionSupport::Absent { why, instead }, ..same(name, &[], kind) }
}

const fn ours(name: &'static str, kind: ValueKind, what: &'static str) -> FioOption {
    FioOption { support: OptionSupport::Ours(what), ..same(name, &[], kind) }
}

impl FioOption {
    const fn of(self, engines: &'static [&'static str]) -> Self {
        Self { group: OptionGroup::Engine(engines), ..self }
    }

    const fn harmless(self, values: &'static [&'static str]) -> Self {
        Self { harmless: values, ..self }
    }

    /// Whether this is its name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Whether it applies to jobs, not to the command line.
    pub const fn is_of_jobs(&self) -> bool {
        matches!(self.group, OptionGroup::Job | OptionGroup::Engine(_))
    }

    /// Whether it may be given without a value.
    pub const fn may_be_alone(&self) -> bool {
        match self.group {
            OptionGroup::Program(argument) => !matches!(argument, Argument::Required),
            _ => matches!(self.kind, ValueKind::Flag | ValueKind::OptionalText),
        }
    }
}

/// All options, under their documentation headings.
pub fn chapters() -> impl Iterator<Item = (&'static str, &'static [FioOption])> {
    [
        ("Units, description, time", general::OPTIONS),
        ("Files and sizes", files::OPTIONS),
        ("Pattern of I/O", pattern::OPTIONS),
        ("Blocks and buffers", blocks::OPTIONS),
        ("Engines and their options", engines::options()),
        ("Queue, rate, latency", queue::OPTIONS),
        ("Replay, threads, synchronization", replay::OPTIONS),
        ("Verification", verify::OPTIONS),
        ("Steady state, logs, reports, errors", reports::OPTIONS),
        ("Profiles", program::PROFILES),
        ("Command line", program::OPTIONS),
    ]
    .into_iter()
}

/// All options of jobs, profiles and the command line.
pub fn every_option() -> impl Iterator<Item = &'static FioOption> {
    chapters().flat_map(|(_, options)| options)
}

/// The job option with this name. A name that means different things in several engines has one entry.
pub fn find_option(name: &str) -> Option<&'static FioOption> {
    every_option().find(|option| option.is_of_jobs() && option.is_called(name))
}

/// The command-line option with this name, without its dashes.
pub fn find_argument(name: &str) -> Option<&'static FioOption> {
    every_option().find(|option| matches!(option.group, OptionGroup::Program(_)) && option.is_called(name))
}
