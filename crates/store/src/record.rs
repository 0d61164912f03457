//! What is kept of a run. These values are the machine output too: `export` and `report` show them as they are.

use std::collections::BTreeMap;

use experiment::Plan;
use jiff::Timestamp;
use metrics::{ErrorKind, Interval, LatencySummary, PathFacts};
use serde::{Deserialize, Serialize};
use stats::{OpSummary, SteadyOutcome};

use crate::fleet::{FleetFigures, HostRecord, HostResult};

/// The fact of a run's environment that names the command which made it, where that was not an experiment's.
pub const MADE_BY: &str = "manometer.made-by";

/// How far a run or a cell has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not begun.
    Pending,
    /// Begun; after a crash this is what is found.
    Running,
    /// To its end.
    Finished,
    /// Ended by the user before its end.
    Interrupted,
    /// It could not be run.
    Failed,
}

/// A run: an experiment, carried out once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its name in `list`, `show`, `report`, `compare`: eight characters, as in names of what it creates.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How far it came.
    pub state: State,
    /// The version of manometer.
    pub version: String,
    /// The whole plan.
    pub plan: Plan,
    /// The client and what it was connected to.
    pub environment: Environment,
    /// The hosts of a fleet; none where one host alone carries it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
}

impl RunRecord {
    /// What the plan says of a cell.
    pub fn planned(&self, index: u32) -> Option<&experiment::Cell> {
        self.plan.cells.iter().find(|cell| cell.index == index)
    }
}

/// The client: whatever may explain a number later. Names are stable, values are texts as the system gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `kernel`, `cpu.model`, `cpu.online`, `memory.bytes`, `nic.eth0.speed`, `reactor`, `mount./mnt`, …
    pub facts: BTreeMap<String, String>,
}

/// A cell and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its place in the plan.
    pub index: u32,
    /// How far it came.
    pub state: State,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// What was measured.
    pub result: Option<CellResult>,
    /// Why it could not be run, in one line.
    pub failure: Option<String>,
}

/// What a cell measured. All figures are of the reported window unless their names say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Length of the whole measurement, in seconds.
    pub measured_s: f64,
    /// The reported window, in seconds since the measurement began.
    pub window_start_s: f64,
    /// Its end.
    pub window_end_s: f64,
    /// The rule's decision.
    pub steady: SteadyOutcome,
    /// All operations together.
    pub total: OpSummary,
    /// Each operation.
    pub ops: Vec<OpSummary>,
    /// With a rate: how the schedule was kept.
    pub open_loop: Option<OpenLoop>,
    /// The stages, in order.
    pub stages: Vec<StageRecord>,
    /// The gates.
    pub gates: Vec<GateResult>,
    /// May the figures be used?
    pub verdict: Verdict,
    /// A few details of each kind of error.
    pub error_samples: Vec<ErrorSample>,
    /// What was really done to the caches: `kept`, `invalidated`, `dropped`, or why not.
    pub cache: String,
    /// The client while it measured: `cpu.busiest`, `cpu.workers`, `nic.…`, as shares 0 to 1 or counts.
    pub client: BTreeMap<String, f64>,
    /// The target, as its driver knows it: `filesystem`, `direct`, `connections`, `rtmax.bytes`, …
    pub target: BTreeMap<String, String>,
    /// The points of a search or sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<StudyPoint>,
    /// What a search found, in operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_ops_per_s: Option<f64>,
    /// The hosts of a fleet, in its order; none where one host alone measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// How even they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFigures>,
    /// What each path to a server carried in the measured window; of a fleet the hosts have their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
    /// What held it back, on what evidence, and what to try next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<stats::limit::Bottleneck>>,
}

/// How a schedule was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Operations a second that were meant to start, over the whole measurement.
    pub offered_ops_per_s: f64,
    /// Operations that began later than intended by more than 1 ms.
    pub late_starts: u64,
    /// The most operations that waited for a lane at once.
    pub deepest_backlog: u64,
    /// Operations that were given up because the backlog was full.
    pub shed: u64,
    /// Operations that were meant to start and had not when the measurement ended.
    pub missed_starts: u64,
}

/// A stage of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// `prepare`, `warm-up`, `measure`, `verify`, `clean-up`.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
    /// Operations that ended well.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// One line, when there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl StageRecord {
    /// A stage that took so long, in which nothing was done yet.
    pub fn new(name: &str, seconds: f64) -> Self {
        StageRecord { name: name.to_owned(), seconds, ok: 0, failed: 0, bytes: 0, note: None }
    }

    /// The same with what was counted in it.
    #[must_use]
    pub fn counting(self, total: &Interval) -> Self {
        StageRecord { ok: total.ok(), failed: total.failed(), bytes: total.bytes(), ..self }
    }
}

/// A gate and what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// As written in the file.
    pub text: String,
    /// In the unit of the limit.
    pub measured: f64,
    /// The limit.
    pub limit: f64,
    /// It holds.
    pub passed: bool,
}

/// May the figures be used?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Validity {
    /// Yes.
    Valid,
    /// With what the reasons say in mind.
    Warn,
    /// No.
    Invalid,
}

/// The judgement of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// In a word.
    pub validity: Validity,
    /// Why, worst first; each one line.
    pub reasons: Vec<String>,
}

/// An error as an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSample {
    /// Its kind.
    pub kind: ErrorKind,
    /// What happened.
    pub detail: String,
}

/// One rate of a search or sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPoint {
    /// Operations a second that were offered; 0 in a closed loop.
    pub offered_ops_per_s: f64,
    /// Operations a second that were done.
    pub ops_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Response times.
    pub response: LatencySummary,
    /// The deepest backlog.
    pub deepest_backlog: u64,
    /// The goal held here.
    pub held: bool,
}

/// What happened, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// In which cell.
    pub cell: Option<u32>,
    /// `stage`, `error`, `stall`, `signal`, `resume`, `warning`.
    pub kind: String,
    /// One line.
    pub text: String,
}
