//! Sections of a job file, with the settings that hold in them.

use std::sync::Arc;

use super::faults::Fault;
use super::options::FioOption;
use super::values;

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file as it was named, or `command line`.
    pub file: Arc<str>,
    /// From 1; on the command line the number of the argument.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In characters, at least 1.
    pub length: usize,
    /// The whole line, or the argument.
    pub text: Arc<str>,
}

/// A job: one section, or one `--name` of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What stands in the brackets, or behind `--name`.
    pub name: String,
    /// Everything that holds for it, in the order in which it is applied: first the global settings that stand before it, then its
    /// own. A setting takes the place of an earlier one of the same option (of the part that it names: `bs=,8k`
    /// leaves the size of reads).
    pub settings: Vec<Setting>,
    /// Where it begins.
    pub origin: Origin,
    /// It is the first job of a second or later job file, which begins when the jobs of the file before have ended.
    pub begins_file: bool,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Which option.
    pub option: &'static FioOption,
    /// Its value, after environment variables and keywords were put in; empty for an option without a value.
    pub value: String,
    /// There was an `=`.
    pub has_value: bool,
    /// It stands in a global section (or before the first `--name`).
    pub global: bool,
    /// What `k` means in its value: 1024 or 1000 (`kb_base`).
    pub kb_base: u32,
    /// Where it stands.
    pub origin: Origin,
}

impl Section {
    /// The setting of this option that holds: the last one.
    pub fn last(&self, canonical: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.option.name == canonical)
    }

    /// All settings of this option, in order.
    pub fn all<'a>(&'a self, canonical: &'a str) -> impl Iterator<Item = &'a Setting> + 'a {
        self.settings.iter().filter(move |setting| setting.option.name == canonical)
    }
}

impl Setting {
    /// A fault of this setting.
    pub fn fault(&self, text: impl Into<String>, mend: impl Into<String>) -> Fault {
        Fault::new(&self.origin, text, mend)
    }

    /// The value as a whole number: suffixes, `0x`, `(1+2)*3k` as fio reads them. Sizes in bytes.
    ///
    /// # Errors
    /// It is none, or it is too large.
    pub fn integer(&self) -> Result<i64, Fault> {
        self.part(&self.value, values::integer(&self.value, self.kb_base))
    }

    /// Turns a reading of `text` into a fault of this setting when it failed.
    ///
    /// # Errors
    /// The reading failed.
    pub fn part<T>(&self, text: &str, read: Result<T, String>) -> Result<T, Fault> {
        read.map_err(|why| self.fault(format!("{} is not understood: {text:?}", self.option.name), why))
    }
}
