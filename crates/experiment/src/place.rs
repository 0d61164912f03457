//! Source places, and the list of faults found so far.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::fault::{Diagnostic, Diagnostics, MAX_FAULTS, hide_passwords, shown_line};

/// A source place: in the file, or in a text from outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// 0 for the file; otherwise the number of an origin in the [`Log`], from 1.
    pub origin: u32,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// In characters.
    pub length: u32,
}

impl Place {
    /// The start of the file.
    pub const START: Self = Self { origin: 0, line: 1, column: 1, length: 1 };
}

/// Maximum number of distinct faults kept; further ones are counted only.
const MOST_FOUND: usize = 1000;

#[derive(Debug)]
struct Entry {
    place: Place,
    text: String,
    hint: String,
    note: Option<Rc<str>>,
}

/// The faults found so far, and the names of the origins outside the file.
#[derive(Debug, Default)]
pub(crate) struct Log {
    origins: RefCell<Vec<String>>,
    found: RefCell<Vec<Entry>>,
    /// Number of faults reported, including duplicates at the same place.
    noted: Cell<usize>,
}

impl Log {
    /// A place outside the file: `--set size=4GiB`.
    pub fn origin(&self, name: String) -> Place {
        let mut origins = self.origins.borrow_mut();
        origins.push(name);
        let origin = u32::try_from(origins.len()).unwrap_or(u32::MAX);
        Place { origin, line: 0, column: 0, length: 0 }
    }

    /// Reports a fault. Duplicates at the same place are kept once: cells share most of their values.
    pub fn fault(&self, place: Place, text: impl Into<String>, hint: impl Into<String>) {
        self.fault_with(place, text, hint, None);
    }

    /// Reports a fault together with the origin of a substituted value.
    pub fn fault_with(
        &self,
        place: Place,
        text: impl Into<String>,
        hint: impl Into<String>,
        note: Option<Rc<str>>,
    ) {
        let entry = Entry { place, text: text.into(), hint: hint.into(), note };
        self.noted.set(self.noted.get() + 1);
        let mut found = self.found.borrow_mut();
        if found.len() < MOST_FOUND
            && !found.iter().any(|other| other.place == entry.place && other.text == entry.text)
        {
            found.push(entry);
        }
    }

    /// Number of faults reported so far, including duplicates: an increase shows that the value just read is invalid,
    /// even if the fault is already known.
    pub fn count(&self) -> usize {
        self.noted.get()
    }

    /// Number of distinct faults.
    pub fn different(&self) -> usize {
        self.found.borrow().len()
    }

    /// Whether there are no faults so far.
    pub fn is_clean(&self) -> bool {
        self.count() == 0
    }

    /// All faults, in line order; those from outside the file come first.
    pub fn into_faults(self, file: &str, text: &str) -> Diagnostics {
        let origins = self.origins.into_inner();
        let mut found = self.found.into_inner();
        found.sort_by_key(|entry| (entry.place.line, entry.place.column));
        let more = found.len().saturating_sub(MAX_FAULTS);
        found.truncate(MAX_FAULTS);
        let line_of = |line: u32| {
            let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
            shown_line(text.split('\n').nth(index).unwrap_or("").trim_end_matches('\r'))
        };
        let number = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let faults = found
            .into_iter()
            .map(|entry| Diagnostic {
                line: number(entry.place.line),
                column: number(entry.place.column),
                length: number(entry.place.length).max(1),
                text: hide_passwords(&entry.text),
                hint: entry.hint,
                note: entry.note.map(|note| hide_passwords(&note)),
                origin: number(entry.place.origin)
                    .checked_sub(1)
                    .and_then(|index| origins.get(index))
                    .map(|origin| hide_passwords(origin)),
                source_line: if entry.place.origin == 0 { line_of(entry.place.line) } else { String::new() },
            })
            .collect();
        Diagnostics { file: file.to_owned(), faults, more }
    }
}
