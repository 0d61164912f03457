//! Engines: how job files in fio's language name a protocol (`ioengine=`), and how options of jobs become a target of it. The language
//! itself is the crate `fio`'s, which finds the engines here by their names.

pub(super) mod files;
pub(super) mod net;
pub(super) mod nfs;
pub(super) mod s3;

use std::collections::BTreeMap;

/// The engines of a protocol, and the options of jobs that belong to them alone.
#[derive(Clone, Copy, Debug)]
pub struct JobEngines {
    /// The engines.
    pub engines: &'static [JobEngine],
    /// Their options.
    pub options: &'static [EngineOption],
}

impl JobEngines {
    /// No job can name the protocol.
    pub const NONE: JobEngines = JobEngines { engines: &[], options: &[] };
}

/// An engine of job files that loads targets of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct JobEngine {
    /// As `ioengine` names it.
    pub name: &'static str,
    /// How it compares with fio's engine of this name.
    pub support: OptionSupport,
    /// It keeps more than one operation in flight by itself.
    pub queues: bool,
    /// fio maps files into memory for it.
    pub maps_files: bool,
    /// There are no files that could say how much is to be moved: the job must.
    pub needs_size: bool,
    /// The name of its targets in plans.
    pub target_name: &'static str,
    /// The options that hold an access key. Targets of several sections are different ones then, as their keys may be.
    pub key_options: Option<KeyOptions>,
    /// Makes the target of a job; what is wrong is told to the job.
    pub target: fn(&dyn EngineJob) -> EngineTarget,
}

impl JobEngine {
    /// An engine with none of the traits.
    pub const fn new(
        name: &'static str,
        target_name: &'static str,
        support: OptionSupport,
        target: fn(&dyn EngineJob) -> EngineTarget,
    ) -> Self {
        Self {
            name,
            support,
            queues: false,
            maps_files: false,
            needs_size: false,
            target_name,
            key_options: None,
            target,
        }
    }
}

/// Names of the options of jobs that hold an access key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyOptions {
    /// The key's name.
    pub id: &'static str,
    /// The secret.
    pub secret: &'static str,
}

/// What an engine makes of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineTarget {
    /// The target's URL.
    pub url: String,
    /// Its options by name.
    pub options: BTreeMap<String, String>,
    /// The job's file names as the target knows them, where a part of them belongs to the URL.
    pub file_names: Option<Vec<String>>,
}

impl EngineTarget {
    /// A target without options.
    pub fn of_url(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }
}

/// A job, as far as an engine may ask. Options are asked for by their names; what cannot be read is told by the job itself.
pub trait EngineJob {
    /// A text.
    fn text(&self, option: &'static str) -> Option<&str>;

    /// A whole number; sizes in bytes.
    fn number(&self, option: &'static str) -> Option<u64>;

    /// An option that is off unless it is set.
    fn flag(&self, option: &'static str) -> bool;

    /// True when it is set at all.
    fn is_set(&self, option: &'static str) -> bool;

    /// Something is wrong with this option, or with the job where it is not set; `correction` says what to write instead.
    fn fault(&self, option: &'static str, text: String, correction: String);

    /// The directory that names of files are relative to: absolute.
    fn directory(&self) -> &str;

    /// The names of files that the job lists.
    fn file_names(&self) -> &[String];

    /// Operations pass the page cache.
    fn is_direct(&self) -> bool;

    /// The operations that it does.
    fn operations(&self) -> JobOperations;
}

/// The operations that a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOperations {
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// It trims.
    pub trims: bool,
    /// At random offsets.
    pub random: bool,
}

/// An option of jobs that belongs to some engines alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineOption {
    /// The engines, those of other protocols and those that are not there included.
    pub engines: &'static [&'static str],
    /// The name by which code and messages call it.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// What its value is.
    pub kind: ValueKind,
    /// How it compares with fio's.
    pub support: OptionSupport,
    /// Values with which an absent option asks for nothing, so that they are accepted.
    pub harmless: &'static [&'static str],
    /// Its value is never shown.
    pub secret: bool,
}

impl EngineOption {
    /// An option that is as in fio.
    pub const fn same(engines: &'static [&'static str], name: &'static str, kind: ValueKind) -> Self {
        Self { engines, name, aliases: &[], kind, support: OptionSupport::Same, harmless: &[], secret: false }
    }

    /// An option that is as in fio but for what is stated.
    pub const fn differs(
        engines: &'static [&'static str],
        name: &'static str,
        kind: ValueKind,
        how: &'static str,
    ) -> Self {
        Self { support: OptionSupport::Differs(how), ..Self::same(engines, name, kind) }
    }

    /// An option that is not there: why, and the nearest that there is.
    pub const fn absent(
        engines: &'static [&'static str],
        name: &'static str,
        kind: ValueKind,
        why: &'static str,
        instead: &'static str,
    ) -> Self {
        Self { support: OptionSupport::Absent { why, instead }, ..Self::same(engines, name, kind) }
    }

    /// An option that fio does not have.
    pub const fn ours(
        engines: &'static [&'static str],
        name: &'static str,
        kind: ValueKind,
        what: &'static str,
    ) -> Self {
        Self { support: OptionSupport::Ours(what), ..Self::same(engines, name, kind) }
    }

    /// With other names.
    pub const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// With a value that is never shown.
    pub const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// With values that ask for nothing.
    pub const fn harmless(self, values: &'static [&'static str]) -> Self {
        Self { harmless: values, ..self }
    }
}

/// How an option or engine compares with fio's of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSupport {
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
    /// Not fio's, but ours; this is what it does.
    Ours(&'static str),
}

/// What the value of a job's option is.
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
    /// A size in bytes, or a percentage.
    Amount,
    /// Two sizes with `-` between them, or one.
    Range,
    /// One to three ranges, for reads, writes and trims.
    Ranges,
    /// A length of time; a number without a unit is in units of this many microseconds.
    Time(u64),
    /// Two lengths of time with `-` between them, or one.
    TimeRange(u64),
    /// One to three lengths of time.
    Times(u64),
    /// A number within these limits.
    Float(f64, f64),
    /// At most this many numbers within these limits, with colons between them.
    Floats(usize, f64, f64),
    /// One of these words, perhaps with more behind a colon.
    Word(&'static [&'static str]),
    /// Some of these words with commas between them, perhaps with more behind a colon.
    Words(&'static [&'static str]),
    /// Any text that is not empty.
    Text,
    /// Any text, or no value at all.
    OptionalText,
}

/// The largest whole number that fio keeps in most options.
const MOST: i64 = u32::MAX as i64;

/// What could not be made: told at the option that the line begins with, else at `option`, and no target.
fn refused(job: &dyn EngineJob, options: &[&'static str], option: &'static str, why: &str) -> EngineTarget {
    let (text, correction) =
        why.split_once("; ").unwrap_or((why, "see the engine's options in docs/fio-options.md"));
    let place = options.iter().copied().find(|option| text.starts_with(option)).unwrap_or(option);
    job.fault(place, text.to_owned(), correction.to_owned());
    EngineTarget::default()
}
