//! Every option of fio's HOWTO, and what it is here.

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

/// An option of fio, or of ours beyond fio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioOption {
    /// The name by which code and messages call it: the one that everybody writes, such as `rw` and `bs`.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub kind: ValueKind,
    /// Where it belongs.
    pub group: OptionGroup,
    /// How it compares with fio's.
    pub support: OptionSupport,
    /// Values with which an absent option asks for nothing, so that they are accepted.
    pub harmless: &'static [&'static str],
}

/// Where an option belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    /// Of a job, with every engine.
    Job,
    /// Of a job, with these engines only.
    Engine(&'static [&'static str]),
    /// Of the command line, with or without a value behind it.
    Program(Argument),
    /// Of a profile.
    Profile,
}

/// What stands behind an option of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// A value, after `=` or as the next argument.
    Required,
    /// A value after `=`, or nothing.
    Optional,
}

/// The largest whole number that fio keeps in most options.
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

    /// It is called so: by its name or by another one.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// It belongs to jobs, not to the command line.
    pub const fn is_of_jobs(&self) -> bool {
        matches!(self.group, OptionGroup::Job | OptionGroup::Engine(_))
    }

    /// It may stand without a value.
    pub const fn may_be_alone(&self) -> bool {
        match self.group {
            OptionGroup::Program(argument) => !matches!(argument, Argument::Required),
            _ => matches!(self.kind, ValueKind::Flag | ValueKind::OptionalText),
        }
    }
}

/// All options, with the headings under which they are documented.
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

/// The option of jobs with this name. Names of several engines that mean different things have one entry.
pub fn find_option(name: &str) -> Option<&'static FioOption> {
    every_option().find(|option| option.is_of_jobs() && option.is_called(name))
}

/// The option of the command line with this name, without its dashes.
pub fn find_argument(name: &str) -> Option<&'static FioOption> {
    every_option().find(|option| matches!(option.group, OptionGroup::Program(_)) && option.is_called(name))
}
