//! Sections of a job file, with the settings that apply to them.

use std::fmt::Display;
use std::sync::Arc;

use super::faults::ScriptFault;
use super::options::{FioOption, ValueKind};
use super::values::{self, Triple};
use experiment::Amount;

/// A position in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file as named, or `command line`.
    pub file: Arc<str>,
    /// Line number from 1; on the command line, the argument number.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Length in characters, at least 1.
    pub length: usize,
    /// The whole line, or the argument.
    pub text: Arc<str>,
}

/// A job: one section, or one `--name` of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The text in brackets, or after `--name`.
    pub name: String,
    /// All settings that apply to it, in order of application: first the global settings before it, then its own. A
    /// setting replaces an earlier one of the same option (only the parts that it names: `bs=,8k` leaves the read
    /// size).
    pub settings: Vec<Setting>,
    /// Its position.
    pub origin: Origin,
    /// It is the first job of a second or later job file, and starts when the previous file's jobs have ended.
    pub begins_file: bool,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The option.
    pub option: &'static FioOption,
    /// Its value after substitution of environment variables and keywords; empty for an option without a value.
    pub value: String,
    /// Whether there was an `=`.
    pub has_value: bool,
    /// Whether it is in a global section (or before the first `--name`).
    pub global: bool,
    /// The meaning of `k` in its value: 1024 or 1000 (`kb_base`).
    pub kb_base: u32,
    /// Its position.
    pub origin: Origin,
}

impl Section {
    /// The setting of this option that applies: the last one.
    pub fn last(&self, canonical: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.option.name == canonical)
    }

    /// All settings of this option, in order.
    pub fn all<'a>(&'a self, canonical: &'a str) -> impl Iterator<Item = &'a Setting> + 'a {
        self.settings.iter().filter(move |setting| setting.option.name == canonical)
    }
}

impl Setting {
    /// A fault in this setting.
    pub fn fault(&self, text: impl Into<String>, hint: impl Into<String>) -> ScriptFault {
        ScriptFault::new(&self.origin, text, hint)
    }

    /// The value as an integer: suffixes, `0x`, `(1+2)*3k` as fio reads them. Sizes are in bytes. A percentage yields
    /// its number.
    ///
    /// # Errors
    /// It is not an integer, or is too large.
    pub fn integer(&self) -> Result<i64, ScriptFault> {
        match values::percent(&self.value) {
            Ok(Some(percent)) => Ok(percent as i64),
            _ => self.part(&self.value, values::integer(&self.value, self.kb_base)),
        }
    }

    /// The value as a non-negative integer.
    ///
    /// # Errors
    /// It is not an integer, is too large, or is negative.
    pub fn unsigned(&self) -> Result<u64, ScriptFault> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| self.fault(self.complaint(&self.value), "it is not negative"))
    }

    /// The value as a boolean; an option without a value is true.
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

    /// The value as integers for reads, writes and trims; `None` keeps the previous value. A `%` is dropped.
    ///
    /// # Errors
    /// One of them is not an integer.
    pub fn integers(&self) -> Result<Triple<i64>, ScriptFault> {
        self.part(&self.value, values::integers(&self.value.replace('%', ""), self.kb_base))
    }

    /// The value as two sizes in bytes, the smaller first.
    ///
    /// # Errors
    /// One of them is not a size.
    pub fn range(&self) -> Result<(u64, u64), ScriptFault> {
        self.part(&self.value, values::range(&self.value, self.kb_base))
    }

    /// The value as ranges of sizes for reads, writes and trims; `None` keeps the previous value.
    ///
    /// # Errors
    /// One of them is not a range.
    pub fn ranges(&self) -> Result<Triple<(u64, u64)>, ScriptFault> {
        self.part(&self.value, values::ranges(&self.value, self.kb_base))
    }

    /// Unit of a time without a unit, in microseconds.
    fn unit_us(&self) -> u64 {
        match self.option.kind {
            ValueKind::Time(unit) | ValueKind::TimeRange(unit) | ValueKind::Times(unit) => unit,
            _ => 1,
        }
    }

    /// The value as a duration, in seconds.
    ///
    /// # Errors
    /// It is not a duration.
    pub fn seconds(&self) -> Result<f64, ScriptFault> {
        let us = self.part(&self.value, values::time(&self.value, self.unit_us()))?;
        Ok(us as f64 / 1e6)
    }

    /// The value as two durations in seconds, the shorter first.
    ///
    /// # Errors
    /// One of them is not a duration.
    pub fn seconds_range(&self) -> Result<(f64, f64), ScriptFault> {
        let (least, most) = self.part(&self.value, values::time_range(&self.value, self.unit_us()))?;
        Ok((least as f64 / 1e6, most as f64 / 1e6))
    }

    /// The value as durations in seconds for reads, writes and trims; `None` keeps the previous value.
    ///
    /// # Errors
    /// One of them is not a duration.
    pub fn seconds_each(&self) -> Result<Triple<f64>, ScriptFault> {
        let us = self.part(&self.value, values::times(&self.value, self.unit_us()))?;
        Ok(us.map(|time| time.map(|us| us as f64 / 1e6)))
    }

    /// The value as numbers separated by colons.
    ///
    /// # Errors
    /// One of them is not a number.
    pub fn floats(&self) -> Result<Vec<f64>, ScriptFault> {
        self.part(&self.value, values::floats(&self.value))
    }

    /// The value as one number.
    ///
    /// # Errors
    /// It is not a number.
    pub fn float(&self) -> Result<f64, ScriptFault> {
        Ok(self.floats()?.first().copied().unwrap_or_default())
    }

    /// The value as a word, and the text after its colon: `randread:8` is `randread` and `8`.
    pub fn word(&self) -> (&str, Option<&str>) {
        match self.value.split_once(':') {
            Some((word, rest)) => (word.trim(), Some(rest.trim())),
            None => (self.value.trim(), None),
        }
    }

    /// The value as names separated by colons; `\:` is a colon within a name.
    pub fn names(&self) -> Vec<String> {
        values::names(&self.value)
    }

    fn complaint(&self, text: &str) -> String {
        format!("{} is not understood: {text:?}", self.option.name)
    }

    /// Turns a failed parse of `text` into a fault in this setting.
    ///
    /// # Errors
    /// Parsing failed.
    pub fn part<T, E: Display>(&self, text: &str, read: Result<T, E>) -> Result<T, ScriptFault> {
        read.map_err(|why| self.fault(self.complaint(text), why.to_string()))
    }
}
