//! The text of an experiment built from flags, and how its faults are reported.

use crate::fault::{Diagnostic, Diagnostics, hide_passwords};
use crate::parse::parse;
use crate::plan::Plan;
use crate::source::{Settings, SourceText};

/// The name used in faults that no flag caused.
const NAME: &str = "this command";

/// An experiment file built from command line input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefText {
    text: String,
    /// For each line, the input it comes from.
    origins: Vec<Option<String>>,
}

impl BriefText {
    /// Starts with these lines, each with its line end.
    pub(super) fn new(preface: &str) -> Self {
        Self { text: preface.to_owned(), origins: preface.lines().map(|_| None).collect() }
    }

    pub(super) fn push(&mut self, line: &str, origin: Option<&str>) {
        self.text.push_str(line);
        self.text.push('\n');
        self.origins.push(origin.map(str::to_owned));
    }

    pub(super) fn blank(&mut self) {
        self.push("", None);
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// The file's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Parses the text into a plan with the reader for experiment files.
    ///
    /// # Errors
    /// The same faults as for a file with this text; each names the input instead of a line, where there is one.
    pub fn parse(&self, settings: &Settings<'_>) -> Result<Plan, Diagnostics> {
        parse(&SourceText { file: NAME, text: &self.text }, settings).map_err(|faults| Diagnostics {
            faults: faults.faults.into_iter().map(|fault| self.blamed(fault)).collect(),
            ..faults
        })
    }

    fn blamed(&self, fault: Diagnostic) -> Diagnostic {
        let typed = fault.line.checked_sub(1).and_then(|at| self.origins.get(at)?.as_deref());
        match typed {
            Some(typed) if fault.origin.is_none() => {
                Diagnostic { line: 0, column: 0, origin: Some(hide_passwords(typed)), ..fault }
            }
            _ => fault,
        }
    }
}
