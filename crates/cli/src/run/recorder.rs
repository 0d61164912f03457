//! What is kept of a run while it goes on: intervals, events and results go into the results file as they come.

use jiff::Timestamp;
use metrics::Interval;
use stats::{SteadyOutcome, Window};
use store::{CellRecord, Event, Store, StoreError, Writer};

use super::figures::{Figures, Sums};
use crate::moment::now;

/// Writes one run's results. The first failure to write is kept: nothing more is measured then.
pub struct Recorder {
    store: Store,
    writer: Writer,
    run: String,
    failure: Option<String>,
}

impl Recorder {
    /// Writes to `run`, which is in the file already.
    ///
    /// # Errors
    /// As [`Store::writer`].
    pub fn new(store: Store, run: &str) -> Result<Self, StoreError> {
        let writer = store.writer(run)?;
        Ok(Self { store, writer, run: run.to_owned(), failure: None })
    }

    /// Keeps an interval. False once results cannot be written any more: there is no point in measuring on.
    pub fn interval(&mut self, cell: u32, stage: &str, trial: u32, interval: &Interval) -> bool {
        if self.failure.is_none() {
            let written = self.writer.interval(cell, stage, trial, interval);
            self.note(written);
        }
        self.failure.is_none()
    }

    /// Keeps what happened.
    pub fn event(&mut self, cell: Option<u32>, kind: &str, text: impl Into<String>) {
        if self.failure.is_some() {
            return;
        }
        let event = Event { at: now(), cell, kind: kind.to_owned(), text: text.into() };
        let written = self.writer.event(&event);
        self.note(written);
    }

    /// All that happened so far in the run, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn events(&mut self) -> Result<Vec<Event>, StoreError> {
        self.writer.flush()?;
        self.store.events(&self.run)
    }

    /// A cell begins.
    pub fn begin_cell(&mut self, index: u32, at: Timestamp) {
        let written = self.store.begin_cell(&self.run, index, at);
        self.note(written);
    }

    /// A cell is over.
    pub fn finish_cell(&mut self, record: &CellRecord) {
        // What the end of a cell says is tried even where its intervals could not be kept.
        let flushed = self.writer.flush();
        self.note(flushed);
        let written = self.store.finish_cell(&self.run, record);
        self.note(written);
    }

    /// The run is over.
    pub fn finish_run(&mut self, state: store::State) {
        let flushed = self.writer.flush();
        self.note(flushed);
        let state = if self.failure.is_some() { store::State::Failed } else { state };
        let written = self.store.finish_run(&self.run, state, now());
        self.note(written);
    }

    /// The figures of a window of a measurement, read back from the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn figures(
        &mut self,
        cell: u32,
        trial: u32,
        window: Window,
        steady: Option<&SteadyOutcome>,
    ) -> Result<(Figures, Span), StoreError> {
        self.writer.flush()?;
        let mut sums = Sums::default();
        let mut span: Option<Span> = None;
        for interval in
            self.store.intervals(&self.run, cell, super::MEASURE, trial, window.first..window.end)?
        {
            let interval = interval?;
            let end_s = (interval.start_ns + interval.length_ns) as f64 / 1e9;
            let start_s = span.map_or(interval.start_ns as f64 / 1e9, |span| span.start_s);
            span = Some(Span { start_s, end_s });
            sums.add(&interval);
        }
        Ok((sums.finish(steady), span.unwrap_or_default()))
    }

    /// Why results cannot be written any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The file, once nothing more is written.
    pub fn into_store(self) -> Store {
        self.store
    }

    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.failure.get_or_insert_with(|| error.to_string());
        }
    }
}

/// A stretch of a measurement, in seconds since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// Its beginning.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
}
