//! Faults in job files: where, what, and how to fix it. Several files may be involved.

use std::fmt;

use super::section::Origin;
use experiment::{Diagnostic, Diagnostics, MAX_FAULTS, hide_passwords, shown_line};

/// One fault of a job file or of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFault {
    /// Its position.
    pub origin: Origin,
    /// What is wrong.
    pub text: String,
    /// How to fix it.
    pub hint: String,
}

/// All faults, in the order in which they were found; never empty. Its `Display` is what users see: for each fault
/// `file:line:column: what is wrong`, the line with a caret, and the hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFaults {
    /// At most [`MAX_FAULTS`].
    pub faults: Vec<ScriptFault>,
    /// Number of further faults.
    pub more: usize,
}

/// Something that is not done as requested but tolerated (`--ignore-unsupported`), or that fio warns about too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(pub ScriptFault);

impl ScriptFault {
    /// A fault at this position.
    pub fn new(origin: &Origin, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { origin: origin.clone(), text: text.into(), hint: hint.into() }
    }

    fn shown(&self) -> Diagnostic {
        Diagnostic {
            line: self.origin.line,
            column: self.origin.column,
            length: self.origin.length,
            text: hide_passwords(&self.text),
            hint: self.hint.clone(),
            note: None,
            origin: None,
            source_line: shown_line(&self.origin.text),
        }
    }
}

impl From<ScriptFault> for ScriptFaults {
    fn from(fault: ScriptFault) -> Self {
        Self { faults: vec![fault], more: 0 }
    }
}

impl From<ScriptFaults> for Diagnostics {
    /// The faults of one file: further ones are not named.
    fn from(faults: ScriptFaults) -> Self {
        let file = faults.faults.first().map_or_else(String::new, |fault| fault.origin.file.to_string());
        let shown = faults.faults.iter().map(ScriptFault::shown).collect();
        Self { file, faults: shown, more: faults.more }
    }
}

impl ScriptFaults {
    /// Collects faults; those beyond [`MAX_FAULTS`] are only counted. `None` if there are none.
    pub fn of(mut faults: Vec<ScriptFault>) -> Option<Self> {
        let more = faults.len().saturating_sub(MAX_FAULTS);
        faults.truncate(MAX_FAULTS);
        (!faults.is_empty()).then_some(Self { faults, more })
    }
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().write(f, &self.origin.file)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warned = Diagnostic { text: format!("warning: {}", self.0.shown().text), ..self.0.shown() };
        warned.write(f, &self.0.origin.file)
    }
}

impl fmt::Display for ScriptFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            fault.fmt(f)?;
        }
        if self.more > 0 {
            writeln!(f, "\n… and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptFault {}

impl std::error::Error for ScriptFaults {}
