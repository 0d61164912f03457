//! Measurements without an experiment in the results file, as ordinary runs: the run record, its cells as they come,
//! its end.

use std::path::PathBuf;
use std::sync::Arc;

use experiment::Plan;
use fleet::probe::HostSample;
use jiff::Timestamp;
use metrics::Interval;
use runner::{Events, MEASURE, Recorder, RunEvent, StopToken, timestamp};
use store::{
    CellRecord, CellResult, HostRecord, MADE_BY, RunMaker, RunRecord, State, Store, StoreError, Validity,
    Verdict,
};

use crate::error::CheckError;

/// The record of a run that starts now; `facts` are added to the environment that every run has.
pub fn record(
    maker: RunMaker,
    id: &str,
    plan: Plan,
    started: Timestamp,
    mut facts: Vec<(&str, String)>,
    command: &str,
) -> RunRecord {
    facts.push((MADE_BY, maker.command().to_owned()));
    RunRecord {
        id: id.to_owned(),
        name: plan.name.clone(),
        started,
        finished: None,
        state: State::Running,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan,
        environment: host::environment::capture(&facts, command),
        hosts: Vec::new(),
    }
}

/// Stores a run as it goes on, and reports its intervals and cells. Without a results file, nothing is stored.
pub struct StoredRun {
    recorder: Option<Recorder>,
    path: PathBuf,
    id: String,
    maker: RunMaker,
    events: Arc<dyn Events>,
}

impl StoredRun {
    /// Stores the run, with all of its cells pending.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(
        store: Option<Store>,
        maker: RunMaker,
        record: &RunRecord,
        events: &Arc<dyn Events>,
    ) -> Result<Self, CheckError> {
        let (id, events) = (record.id.clone(), Arc::clone(events));
        let mut run = Self { recorder: None, path: PathBuf::new(), id, maker, events };
        if let Some(store) = store {
            run.path = store.path().to_path_buf();
            store.begin_run(record)?;
            run.recorder = Some(Recorder::new(store, &record.id)?);
        }
        Ok(run)
    }

    /// Stores the participating hosts.
    pub fn hosts(&mut self, hosts: &[HostRecord]) {
        self.recorder.iter_mut().for_each(|recorder| recorder.hosts(hosts));
    }

    /// Starts a cell; returns the start time.
    pub fn begin_cell(&mut self, cell: u32) -> Timestamp {
        let now = timestamp::now();
        self.recorder.iter_mut().for_each(|recorder| recorder.begin_cell(cell, now));
        now
    }

    /// Stores the next interval of a cell's measurement.
    pub fn interval(&mut self, cell: u32, interval: &Interval) {
        self.events.event(RunEvent::Interval { cell, stage: MEASURE, trial: 0, interval });
        if let Some(recorder) = &mut self.recorder {
            recorder.interval(cell, MEASURE, 0, interval);
        }
    }

    /// Stores a sample of a host; `at_ns` counts from the start of the cell's measured window.
    pub fn sample(&mut self, cell: u32, host: &str, at_ns: u64, sample: &HostSample) {
        self.recorder.iter_mut().for_each(|recorder| recorder.sample(cell, host, at_ns, sample));
    }

    /// Stores a cell's record. A later record of the same cell replaces it.
    pub fn finish_cell(&mut self, record: &CellRecord) {
        self.events.event(RunEvent::CellEnded(record));
        self.recorder.iter_mut().for_each(|recorder| recorder.finish_cell(record));
    }

    /// Stores environment facts that are known only now.
    pub fn facts(&mut self, facts: &[(String, String)]) {
        self.recorder.iter_mut().for_each(|recorder| recorder.facts(facts));
    }

    /// Stores an event.
    pub fn event(&mut self, kind: &str, text: &str) {
        self.recorder.iter_mut().for_each(|recorder| recorder.event(None, kind, text));
    }

    /// Ends the run, complete or stopped. Reports where it is stored.
    pub fn finish(mut self, stop: &StopToken) {
        let state = match stop.reason() {
            Some(reason) => {
                self.event("signal", &format!("stopped early by {}", reason.name()));
                State::Interrupted
            }
            None => State::Finished,
        };
        self.end(state);
    }

    /// Ends a run that failed or is incomplete, with the reason. Reports where it is stored.
    pub fn fail(mut self, error: &CheckError, stop: &StopToken) {
        if stop.is_requested() {
            return self.finish(stop);
        }
        self.event("error", &error.to_string());
        self.end(State::Failed);
    }

    fn end(self, state: State) {
        let (id, path, noun) = (self.id.clone(), self.path.clone(), self.maker.noun());
        let events = Arc::clone(&self.events);
        match self.close(state) {
            Ok(true) => events.note(&format!("kept as run {id} in {}", path.display())),
            Ok(false) => {}
            Err(why) => events.warn(&format!("the {noun} is not kept as a whole: {why}")),
        }
    }

    /// Ends the run; `false` if nothing is stored. An error says what could not be written, now or before.
    fn close(self, state: State) -> Result<bool, StoreError> {
        let Some(mut recorder) = self.recorder else { return Ok(false) };
        recorder.finish_run(state);
        recorder.into_failure().map_or(Ok(true), Err)
    }
}

/// Stores a run that failed entirely, with the reason. Reports nothing unless it cannot be stored.
pub fn keep_failure(
    store: Option<Store>,
    maker: RunMaker,
    record: &RunRecord,
    error: &CheckError,
    stop: &StopToken,
    events: &Arc<dyn Events>,
) {
    let state = if stop.is_requested() { State::Interrupted } else { State::Failed };
    let kept = StoredRun::begin(store, maker, record, events).and_then(|mut run| {
        run.event("error", &error.to_string());
        Ok(run.close(state)?)
    });
    if let Err(why) = kept {
        events.warn(&format!("the {} is not kept: {why}", maker.noun()));
    }
}

/// The verdict on the figures: INVALID with a fault, WARN with doubts.
pub fn judged(result: &CellResult, stopped: bool, fault: Option<String>, doubts: &[String]) -> Verdict {
    let cut = format!("interrupted after {:.1} s: the figures cover the time until then", result.measured_s);
    let mut reasons: Vec<String> = fault.into_iter().chain(stopped.then_some(cut)).collect();
    let doubts: Vec<String> = doubts.iter().cloned().chain(runner::uncertain(&result.total)).collect();
    let validity = match (reasons.is_empty(), doubts.is_empty()) {
        (false, _) => Validity::Invalid,
        (true, false) => Validity::Warn,
        (true, true) => Validity::Valid,
    };
    reasons.extend(doubts);
    Verdict { validity, reasons }
}
