//! Sections of a job file, with the settings that hold in them.

use std::sync::Arc;

use super::faults::ScriptFault;
use super::options::{FioOption, ValueKind};
use super::values::{self, Triple};
use experiment::Amount;

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
    pub fn fault(&self, text: impl Into<String>, hint: impl Into<String>) -> ScriptFault {
        ScriptFault::new(&self.origin, text, hint)
    }

    /// The value as a whole number: suffixes, `0x`, `(1+2)*3k` as fio reads them. Sizes in bytes. A percentage is its number.
    ///
    /// # Errors
    /// It is none, or it is too large.
    pub fn integer(&self) -> Result<i64, ScriptFault> {
        match values::percent(&self.value) {
            Ok(Some(percent)) => Ok(percent as i64),
            _ => self.part(&self.value, values::integer(&self.value, self.kb_base)),
        }
    }

    /// The value as a whole number that is not negative.
    ///
    /// # Errors
    /// It is none, or it is too large, or negative.
    pub fn unsigned(&self) -> Result<u64, ScriptFault> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| self.fault(self.complaint(&self.value), "it is not negative"))
    }

    /// The value as yes or no; an option without value says yes.
    ///
    /// # Errors
    /// It is neither 0 nor 1.
    pub fn flag(&self) -> Result<bool, ScriptFault> {
        if self.has_value { Ok(self.integer()? != 0) } else { Ok(true) }
    }

    /// The value as a size in bytes or a percentage.
    ///
    /// # Errors
    /// It is neither.
    pub fn amount(&self) -> Result<Amount, ScriptFault> {
        self.part(&self.value, values::amount(&self.value, self.kb_base))
    }

    /// The value as whole numbers for reads, writes and trims; `None` where it leaves what was before. A `%` is dropped.
    ///
    /// # Errors
    /// One of them is none.
    pub fn integers(&self) -> Result<Triple<i64>, ScriptFault> {
        self.part(&self.value, values::integers(&self.value.replace('%', ""), self.kb_base))
    }

    /// The value as two sizes in bytes, the smaller first.
    ///
    /// # Errors
    /// One of them is none.
    pub fn range(&self) -> Result<(u64, u64), ScriptFault> {
        self.part(&self.value, values::range(&self.value, self.kb_base))
    }

    /// The value as ranges of sizes for reads, writes and trims; `None` where it leaves what was before.
    ///
    /// # Errors
    /// One of them is none.
    pub fn ranges(&self) -> Result<Triple<(u64, u64)>, ScriptFault> {
        self.part(&self.value, values::ranges(&self.value, self.kb_base))
    }

    /// What a time without a unit is in, in microseconds.
    fn unit_us(&self) -> u64 {
        match self.option.kind {
            ValueKind::Time(unit) | ValueKind::TimeRange(unit) | ValueKind::Times(unit) => unit,
            _ => 1,
        }
    }

    /// The value as a length of time, in seconds.
    ///
    /// # Errors
    /// It is none.
    pub fn seconds(&self) -> Result<f64, ScriptFault> {
        let us = self.part(&self.value, values::time(&self.value, self.unit_us()))?;
        Ok(us as f64 / 1e6)
    }

    /// The value as two lengths of time in seconds, the shorter first.
    ///
    /// # Errors
    /// One of them is none.
    pub fn seconds_range(&self) -> Result<(f64, f64), ScriptFault> {
        let (least, most) = self.part(&self.value, values::time_range(&self.value, self.unit_us()))?;
        Ok((least as f64 / 1e6, most as f64 / 1e6))
    }

    /// The value as lengths of time in seconds, for reads, writes and trims; `None` where it leaves what was before.
    ///
    /// # Errors
    /// One of them is none.
    pub fn seconds_each(&self) -> Result<Triple<f64>, ScriptFault> {
        let us = self.part(&self.value, values::times(&self.value, self.unit_us()))?;
        Ok(us.map(|time| time.map(|us| us as f64 / 1e6)))
    }

    /// The value as numbers with colons between them.
    ///
    /// # Errors
    /// One of them is none.
    pub fn floats(&self) -> Result<Vec<f64>, ScriptFault> {
        self.part(&self.value, values::floats(&self.value))
    }

    /// The value as one number.
    ///
    /// # Errors
    /// It is none.
    pub fn float(&self) -> Result<f64, ScriptFault> {
        Ok(self.floats()?.first().copied().unwrap_or_default())
    }

    /// The value as a word, and what stands behind its colon: `randread:8` is `randread` and `8`.
    pub fn word(&self) -> (&str, Option<&str>) {
        match self.value.split_once(':') {
            Some((word, rest)) => (word.trim(), Some(rest.trim())),
            None => (self.value.trim(), None),
        }
    }

    /// The value as names with colons between them; `\:` is a colon in a name.
    pub fn names(&self) -> Vec<String> {
        values::names(&self.value)
    }

    fn complaint(&self, text: &str) -> String {
        format!("{} is not understood: {text:?}", self.option.name)
    }

    /// Turns a reading of `text` into a fault of this setting when it failed.
    ///
    /// # Errors
    /// The reading failed.
    pub fn part<T>(&self, text: &str, read: Result<T, String>) -> Result<T, ScriptFault> {
        read.map_err(|why| self.fault(self.complaint(text), why))
    }
}
