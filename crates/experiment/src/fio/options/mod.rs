//! Every option of fio's HOWTO, and what it is here.

/// An option of fio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioOption {
    /// As fio's HOWTO names it first, or as everybody writes it: `rw`, `bs`.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub kind: ValueKind,
    /// Where it belongs.
    pub group: Group,
    /// What it is here.
    pub status: Status,
}

/// Where an option belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Of a job, with every engine.
    Job,
    /// Of a job, with the engines that are named.
    Engine(&'static str),
    /// Of the command line.
    CommandLine,
    /// Of a profile.
    Profile,
}

/// What an option's value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// None is needed; `=1` and `=0` may stand.
    Flag,
    /// 0 or 1.
    Bool,
    /// A whole number with suffixes, within these limits.
    Integer(i64, i64),
    /// One to three whole numbers, for reads, writes and trims.
    Integers(i64, i64),
    /// A whole number with suffixes, or a percentage.
    Amount,
    /// A range, or a single number.
    Range,
    /// One to three ranges.
    Ranges,
    /// A length of time; a number without unit is in microseconds times this.
    Time(u64),
    /// A number.
    Float,
    /// Numbers with colons between them.
    Floats,
    /// One of these words, perhaps with a part behind a colon.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

/// What an option is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As in fio.
    Same,
    /// As in fio but for this.
    Differs(&'static str),
    /// Not there.
    Absent {
        /// Why.
        why: &'static str,
        /// The nearest that there is, or what to do.
        instead: &'static str,
    },
}

/// All options.
pub fn every_option() -> impl Iterator<Item = &'static FioOption> + Clone {
    [].iter()
}

/// The option with this name or alias that jobs have.
pub fn find_option(name: &str) -> Option<&'static FioOption> {
    every_option()
        .filter(|option| option.group != Group::CommandLine)
        .find(|option| option.name == name || option.aliases.contains(&name))
}
