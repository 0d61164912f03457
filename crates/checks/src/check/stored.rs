//! A check in the results file: a run whose cells are the phases of its rows.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::StageResult;
use experiment::Plan;
use fleet::probe::HostSample;
use jiff::Timestamp;
use metrics::Interval;
use runner::bottleneck::own_host;
use runner::{MEASURE, Recorder, timestamp};
use stats::{SteadyOutcome, WindowSums};
use store::{CellRecord, CellResult, Environment, ErrorSample, RunRecord, State, Store, Validity, Verdict};

use super::request::{CheckRequest, CheckSource};
use super::row::{CheckPhase, CheckRow, PhaseFigures, RowOutcome};
use crate::error::CheckError;
use crate::reactor_facts::ReactorFacts;

/// What made the run, in its environment.
const NAME: &str = "check";
/// Details of errors that are kept.
const EXAMPLES: usize = 8;

/// Opens the results file of a check before anything is made. A demonstration has none unless one is named.
///
/// # Errors
/// It cannot be written.
pub fn open(request: &CheckRequest) -> Result<Option<Store>, CheckError> {
    let path = match (&request.results, &request.source) {
        (Some(path), _) => path.clone(),
        (None, CheckSource::Demo) => return Ok(None),
        (None, _) => usage(store::default_path())?,
    };
    usage(Store::open(&path)).map(Some)
}

fn usage<T>(done: Result<T, store::StoreError>) -> Result<T, CheckError> {
    done.map_err(|error| CheckError::Usage(error.to_string()))
}

/// The run that a check is.
pub fn record(id: &str, plan: Plan, started: Timestamp, reactor: &ReactorFacts, command: &str) -> RunRecord {
    let mut facts = vec![("reactor", reactor.backend.to_owned()), (runner::MADE_BY, NAME.to_owned())];
    facts.extend(reactor.refusal.iter().map(|refusal| ("reactor.refusal", refusal.clone())));
    let environment: Environment = host::environment::capture(&facts, command);
    RunRecord {
        id: id.to_owned(),
        name: plan.name.clone(),
        started,
        finished: None,
        state: State::Running,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan,
        environment,
        hosts: Vec::new(),
    }
}

/// Keeps a check as it goes on. Of a check without a results file nothing is kept.
#[derive(Default)]
pub struct StoredCheck {
    recorder: Option<Recorder>,
    path: Option<PathBuf>,
    /// Number of the row under way.
    row: u32,
    /// Its phases.
    phases: [StoredPhase; 2],
    /// What is said of its target.
    facts: BTreeMap<String, String>,
    /// What this host calls itself.
    host: String,
}

/// A phase of the row under way.
#[derive(Default)]
struct StoredPhase {
    started: Option<Timestamp>,
    /// What was measured, and whether a stop ended it.
    measured: Option<(CellResult, bool)>,
    fault: Option<String>,
}

impl StoredCheck {
    /// Keeps the run, with all of its cells pending.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(store: Option<Store>, record: &RunRecord) -> Result<Self, CheckError> {
        let Some(store) = store else { return Ok(Self::default()) };
        let path = Some(store.path().to_path_buf());
        let failure = |error: store::StoreError| CheckError::Failure(error.to_string());
        store.begin_run(record).map_err(failure)?;
        let recorder = Some(Recorder::new(store, &record.id).map_err(failure)?);
        Ok(Self { recorder, path, host: own_host(), ..Self::default() })
    }

    /// The next row begins.
    pub fn begin_row(&mut self, number: u32) {
        self.row = number;
        self.phases = <[StoredPhase; 2]>::default();
        self.facts.clear();
    }

    /// A phase of the row begins.
    pub fn begin_phase(&mut self, phase: CheckPhase) {
        let now = timestamp::now();
        self.phases[phase as usize].started = Some(now);
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_cell(phase.cell(self.row), now);
        }
    }

    /// A second of a phase.
    pub fn interval(&mut self, phase: CheckPhase, interval: &Interval) {
        if let Some(recorder) = &mut self.recorder {
            recorder.interval(phase.cell(self.row), MEASURE, 0, interval);
        }
    }

    /// What this host did meanwhile; `at_ns` since the measured window of the phase began.
    pub fn sample(&mut self, phase: CheckPhase, at_ns: u64, sample: &HostSample) {
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(phase.cell(self.row), &self.host, at_ns, sample);
        }
    }

    /// What is to be said of the row's target.
    pub fn target_facts(&mut self, facts: &BTreeMap<String, String>) {
        self.facts.clone_from(facts);
    }

    /// A phase is over; it is judged with the row.
    pub fn end_phase(&mut self, phase: CheckPhase, result: CellResult, stopped: bool) {
        self.phases[phase as usize].measured = Some((result, stopped));
    }

    /// What is wrong with a phase that ran.
    pub fn fault(&mut self, phase: CheckPhase, fault: &str) {
        self.phases[phase as usize].fault = Some(fault.to_owned());
    }

    /// A row is over: its cells are.
    pub fn end_row(&mut self, row: &CheckRow) {
        for phase in CheckPhase::ALL {
            let mut stored = std::mem::take(&mut self.phases[phase as usize]);
            if let Some((result, _)) = &mut stored.measured {
                let known = std::mem::replace(&mut result.target, self.facts.clone());
                result.target.extend(known);
            }
            let index = phase.cell(self.row);
            if let (Some(record), Some(recorder)) = (cell_record(index, stored, row), &mut self.recorder) {
                recorder.finish_cell(&record);
            }
        }
        for warning in &row.warnings {
            self.event("warning", &format!("{}: {warning}", row.label()));
        }
        if let Some(cause) = &row.cause {
            self.event("error", &format!("{}: {}: {cause}", row.label(), row.outcome.words()));
        }
    }

    /// Keeps what happened.
    pub fn event(&mut self, kind: &str, text: &str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(None, kind, text);
        }
    }

    /// The check is over. The file, if there is one.
    ///
    /// # Errors
    /// Results could not be kept.
    pub fn finish(self, state: State) -> Result<Option<PathBuf>, String> {
        let Some(mut recorder) = self.recorder else { return Ok(None) };
        recorder.finish_run(state);
        recorder.failure().map_or(Ok(self.path), Err)
    }
}

/// What became of a cell; `None` when it was not begun because the check ended before.
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

/// May the figures be used?
fn judged(result: &CellResult, stopped: bool, fault: Option<String>, warnings: &[String]) -> Verdict {
    let cut = format!(
        "interrupted after {:.1} s: the figures are of what was measured until then",
        result.measured_s
    );
    let mut reasons: Vec<String> = fault.into_iter().chain(stopped.then_some(cut)).collect();
    let doubts: Vec<String> = warnings.iter().cloned().chain(runner::uncertain(&result.total)).collect();
    let validity = match (reasons.is_empty(), doubts.is_empty()) {
        (false, _) => Validity::Invalid,
        (true, false) => Validity::Warn,
        (true, true) => Validity::Valid,
    };
    reasons.extend(doubts);
    Verdict { validity, reasons }
}

/// What a phase measured, as a run keeps it. It is not judged yet.
pub fn cell_result(
    result: &StageResult,
    figures: &PhaseFigures,
    sums: WindowSums,
    steady: SteadyOutcome,
    ramp_s: f64,
) -> CellResult {
    let window_s = result.window_ns as f64 / 1e9;
    let reported = sums.finish(None);
    let samples = result.error_samples.iter().take(EXAMPLES);
    CellResult {
        measured_s: window_s,
        window_start_s: 0.0,
        window_end_s: window_s,
        steady,
        total: reported.total.summary,
        ops: reported.ops.into_iter().map(|figure| figure.summary).collect(),
        open_loop: None,
        stages: vec![runner::warm_up_record(ramp_s, result), runner::stage_record(MEASURE, result)],
        gates: Vec::new(),
        verdict: Verdict { validity: Validity::Valid, reasons: Vec::new() },
        error_samples: samples
            .map(|(kind, detail)| ErrorSample { kind: *kind, detail: detail.clone() })
            .collect(),
        cache: "kept".to_owned(),
        client: client(result, figures),
        target: target(result, figures),
        points: Vec::new(),
        found_ops_per_s: None,
        hosts: Vec::new(),
        fleet: None,
        paths: result.paths.clone(),
        limit: figures.limit.clone().map(Box::new),
    }
}

fn client(result: &StageResult, figures: &PhaseFigures) -> BTreeMap<String, f64> {
    let mut client = runner::stage_facts(result);
    if let Some(busiest) = figures.client.busiest() {
        let cores = &figures.client.cores;
        let mean = cores.iter().map(|core| core.busy).sum::<f64>() / cores.len() as f64;
        let known =
            [("cpu.busiest", busiest.busy), ("cpu.mean", mean), ("cpu.steal", figures.client.steal())];
        client.extend(known.map(|(name, value)| (name.to_owned(), value)));
    }
    client
}

fn target(result: &StageResult, figures: &PhaseFigures) -> BTreeMap<String, String> {
    let mut target = BTreeMap::new();
    let mut keep = |name: &str, value: String| target.insert(name.to_owned(), value);
    keep("reactor", if result.backend == reactor::Backend::Epoll { "epoll" } else { "io_uring" }.to_owned());
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
