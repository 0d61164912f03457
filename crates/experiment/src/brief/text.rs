//! The text of an experiment that flags made, and how its faults are told.

use crate::fault::{Diagnostic, Diagnostics, hide_passwords};
use crate::parse::parse;
use crate::plan::Plan;
use crate::source::{Settings, SourceText};

/// What faults call the text where no flag is to blame.
const NAME: &str = "this command";

/// An experiment file that was made from what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefText {
    text: String,
    /// For each line what was typed for it.
    origins: Vec<Option<String>>,
}

impl BriefText {
    /// Nothing but these lines, each with its end.
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

    /// Its plan, by the reader of experiment files.
    ///
    /// # Errors
    /// The faults that a file of this text has; each names what was typed instead of a line, where there is such.
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
