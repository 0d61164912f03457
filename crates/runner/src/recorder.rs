//! Records a run while it goes on: intervals, events and results are written to the results file as they arrive.

use jiff::Timestamp;
use metrics::Interval;
use stats::{SteadyOutcome, Window, WindowFigures, WindowSums};
use store::{CellRecord, Event, HOSTS_KEPT, HostRecord, Store, StoreError, Writer};

use crate::timestamp::now;

/// Writes one run's results. The first write failure is remembered, and measuring stops.
pub struct Recorder {
    store: Store,
    writer: Writer,
    run: String,
    /// Keep the intervals of single hosts.
    each_host: bool,
    failure: Option<StoreError>,
}

impl Recorder {
    /// Writes to `run`, which is already in the file.
    ///
    /// # Errors
    /// As [`Store::writer`].
    pub fn new(store: Store, run: &str) -> Result<Self, StoreError> {
        let writer = store.writer(run)?;
        Ok(Self { store, writer, run: run.to_owned(), each_host: true, failure: None })
    }

    /// Stores an interval. Returns false once results can no longer be written: measuring on is pointless.
    pub fn interval(&mut self, cell: u32, stage: &str, trial: u32, interval: &Interval) -> bool {
        if self.failure.is_none() {
            let written = self.writer.interval(cell, stage, trial, interval);
            self.note(written);
        }
        self.failure.is_none()
    }

    /// Stores the hosts of the fleet, before anything is measured. With more than [`HOSTS_KEPT`] hosts, their intervals
    /// are not kept.
    pub fn hosts(&mut self, hosts: &[HostRecord]) {
        self.each_host = hosts.len() <= HOSTS_KEPT;
        let written = self.store.keep_hosts(&self.run, hosts);
        self.note(written);
    }

    /// Stores environment facts that were unknown when the run began.
    pub fn facts(&mut self, facts: &[(String, String)]) {
        let written = self.store.keep_facts(&self.run, facts);
        self.note(written);
    }

    /// Stores an interval of one host beside the combined interval with the same number. Returns false once results can
    /// no longer be written.
    pub fn host_interval(
        &mut self,
        cell: u32,
        stage: &str,
        trial: u32,
        host: &str,
        interval: &Interval,
    ) -> bool {
        if self.failure.is_none() && self.each_host {
            let written = self.writer.host_interval(cell, stage, trial, host, interval);
            self.note(written);
        }
        self.failure.is_none()
    }

    /// Stores a host's sample of itself; `at_ns` counts from the start of the measured window. At most one per second
    /// and host.
    pub fn sample(&mut self, cell: u32, host: &str, at_ns: u64, sample: &impl serde::Serialize) {
        if self.failure.is_none() && self.each_host {
            let written = self.writer.sample(cell, host, at_ns, sample);
            self.note(written);
        }
    }

    /// Stores a sample of an observed host of the server, under the name of its role and the host.
    pub fn server_sample(&mut self, cell: u32, name: &str, at_ns: u64, sample: &impl serde::Serialize) {
        if self.failure.is_none() {
            let written = self.writer.sample(cell, name, at_ns, sample);
            self.note(written);
        }
    }

    /// The figures of one host over the reported window. Where host intervals are not kept (a large fleet), the figures
    /// of its whole measurement, `total`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn host_figures(
        &mut self,
        cell: u32,
        trial: u32,
        host: &str,
        window: Window,
        total: &Interval,
    ) -> Result<WindowFigures, StoreError> {
        let mut sums = WindowSums::default();
        if !self.each_host {
            sums.add(total);
            return Ok(sums.finish(None));
        }
        self.writer.flush()?;
        let place = (crate::stages::MEASURE, trial, host);
        for interval in self.store.host_intervals(&self.run, cell, place, window.first..window.end)? {
            sums.add(&interval?);
        }
        Ok(sums.finish(None))
    }

    /// Stores an event.
    pub fn event(&mut self, cell: Option<u32>, kind: &str, text: impl Into<String>) {
        if self.failure.is_some() {
            return;
        }
        let event = Event { at: now(), cell, kind: kind.to_owned(), text: text.into() };
        let written = self.writer.event(&event);
        self.note(written);
    }

    /// All events of the run so far, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn events(&mut self) -> Result<Vec<Event>, StoreError> {
        self.writer.flush()?;
        self.store.events(&self.run)
    }

    /// Starts a cell.
    pub fn begin_cell(&mut self, index: u32, at: Timestamp) {
        let written = self.store.begin_cell(&self.run, index, at);
        self.note(written);
    }

    /// Ends a cell.
    pub fn finish_cell(&mut self, record: &CellRecord) {
        // Record the end of the cell even if its intervals could not be stored.
        let flushed = self.writer.flush();
        self.note(flushed);
        let written = self.store.finish_cell(&self.run, record);
        self.note(written);
    }

    /// Ends the run.
    pub fn finish_run(&mut self, state: store::State) {
        let flushed = self.writer.flush();
        self.note(flushed);
        let state = if self.failure.is_some() { store::State::Failed } else { state };
        let written = self.store.finish_run(&self.run, state, now());
        self.note(written);
    }

    /// The figures of a window of a measurement, read from the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn figures(
        &mut self,
        cell: u32,
        trial: u32,
        window: Window,
        steady: Option<&SteadyOutcome>,
    ) -> Result<(WindowFigures, MeasuredSpan), StoreError> {
        self.writer.flush()?;
        let mut sums = WindowSums::default();
        let mut span: Option<MeasuredSpan> = None;
        for interval in
            self.store.intervals(&self.run, cell, crate::stages::MEASURE, trial, window.first..window.end)?
        {
            let interval = interval?;
            let end_s = (interval.start_ns + interval.length_ns) as f64 / 1e9;
            let start_s = span.map_or(interval.start_ns as f64 / 1e9, |span| span.start_s);
            span = Some(MeasuredSpan { start_s, end_s });
            sums.add(&interval);
        }
        Ok((sums.finish(steady), span.unwrap_or_default()))
    }

    /// Why results can no longer be written, if so.
    pub fn failure(&self) -> Option<&StoreError> {
        self.failure.as_ref()
    }

    /// The same, once nothing more will be written.
    pub fn into_failure(self) -> Option<StoreError> {
        self.failure
    }

    /// The store, once nothing more will be written.
    pub fn into_store(self) -> Store {
        self.store
    }

    fn note(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }
}

/// A span of a measurement, in seconds since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredSpan {
    /// Its start.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
}
