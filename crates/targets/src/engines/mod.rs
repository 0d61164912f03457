//! Engines: how job files in fio's language name a protocol (`ioengine=`), and how job options become a target of it.
//! The crate `fio` parses the language and finds the engines here by name.

pub(super) mod files;
pub(super) mod gluster;
pub(super) mod iscsi;
pub(super) mod net;
pub(super) mod nfs;
mod nfs_error;
pub(super) mod rados;
pub(super) mod rbd;
pub(super) mod s3;

use std::collections::BTreeMap;

use experiment::TextFault;

/// The engines of a protocol, and the job options that only they have.
#[derive(Clone, Copy, Debug)]
pub struct JobEngines {
    /// The engines.
    pub engines: &'static [JobEngine],
    /// Their options.
    pub options: &'static [EngineOption],
}

impl JobEngines {
    /// For protocols that no job can name.
    pub const NONE: JobEngines = JobEngines { engines: &[], options: &[] };
}

/// A job-file engine that loads targets of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct JobEngine {
    /// Name, as in `ioengine=`.
    pub name: &'static str,
    /// How it compares with fio's engine of this name.
    pub support: OptionSupport,
    /// Keeps more than one operation in flight by itself.
    pub queues: bool,
    /// fio memory-maps files for it.
    pub maps_files: bool,
    /// There are no files whose size could set the amount of I/O: the job must give it.
    pub needs_size: bool,
    /// Name of its targets in plans.
    pub target_name: &'static str,
    /// The options that hold an access key. Several sections then get separate targets, because their keys may differ.
    pub key_options: Option<KeyOptions>,
    /// Creates the target of a job; reports problems to the job.
    pub target: fn(&dyn EngineJob) -> EngineTarget,
}

impl JobEngine {
    /// An engine with no traits set.
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

/// Names of the job options that hold an access key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyOptions {
    /// The key's name.
    pub id: &'static str,
    /// The secret.
    pub secret: &'static str,
}

/// The target that an engine derives from a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineTarget {
    /// The target's URL.
    pub url: String,
    /// Its options by name.
    pub options: BTreeMap<String, String>,
    /// The job's file names as the target knows them, where part of each belongs to the URL.
    pub file_names: Option<Vec<String>>,
}

impl EngineTarget {
    /// A target without options.
    pub fn of_url(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }
}

/// The part of a job that an engine may query, option by option. The job itself reports values that cannot be parsed.
pub trait EngineJob {
    /// A text.
    fn text(&self, option: &'static str) -> Option<&str>;

    /// A whole number; sizes in bytes.
    fn number(&self, option: &'static str) -> Option<u64>;

    /// An option that is off by default.
    fn flag(&self, option: &'static str) -> bool;

    /// True when the option is set at all.
    fn is_set(&self, option: &'static str) -> bool;

    /// Reports a problem with this option, or with the job when the option is not set; `correction` says what to write
    /// instead.
    fn fault(&self, option: &'static str, text: String, correction: String);

    /// The absolute directory that file names are relative to.
    fn directory(&self) -> &str;

    /// The file names that the job lists.
    fn file_names(&self) -> &[String];

    /// I/O bypasses the page cache.
    fn is_direct(&self) -> bool;

    /// The operations that the job performs.
    fn operations(&self) -> JobOperations;
}

/// The operations that a job performs.
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

/// A job option that only some engines have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineOption {
    /// The engines that have it, including those of other protocols and unsupported ones.
    pub engines: &'static [&'static str],
    /// Its name in code and messages.
    pub name: &'static str,
    /// Other names of the same option.
    pub aliases: &'static [&'static str],
    /// Type of its value.
    pub kind: ValueKind,
    /// How it compares with fio's.
    pub support: OptionSupport,
    /// Values that change nothing, so an unsupported option is accepted with them.
    pub harmless: &'static [&'static str],
    /// Its value is never shown.
    pub secret: bool,
}

impl EngineOption {
    /// An option that works as in fio.
    pub const fn same(engines: &'static [&'static str], name: &'static str, kind: ValueKind) -> Self {
        Self { engines, name, aliases: &[], kind, support: OptionSupport::Same, harmless: &[], secret: false }
    }

    /// An option that works as in fio except as stated.
    pub const fn differs(
        engines: &'static [&'static str],
        name: &'static str,
        kind: ValueKind,
        how: &'static str,
    ) -> Self {
        Self { support: OptionSupport::Differs(how), ..Self::same(engines, name, kind) }
    }

    /// An unsupported option: the reason, and the closest alternative.
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

    /// Adds aliases.
    pub const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Marks the value as never to be shown.
    pub const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// Adds values that change nothing.
    pub const fn harmless(self, values: &'static [&'static str]) -> Self {
        Self { harmless: values, ..self }
    }
}

/// How an option or engine compares with fio's of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSupport {
    /// As in fio.
    Same,
    /// As in fio except for this.
    Differs(&'static str),
    /// Not supported.
    Absent {
        /// Why.
        why: &'static str,
        /// The closest alternative, or what to do.
        instead: &'static str,
    },
    /// Ours, not fio's: what it does.
    Ours(&'static str),
}

/// Type of a job option's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Needs no value; `=1` and `=0` are allowed.
    Flag,
    /// 0 or 1.
    Bool,
    /// A whole number with suffixes, within these limits.
    Integer(i64, i64),
    /// One to three whole numbers, for reads, writes and trims.
    Integers(i64, i64),
    /// A size in bytes, or a percentage.
    Amount,
    /// One size, or two separated by `-`.
    Range,
    /// One to three ranges, for reads, writes and trims.
    Ranges,
    /// A duration; a number without a unit counts in units of this many microseconds.
    Time(u64),
    /// One duration, or two separated by `-`.
    TimeRange(u64),
    /// One to three durations.
    Times(u64),
    /// A number within these limits.
    Float(f64, f64),
    /// At most this many numbers within these limits, separated by colons.
    Floats(usize, f64, f64),
    /// One of these words, optionally with a suffix after a colon.
    Word(&'static [&'static str]),
    /// Some of these words, separated by commas, each optionally with a suffix after a colon.
    Words(&'static [&'static str]),
    /// Any text that is not empty.
    Text,
    /// Any text, or no value at all.
    OptionalText,
}

/// The largest integer that fio stores in most options.
const MOST: i64 = u32::MAX as i64;

/// What to do about a fault that already says what to write.
const SEE_OPTIONS: &str = "see the engine's options in docs/fio-options.md";

/// Reports at an option why no target could be created.
fn refused(job: &dyn EngineJob, option: &'static str, fault: TextFault) -> EngineTarget {
    job.fault(option, fault.text, fault.hint);
    EngineTarget::default()
}
