//! A check in the results file: a run whose cells are the phases of its rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use experiment::Plan;
use fleet::probe::HostSample;
use jiff::Timestamp;
use metrics::Interval;
use runner::bottleneck::own_host;
use runner::{Events, StopToken, timestamp};
use stats::limit::Bottleneck;
use store::{CellRecord, CellResult, RunMaker, RunRecord, State, Store};

use super::request::{CheckRequest, CheckSource};
use super::row::{CheckPhase, CheckRow, PhaseFigures, RowOutcome};
use crate::cell_measure::CellMeasure;
use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;
use crate::stored::{self, StoredRun, judged};

/// Opens the results file of a check before anything is created. A demonstration has none unless one is named.
///
/// # Errors
/// It cannot be written.
pub fn open(request: &CheckRequest) -> Result<Option<Store>, CheckError> {
    match request.source {
        CheckSource::Demo if !request.record.is_named() => Ok(None),
        _ => request.record.open().map(Some),
    }
}

/// The run record of a check.
pub fn record(id: &str, plan: Plan, started: Timestamp, reactor: &ReactorFacts, command: &str) -> RunRecord {
    stored::record(RunMaker::Check, id, plan, started, reactor.facts(), command)
}

/// Stores a check as it goes on. Without a results file, nothing is stored.
pub struct StoredCheck {
    run: StoredRun,
    /// Number of the current row.
    row: u32,
    /// Its phases.
    phases: [StoredPhase; 2],
    /// Facts about its target.
    facts: BTreeMap<String, String>,
    /// This host's name.
    host: String,
}

/// A phase of the current row.
#[derive(Default)]
struct StoredPhase {
    started: Option<Timestamp>,
    /// What was measured, and whether a stop ended it.
    measured: Option<(CellResult, bool)>,
    fault: Option<String>,
}

impl StoredCheck {
    /// Stores the run, with all of its cells pending.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(
        store: Option<Store>,
        record: &RunRecord,
        events: &Arc<dyn Events>,
    ) -> Result<Self, CheckError> {
        let run = StoredRun::begin(store, RunMaker::Check, record, events)?;
        let phases = <[StoredPhase; 2]>::default();
        Ok(Self { run, row: 0, phases, facts: BTreeMap::new(), host: own_host() })
    }

    /// Starts the next row.
    pub fn begin_row(&mut self, number: u32) {
        self.row = number;
        self.phases = <[StoredPhase; 2]>::default();
        self.facts.clear();
    }

    /// Starts a phase of the row.
    pub fn begin_phase(&mut self, phase: CheckPhase) {
        self.phases[phase as usize].started = Some(self.run.begin_cell(phase.cell(self.row)));
    }

    /// Stores a second of a phase.
    pub fn interval(&mut self, phase: CheckPhase, interval: &Interval) {
        self.run.interval(phase.cell(self.row), interval);
    }

    /// Stores a sample of this host; `at_ns` counts from the start of the phase's measured window.
    pub fn sample(&mut self, phase: CheckPhase, at_ns: u64, sample: &HostSample) {
        self.run.sample(phase.cell(self.row), &self.host, at_ns, sample);
    }

    /// Sets the facts about the row's target.
    pub fn target_facts(&mut self, facts: &BTreeMap<String, String>) {
        self.facts.clone_from(facts);
    }

    /// Ends a phase; it is judged with the row.
    pub fn end_phase(&mut self, phase: CheckPhase, result: CellResult, stopped: bool) {
        self.phases[phase as usize].measured = Some((result, stopped));
    }

    /// Sets what limited a phase that ran.
    pub fn limit(&mut self, phase: CheckPhase, limit: &Bottleneck) {
        if let Some((result, _)) = &mut self.phases[phase as usize].measured {
            result.limit = Some(Box::new(limit.clone()));
        }
    }

    /// Records a fault of a phase that ran.
    pub fn fault(&mut self, phase: CheckPhase, fault: &str) {
        self.phases[phase as usize].fault = Some(fault.to_owned());
    }

    /// Ends a row and its cells.
    pub fn end_row(&mut self, row: &CheckRow) {
        for phase in CheckPhase::ALL {
            let mut stored = std::mem::take(&mut self.phases[phase as usize]);
            if let Some((result, _)) = &mut stored.measured {
                let known = std::mem::replace(&mut result.target, self.facts.clone());
                result.target.extend(known);
            }
            let index = phase.cell(self.row);
            if let Some(record) = cell_record(index, stored, row) {
                self.run.finish_cell(&record);
            }
        }
        for warning in &row.warnings {
            self.event("warning", &format!("{}: {warning}", row.label()));
        }
        if let Some(cause) = &row.cause {
            self.event("error", &format!("{}: {}: {cause}", row.label(), row.outcome.words()));
        }
    }

    /// Stores an event.
    pub fn event(&mut self, kind: &str, text: &str) {
        self.run.event(kind, text);
    }

    /// Ends the check. Reports where it is stored.
    pub fn finish(self, stop: &StopToken) {
        self.run.finish(stop);
    }
}

/// The record of a cell; `None` if it did not start because the check ended first.
fn cell_record(index: u32, phase: StoredPhase, row: &CheckRow) -> Option<CellRecord> {
    let interrupted = row.outcome == RowOutcome::Interrupted;
    let (state, result) = match phase.measured {
        Some((mut result, stopped)) => {
            result.verdict = judged(&result, stopped, phase.fault, &row.warnings);
            (if stopped { State::Interrupted } else { State::Finished }, Some(result))
        }
        None if interrupted && phase.started.is_none() => return None,
        None if interrupted => (State::Interrupted, None),
        None => (State::Failed, None),
    };
    let failure = row.cause.clone().filter(|_| state == State::Failed);
    Some(CellRecord {
        index,
        state,
        started: phase.started,
        finished: Some(timestamp::now()),
        result,
        failure,
    })
}

/// The result of a phase as a run stores it, not judged yet.
pub fn cell_result(measure: CellMeasure, figures: &PhaseFigures) -> CellResult {
    let mut kept = measure.finish();
    kept.client.extend(client(figures));
    kept.target.extend(target(figures));
    kept.limit = figures.limit.clone().map(Box::new);
    kept
}

fn client(figures: &PhaseFigures) -> BTreeMap<String, f64> {
    let Some(busiest) = figures.client.busiest() else { return BTreeMap::new() };
    let cores = &figures.client.cores;
    let mean = cores.iter().map(|core| core.busy).sum::<f64>() / cores.len() as f64;
    let known = [("cpu.busiest", busiest.busy), ("cpu.mean", mean), ("cpu.steal", figures.client.steal())];
    known.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn target(figures: &PhaseFigures) -> BTreeMap<String, String> {
    let mut target = BTreeMap::new();
    let mut keep = |name: &str, value: String| target.insert(name.to_owned(), value);
    keep("connections", figures.connections.to_string());
    if figures.mss_bytes > 0 {
        keep("mss.bytes", figures.mss_bytes.to_string());
    }
    if let Some(nic) = &figures.client.nic {
        keep("nic", nic.name.clone());
        nic.speed_mbit.map(|speed| keep("nic.speed", format!("{speed} Mbit/s")));
        nic.mtu.map(|mtu| keep("nic.mtu", mtu.to_string()));
    }
    target
}
