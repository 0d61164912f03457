//! The options of a section, with faults at the position of the setting.

use std::cell::RefCell;
use std::fmt::Display;

use super::lists::outside_brackets;
use super::numbers::{amount, seconds};
use crate::language::section::{Section, Setting};
use crate::language::values::ValueError;
use crate::plan::Surroundings;
use crate::{ScriptFault, Warning, values};
use experiment::{Amount, Directions};

/// A section, and the faults found in it so far.
pub(crate) struct Asked<'a> {
    /// The section.
    pub section: &'a Section,
    /// Context outside the section.
    pub around: &'a Surroundings<'a>,
    faults: RefCell<Vec<ScriptFault>>,
    warnings: RefCell<Vec<Warning>>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(section: &'a Section, around: &'a Surroundings<'a>) -> Self {
        Self { section, around, faults: RefCell::default(), warnings: RefCell::default() }
    }

    /// The faults and warnings, in the order in which they were found.
    pub(crate) fn finish(self) -> (Vec<ScriptFault>, Vec<Warning>) {
        (self.faults.into_inner(), self.warnings.into_inner())
    }

    /// All settings of an option, by its name or an alias, in order of application.
    pub(crate) fn all(&self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Setting> + use<'a> {
        let is_it =
            move |setting: &&Setting| setting.option.name == name || setting.option.aliases.contains(&name);
        self.section.settings.iter().filter(is_it)
    }

    /// The setting that applies.
    pub(crate) fn setting(&self, name: &'a str) -> Option<&'a Setting> {
        self.all(name).next_back()
    }

    /// Whether the option is set at all.
    pub(crate) fn has(&self, name: &'a str) -> bool {
        self.setting(name).is_some()
    }

    /// Records a fault in this option, or in the section if it is not set.
    pub(crate) fn fault(&self, name: &'a str, text: impl Into<String>, hint: impl Into<String>) {
        let fault = match self.setting(name) {
            Some(setting) => setting.fault(text, hint),
            None => ScriptFault::new(&self.section.origin, text, hint),
        };
        self.faults.borrow_mut().push(fault);
    }

    /// Records a warning.
    pub(crate) fn warn(&self, name: &'a str, text: impl Into<String>, hint: impl Into<String>) {
        let origin = self.setting(name).map_or(&self.section.origin, |setting| &setting.origin);
        self.warnings.borrow_mut().push(Warning(ScriptFault::new(origin, text, hint)));
    }

    /// Parses a value, or records its fault.
    pub(crate) fn read<T, E: Display>(
        &self,
        setting: &Setting,
        text: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match setting.part(text, read(text)) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.faults.borrow_mut().push(fault);
                None
            }
        }
    }

    /// A boolean option; without a value it is on.
    pub(crate) fn flag_or(&self, name: &'a str, usual: bool) -> bool {
        let Some(setting) = self.setting(name) else { return usual };
        match setting.value.trim() {
            "" | "true" => true,
            "false" => false,
            text => self
                .read(setting, text, |text| values::integer(text, setting.kb_base))
                .map_or(usual, |n| n != 0),
        }
    }

    /// An option that is off unless it is set.
    pub(crate) fn flag(&self, name: &'a str) -> bool {
        self.flag_or(name, false)
    }

    /// A non-negative integer; sizes are in bytes.
    pub(crate) fn number(&self, name: &'a str) -> Option<u64> {
        let setting = self.setting(name)?;
        self.read(setting, &setting.value, |text| whole(text, setting.kb_base))
    }

    /// An integer that fits 32 bits.
    pub(crate) fn count(&self, name: &'a str) -> Option<u32> {
        let number = self.number(name)?;
        let count = u32::try_from(number).ok();
        if count.is_none() {
            self.fault(
                name,
                format!("{name} is too large: {number}"),
                format!("write a number up to {}", u32::MAX),
            );
        }
        count
    }

    /// A size, or a percentage of the available size.
    pub(crate) fn amount(&self, name: &'a str) -> Option<Amount> {
        let setting = self.setting(name)?;
        self.read(setting, &setting.value, |text| amount(text, setting.kb_base))
    }

    /// A duration in seconds; a number without a unit is in units of `unit_s` seconds.
    pub(crate) fn seconds(&self, name: &'a str, unit_s: f64) -> Option<f64> {
        let setting = self.setting(name)?;
        self.read(setting, &setting.value, |text| seconds(text, unit_s))
    }

    /// A number.
    pub(crate) fn float(&self, name: &'a str) -> Option<f64> {
        let setting = self.setting(name)?;
        self.read(setting, &setting.value, super::numbers::float)
    }

    /// A text.
    pub(crate) fn text(&self, name: &'a str) -> Option<&'a str> {
        self.setting(name).map(|setting| setting.value.trim())
    }

    /// Values for reads, writes and trims, separated by commas: a single one applies to all, the second also to trims
    /// unless a comma follows it, and an empty one keeps the previous value.
    pub(crate) fn directions<T: Clone, E: Display>(
        &self,
        name: &'a str,
        read: impl Fn(&Setting, &str) -> Result<T, E>,
    ) -> Directions<Option<T>> {
        let mut found = Directions { read: None, write: None, trim: None };
        for setting in self.all(name) {
            let parts = outside_brackets(&setting.value, &[',']);
            if parts.len() > 3 {
                self.fault(
                    name,
                    format!("{name} has {} values, but there are three directions", parts.len()),
                    "write at most three, for reads, writes and trims",
                );
                continue;
            }
            let value = |index: usize| -> Option<T> {
                let text = parts.get(index)?.trim();
                (!text.is_empty()).then(|| self.read(setting, text, |text| read(setting, text)))?
            };
            let one = value(0);
            let (write, trim) = match parts.len() {
                1 => (one.clone(), one.clone()),
                2 => (value(1), value(1)),
                _ => (value(1), value(2)),
            };
            found.read = one.or(found.read);
            found.write = write.or(found.write);
            found.trim = trim.or(found.trim);
        }
        found
    }

    /// Integers for reads, writes and trims.
    pub(crate) fn numbers(&self, name: &'a str) -> Directions<Option<u64>> {
        self.directions(name, |setting, text| whole(text, setting.kb_base))
    }
}

/// A non-negative integer.
pub(crate) fn whole(text: &str, kb_base: u32) -> Result<u64, ValueError> {
    let number = values::integer(text, kb_base)?;
    u64::try_from(number).map_err(|_| ValueError::Negative)
}
