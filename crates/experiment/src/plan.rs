//! What is to be run, validated and fully expanded: every cell holds all that it needs.
//!
//! A plan is a value: it is stored with the results, compared, resumed and printed by `--dry-run`.

use std::collections::BTreeMap;

use metrics::OpKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fleet::Fleet;
use crate::job::is_default;
use crate::kind::TargetKind;
use crate::load::Workload;
use crate::option::OptionValue;

/// A whole experiment: cells in the order in which they run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name, from the file or its file name.
    pub name: String,
    /// What it is for, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Seed of everything random: order of cells, accesses, arrivals, payload.
    pub seed: u64,
    /// Where the results go unless the command line says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// The hosts that carry it out; `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// The cells, in the order in which they run.
    pub cells: Vec<Cell>,
}

/// One point of the matrix, with everything that is needed to run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its place in the order of running, from 0.
    pub index: u32,
    /// For people: workload and point, `randread block_size=4KiB queue_depth=32 repetition=2`.
    pub name: String,
    /// The workload's name in the file.
    pub workload_name: String,
    /// The crossed parameters and this cell's values as texts, without the repetition: the same in two runs means
    /// that their cells are compared.
    pub point: BTreeMap<String, String>,
    /// Which repetition of the same point, from 1.
    pub repetition: u32,
    /// What is loaded.
    pub target: Target,
    /// What is done to it.
    pub workload: Workload,
    /// The stages around the measurement.
    pub stages: Stages,
    /// When the measurement may end.
    pub steady: SteadyRule,
    /// What must hold for success.
    pub gates: Vec<Gate>,
    /// What happens to the caches before the cell.
    pub cache: CacheControl,
    /// What happens when operations fail.
    pub errors: ErrorPolicy,
    /// Not one measurement but several, at different rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
    /// It runs at the same time as the other cells of its group, which stand next to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<ConcurrentCells>,
    /// This many agents of the fleet work on it, the first ones; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
}

/// Cells that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcurrentCells {
    /// The group's number; groups run one after the other.
    pub number: u32,
    /// When this cell ends, the others of the group end too (`exitall`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends_group: bool,
    /// And the groups after it are not run (`exit_what=all`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends_run: bool,
    /// It begins when that cell (by its index) has ended (`wait_for`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub after_cell: Option<u32>,
    /// Cells with the same number here are shown as one in fio's output (`group_reporting`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub report: Option<u32>,
}

/// What is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The target's name in the file.
    pub name: String,
    /// As written: `file:///mnt/data`, `block:///dev/nvme0n1`, `nfs://host/export`, `s3://bucket?endpoint=…`,
    /// `tcp://host:port`, `null:`, `sim:?latency=1ms`. Holds no secret.
    pub url: String,
    /// Options of the target's kind, by name, as texts: `direct: "true"`, `connections: "4"`, `engine: "uring"`.
    /// Which there are is said by its [`TargetKind`](crate::TargetKind).
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl Target {
    /// An option's text: as the file gives it, else from the URL's query.
    pub fn option(&self, name: &str) -> Option<&str> {
        let in_url = || {
            let (_, query) = self.url.split_once('?')?;
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)
        };
        self.options.get(name).map(String::as_str).or_else(|| in_url().map(|(_, value)| value))
    }

    /// A flag as the option's reader has it, or its default.
    pub fn flag(&self, kind: &TargetKind, name: &str) -> bool {
        let Some(help) = kind.option(name) else { return false };
        let value = help.read(self.option(name).unwrap_or(help.default));
        value == Ok(OptionValue::Flag(true))
    }

    /// Which place's data it is: two targets of one URL share a place, unless their `directory` differs.
    pub fn place(&self) -> String {
        match self.options.get("directory") {
            Some(directory) => format!("{} directory {directory}", self.url),
            None => self.url.clone(),
        }
    }
}

/// An operation and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightedOp {
    /// The operation.
    pub op: OpKind,
    /// Above 0 and at most 1.
    pub weight: f64,
}

/// A block size and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeightedSize {
    /// In bytes.
    pub bytes: u64,
    /// Above 0 and at most 1.
    pub weight: f64,
}

/// The order in which blocks or objects are visited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One after the other; each lane begins at a place of its own.
    Sequential,
    /// By chance, each block as likely as any other.
    Random,
    /// By chance, but each block once before any comes again (a keyed permutation, no list).
    Shuffled,
    /// Zipf: the k-th most popular block is drawn in proportion to `1 / k^theta`.
    Zipf {
        /// Above 0; 0.99 is YCSB's.
        theta: f64,
    },
    /// Pareto, as fio defines it: share `h` of the accesses go to the rest when `h` is small (0.2: the 80/20 rule).
    Pareto {
        /// Above 0, below 1.
        h: f64,
    },
    /// A share of the operations goes to a share of the space at its beginning.
    Hotspot {
        /// Share of the operations, 0 to 1.
        ops: f64,
        /// Share of the space, 0 to 1.
        space: f64,
    },
    /// Each access this many bytes after the last, then again from the next block on.
    Strided {
        /// In bytes; a multiple of the block size.
        stride_bytes: u64,
    },
}

impl Arrivals {
    /// The load is the same all the time; otherwise its rate changes as it was written.
    pub fn is_even(&self) -> bool {
        matches!(self, Arrivals::Closed | Arrivals::Constant { .. } | Arrivals::Poisson { .. })
    }
}

/// When operations are meant to start, over all lanes of all jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// As soon as a lane is free.
    Closed,
    /// Evenly spaced.
    Constant {
        /// Operations a second.
        ops_per_s: f64,
    },
    /// Independent of each other: exponentially distributed gaps.
    Poisson {
        /// Operations a second, on average.
        ops_per_s: f64,
    },
    /// A rate that changes evenly, then stays.
    Ramp {
        /// Operations a second at the beginning.
        from_ops_per_s: f64,
        /// Operations a second at the end.
        to_ops_per_s: f64,
        /// In seconds.
        over_s: f64,
    },
    /// One rate after the other; the last stays.
    Steps {
        /// The rates, in order.
        steps: Vec<RateStep>,
    },
    /// A list in time: the rate from each moment on; between 0 and the first moment nothing starts.
    Times {
        /// In order of time.
        times: Vec<RateFrom>,
    },
}

/// A rate for a while.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// Operations a second; 0 is a pause.
    pub ops_per_s: f64,
    /// In seconds.
    pub for_s: f64,
}

/// A rate from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateFrom {
    /// Seconds since the measurement's warm-up began.
    pub at_s: f64,
    /// Operations a second; 0 is a pause.
    pub ops_per_s: f64,
}

/// The stages around a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// How the data set comes to be.
    pub prepare: Prepare,
    /// Load before anything is measured, in seconds.
    pub warm_up_s: f64,
    /// The measurement lasts at least so long, in seconds.
    pub measure_at_least_s: f64,
    /// At least this many bytes must have moved before anything is called steady; 0 no such floor.
    pub measure_at_least_bytes: u64,
    /// The measurement lasts at most so long, in seconds.
    pub measure_at_most_s: f64,
    /// After the measurement everything is read once and compared.
    pub verify: bool,
    /// After the last cell that uses it, the data set is removed.
    pub clean_up: bool,
}

/// How the data set comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// Every byte is written, unless an earlier cell of the run left exactly this data set.
    Fill,
    /// Every byte is written before every cell.
    FillAlways,
    /// Nothing: what is there is used, and must be there in full size.
    Keep,
    /// Nothing at all: for workloads that create what they use.
    None,
}

/// The rule that says when a measurement is steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyRule {
    /// Floors, truncation, checkpoints, effective samples, interval, drift, change points.
    Default(LevelLimits),
    /// The conditions of [`SteadyRule::Default`] over everything since the warm-up, with the drift bounded over a horizon:
    /// the level is claimed for that long.
    Sustained {
        /// How long the level is claimed for, in seconds (600); no measurement is shorter.
        horizon_s: f64,
        /// What a level must keep; drifts are bounded over the horizon.
        #[serde(flatten)]
        limits: LevelLimits,
    },
    /// SNIA SSS PTS 2.0.2: 5 rounds, range 20 %, slope excursion over the window 10 %.
    Snia {
        /// Length of a round in seconds (60).
        round_s: f64,
    },
    /// StorPerf's, for comparison: 10 samples, range 20 %, slope 10 % a sample.
    Storperf {
        /// Length of a sample in seconds (60).
        sample_s: f64,
        /// How many (10).
        samples: u32,
    },
    /// fio's `steadystate`: deviation or slope within a limit over a window.
    Fio {
        /// `iops`, `bw` or `lat`.
        metric: String,
        /// The slope is limited; otherwise the deviation from the mean.
        slope: bool,
        /// Relative (0.003 for `0.3%`).
        limit: f64,
        /// The window, `ss_dur`, in seconds.
        window_s: f64,
    },
    /// None: the measurement lasts `measure_at_least_s`.
    None,
}

/// What a level must keep to be called one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelLimits {
    /// Half-width of the 95 % interval that is good enough, relative.
    pub half_width: f64,
    /// Drift of throughput that is tolerated, relative: over the window, or over the horizon of the rule.
    pub drift: f64,
    /// Drift of p99 that is tolerated, relative.
    pub latency_drift: f64,
    /// Effective samples that are demanded.
    pub effective_samples: f64,
}

impl Default for LevelLimits {
    fn default() -> Self {
        Self { half_width: 0.03, drift: 0.05, latency_drift: 0.10, effective_samples: 30.0 }
    }
}

impl SteadyRule {
    /// Its name, in results and on screens.
    pub fn name(&self) -> &'static str {
        match self {
            SteadyRule::Default(_) => "default",
            SteadyRule::Sustained { .. } => "sustained",
            SteadyRule::Snia { .. } => "snia",
            SteadyRule::Storperf { .. } => "storperf",
            SteadyRule::Fio { .. } => "fio",
            SteadyRule::None => "none",
        }
    }
}

/// A condition on a cell's result, such as `read.bandwidth >= 3 GB/s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// As written.
    pub text: String,
    /// The operation; `None` means all together (`total.bandwidth`).
    pub op: Option<OpKind>,
    /// What is looked at.
    pub metric: GateMetric,
    /// How it is compared.
    pub comparison: GateOperator,
    /// The limit, in bytes a second, operations a second, nanoseconds or errors.
    pub limit: f64,
}

/// What a gate or a search looks at. Latencies are response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateMetric {
    /// Bytes a second.
    Bandwidth,
    /// Successful operations a second (`rate`, `iops`).
    Rate,
    /// Mean response time.
    Mean,
    /// A percentile of the response time, `p99` being 0.99.
    Percentile(f64),
    /// The longest response time.
    Max,
    /// Failed operations.
    Errors,
}

/// How a gate compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateOperator {
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// More than.
    #[serde(rename = ">")]
    Above,
    /// Less than.
    #[serde(rename = "<")]
    Below,
    /// Exactly (`errors == 0`).
    #[serde(rename = "==")]
    Equal,
}

/// What happens to the client's caches before a cell's warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheControl {
    /// Nothing.
    Keep,
    /// The data set's pages are given up (`posix_fadvise(DONTNEED)` after a sync).
    Invalidate,
    /// The kernel drops all clean caches (`/proc/sys/vm/drop_caches`); needs root.
    Drop,
}

/// What happens when operations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorPolicy {
    /// They are counted and the run goes on.
    Continue,
    /// The cell ends at the first error, and the run with it.
    Stop,
    /// The cell ends after this many errors, and the run goes on with the next.
    StopCellAfter(u64),
}

/// Several measurements at different rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// The highest rate at which a condition on latency holds, found by bisection.
    Find {
        /// The condition, such as `p99 <= 2 ms`.
        goal: Gate,
        /// The lowest rate tried, in operations a second.
        from_ops_per_s: f64,
        /// The highest rate tried; 0 means: what a closed loop reaches.
        to_ops_per_s: f64,
        /// The search ends when the bracket is within this share of its rate (0.02).
        tolerance: f64,
        /// Length of each trial, in seconds.
        trial_s: f64,
    },
    /// The latency/throughput curve: one measurement at each rate.
    Sweep {
        /// Operations a second; empty means ten equal steps up to what a closed loop reaches.
        rates_ops_per_s: Vec<f64>,
        /// Length of each point, in seconds.
        point_s: f64,
    },
}
