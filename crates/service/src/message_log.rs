//! The service's messages: passed on to its operator, and the latest ones kept for the API.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::options::Notes;

/// Number of messages kept.
const MAX_MESSAGES: usize = 1000;

/// The messages of a service.
pub(crate) struct MessageLog {
    notes: Notes,
    kept: Mutex<VecDeque<String>>,
}

impl MessageLog {
    /// Messages that go to `notes`.
    pub(crate) fn new(notes: Notes) -> Self {
        Self { notes, kept: Mutex::default() }
    }

    /// Adds a line.
    pub(crate) fn add(&self, line: &str) {
        (self.notes)(line);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_MESSAGES {
            kept.pop_front();
        }
        kept.push_back(format!("{} {line}", runner::timestamp::now()));
    }

    /// The last `most` lines, each with its time.
    pub(crate) fn last(&self, most: usize) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().skip(kept.len().saturating_sub(most)).cloned().collect()
    }
}
