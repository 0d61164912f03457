//! What is stored about a run. These values are also the machine-readable output: `export` and `report` show them
//! unchanged.

use std::collections::BTreeMap;

use experiment::Plan;
use jiff::Timestamp;
use metrics::{ErrorKind, Interval, LatencySummary, PathFacts};
use serde::{Deserialize, Serialize};
use stats::{OpSummary, SteadyOutcome};

use crate::fleet::{FleetFigures, HostRecord, HostResult};
use crate::server_calls::{self, ServerCalls};

/// Environment fact that names the command behind a run without an experiment.
pub const MADE_BY: &str = "manometer.made-by";

/// Progress of a run or a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not started.
    Pending,
    /// Started; also the state found after a crash.
    Running,
    /// Completed.
    Finished,
    /// Ended early by the user.
    Interrupted,
    /// It could not run.
    Failed,
}

/// A run: one execution of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its id in `list`, `show`, `report`, `compare`: eight characters, also part of the names of what it creates.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How far it got.
    pub state: State,
    /// The version of manometer.
    pub version: String,
    /// The whole plan.
    pub plan: Plan,
    /// The client and what it was connected to.
    pub environment: Environment,
    /// The hosts of a fleet; empty if one host executes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRecord>,
}

impl RunRecord {
    /// A cell as planned.
    pub fn planned(&self, index: u32) -> Option<&experiment::Cell> {
        self.plan.cells.iter().find(|cell| cell.index == index)
    }
}

/// The client: facts that may explain a number later. Names are stable, values are texts as the system reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `kernel`, `cpu.model`, `cpu.online`, `memory.bytes`, `nic.eth0.speed`, `reactor`, `mount./mnt`, …
    pub facts: BTreeMap<String, String>,
}

/// A cell and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its index in the plan.
    pub index: u32,
    /// How far it got.
    pub state: State,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// What was measured.
    pub result: Option<CellResult>,
    /// Why it could not run, in one line.
    pub failure: Option<String>,
}

/// The result of a cell. All figures cover the reported window unless their names say otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Length of the whole measurement, in seconds.
    pub measured_s: f64,
    /// The reported window, in seconds since the measurement began.
    pub window_start_s: f64,
    /// Its end.
    pub window_end_s: f64,
    /// The rule's result.
    pub steady: SteadyOutcome,
    /// All operations together.
    pub total: OpSummary,
    /// Each operation.
    pub ops: Vec<OpSummary>,
    /// With a rate: how well the schedule was kept.
    pub open_loop: Option<OpenLoop>,
    /// The stages, in order.
    pub stages: Vec<StageRecord>,
    /// The gates.
    pub gates: Vec<GateResult>,
    /// Whether the figures are usable.
    pub verdict: Verdict,
    /// A few details of each kind of error.
    pub error_samples: Vec<ErrorSample>,
    /// What was really done to the caches: `kept`, `invalidated`, `dropped`, or why nothing was.
    pub cache: String,
    /// The client during the measurement: `cpu.busiest`, `cpu.workers`, `nic.…`, as shares from 0 to 1 or as counts.
    pub client: BTreeMap<String, f64>,
    /// The target, as its driver describes it: `filesystem`, `direct`, `connections`, `rtmax.bytes`, …
    pub target: BTreeMap<String, String>,
    /// The points of a search or sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<StudyPoint>,
    /// The rate that a search found, in operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_ops_per_s: Option<f64>,
    /// The hosts of a fleet, in fleet order; empty if one host measured alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostResult>,
    /// How evenly they performed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetFigures>,
    /// What each path to a server carried in the measured window; in a fleet each host has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
    /// What limited it, with the evidence and what to try next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<stats::limit::Bottleneck>>,
    /// What the measurement cost on the server, as the NFS mount of a `file:` target and the target's accounting count
    /// it.
    #[serde(
        default,
        alias = "mount_rpcs",
        deserialize_with = "server_calls::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub server_calls: Vec<ServerCalls>,
}

/// How well a schedule was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Operations per second that should have started, over the whole measurement.
    pub offered_ops_per_s: f64,
    /// Operations that started more than 1 ms later than intended.
    pub late_starts: u64,
    /// Maximum number of operations waiting for a lane at once.
    pub deepest_backlog: u64,
    /// Operations dropped because the backlog was full.
    pub shed: u64,
    /// Operations that should have started but had not when the measurement ended.
    pub missed_starts: u64,
}

/// A stage of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRecord {
    /// `prepare`, `warm-up`, `measure`, `verify`, `clean-up`.
    pub name: String,
    /// Its duration, in seconds.
    pub seconds: f64,
    /// Successful operations.
    pub ok: u64,
    /// Failed operations.
    pub failed: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// A remark of one line, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl StageRecord {
    /// A stage of this length, in which nothing was done yet.
    pub fn new(name: &str, seconds: f64) -> Self {
        StageRecord { name: name.to_owned(), seconds, ok: 0, failed: 0, bytes: 0, note: None }
    }

    /// The same stage with these counts.
    #[must_use]
    pub fn counting(self, total: &Interval) -> Self {
        StageRecord { ok: total.ok(), failed: total.failed(), bytes: total.bytes(), ..self }
    }
}

/// A gate and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// As written in the experiment file.
    pub text: String,
    /// In the unit of the limit.
    pub measured: f64,
    /// The limit.
    pub limit: f64,
    /// Whether it passed.
    pub passed: bool,
}

/// Whether the figures are usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Validity {
    /// Yes.
    Valid,
    /// Yes, but mind the reasons.
    Warn,
    /// No.
    Invalid,
}

/// The verdict of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict in a word.
    pub validity: Validity,
    /// The reasons, worst first, one per line.
    pub reasons: Vec<String>,
}

/// An example error.
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
    /// Offered operations per second; 0 in a closed loop.
    pub offered_ops_per_s: f64,
    /// Operations per second actually done.
    pub ops_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Response times.
    pub response: LatencySummary,
    /// Maximum backlog.
    pub deepest_backlog: u64,
    /// Whether the goal held here.
    pub held: bool,
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time.
    pub at: Timestamp,
    /// The cell, if it concerns one.
    pub cell: Option<u32>,
    /// `stage`, `error`, `stall`, `signal`, `resume`, `warning`.
    pub kind: String,
    /// One line.
    pub text: String,
}
