//! What to run, validated and fully expanded: every cell holds everything it needs.
//!
//! A plan is a value: it is stored with the results, compared, resumed and printed by `--dry-run`.

use std::collections::BTreeMap;

use metrics::OpKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounting::Accounting;
use crate::fleet::Fleet;
use crate::job::is_default;
use crate::kind::TargetKind;
use crate::load::Workload;
use crate::observe::Observe;
use crate::option::OptionValue;
use crate::provision::Provision;
use crate::server_scale::ServerScale;

/// A whole experiment: cells in the order in which they run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name, from the file or its file name.
    pub name: String,
    /// Its purpose, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Seed of everything random: order of cells, accesses, arrivals, payload.
    pub seed: u64,
    /// Where the results go, unless the command line says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// The hosts that run it; `None` for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// Hosts of the server that are sampled while cells are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Observe>,
    /// Sizes of the server; cells of one size are adjacent, in the order of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_scale: Option<ServerScale>,
    /// The cells, in the order in which they run.
    pub cells: Vec<Cell>,
}

/// One point of the matrix, with everything needed to run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its position in execution order, from 0.
    pub index: u32,
    /// Human-readable name from workload and point: `randread block_size=4KiB queue_depth=32 repetition=2`.
    pub name: String,
    /// The workload's name in the file.
    pub workload_name: String,
    /// The crossed parameters and this cell's values as text, without the repetition: cells of two runs are compared if
    /// these are equal.
    pub point: BTreeMap<String, String>,
    /// The repetition of this point, from 1.
    pub repetition: u32,
    /// The target of the load.
    pub target: Target,
    /// What is done to it.
    pub workload: Workload,
    /// The stages around the measurement.
    pub stages: Stages,
    /// When the measurement may end.
    pub steady: SteadyRule,
    /// Conditions for success.
    pub gates: Vec<Gate>,
    /// What to do with caches before the cell.
    pub cache: CacheControl,
    /// What to do when operations fail.
    pub errors: ErrorPolicy,
    /// Several measurements at different rates instead of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
    /// The cell runs at the same time as the other cells of its group, which are adjacent to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<ConcurrentCells>,
    /// Number of the fleet's agents that work on it, counted from the first; `None` for all.
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

/// The target of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The target's name in the file.
    pub name: String,
    /// As written: `file:///mnt/data`, `block:///dev/nvme0n1`, `nfs://host/export`, `s3://bucket?endpoint=…`,
    /// `tcp://host:port`, `null:`, `sim:?latency=1ms`. Contains no secrets.
    pub url: String,
    /// Options by name, as text: `direct: "true"`, `connections: "4"`, `engine: "uring"`. The target's
    /// [`TargetKind`](crate::TargetKind) lists the available ones.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Counters of the server that are read before and after each measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// What the run creates for it; its URL then has `{provisioned}` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provision: Option<Provision>,
}

impl Target {
    /// A target without accounting and provision.
    pub fn new(name: impl Into<String>, url: impl Into<String>, options: BTreeMap<String, String>) -> Self {
        Self { name: name.into(), url: url.into(), options, accounting: None, provision: None }
    }

    /// An option's text: from the file, otherwise from the URL's query.
    pub fn option(&self, name: &str) -> Option<&str> {
        let in_url = || {
            let (_, query) = self.url.split_once('?')?;
            query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)
        };
        self.options.get(name).map(String::as_str).or_else(|| in_url().map(|(_, value)| value))
    }

    /// A flag as the option's parser reads it, or its default.
    pub fn flag(&self, kind: &TargetKind, name: &str) -> bool {
        let Some(help) = kind.option(name) else { return false };
        let value = help.read(self.option(name).unwrap_or(help.default));
        value == Ok(OptionValue::Flag(true))
    }

    /// Identifies the place of the data: two targets with the same URL share a place, unless their `directory` or
    /// [`Self::directory_suffix`] differs.
    pub fn place(&self) -> String {
        let suffix = self.directory_suffix();
        match self.options.get("directory") {
            Some(directory) => format!("{} directory {directory}{suffix}", self.url),
            None => format!("{}{suffix}", self.url),
        }
    }

    /// What follows the run's name in that of its directory, such as `-uid1000-depth2`: targets that name different users or
    /// trees have a directory each. One user may not be able to write where another does, and a data set is found and
    /// removed by one tree.
    pub fn directory_suffix(&self) -> String {
        let given = |name: &&str| Some(format!("-{name}{}", self.option(name)?));
        ["uid", "gid", "depth", "directories", "layout"].iter().filter_map(given).collect()
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
    /// One after the other; each lane starts at its own place.
    Sequential,
    /// At random, all blocks equally likely.
    Random,
    /// At random, but each block once before any is repeated (a keyed permutation, no list).
    Shuffled,
    /// Zipf: the k-th most popular block is drawn in proportion to `1 / k^theta`.
    Zipf {
        /// Above 0; YCSB uses 0.99.
        theta: f64,
    },
    /// Pareto, as fio defines it: with a small `h`, the share `h` of the accesses goes to the rest (0.2: the 80/20
    /// rule).
    Pareto {
        /// Above 0, below 1.
        h: f64,
    },
    /// A share of the operations goes to a share of the space at its start.
    Hotspot {
        /// Share of the operations, 0 to 1.
        ops: f64,
        /// Share of the space, 0 to 1.
        space: f64,
    },
    /// Each access is this many bytes after the last, and the next pass starts one block later.
    Strided {
        /// In bytes; a multiple of the block size.
        stride_bytes: u64,
    },
}

impl Arrivals {
    /// Whether the rate is constant over time; otherwise it varies by specification.
    pub fn is_even(&self) -> bool {
        matches!(self, Arrivals::Closed | Arrivals::Constant { .. } | Arrivals::Poisson { .. })
    }
}

/// When operations are scheduled to start, over all lanes of all jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// As soon as a lane is free.
    Closed,
    /// Evenly spaced.
    Constant {
        /// Operations per second.
        ops_per_s: f64,
    },
    /// Independent starts: exponentially distributed gaps.
    Poisson {
        /// Operations per second, on average.
        ops_per_s: f64,
    },
    /// A rate that changes linearly, then stays.
    Ramp {
        /// Operations per second at the start.
        from_ops_per_s: f64,
        /// Operations per second at the end.
        to_ops_per_s: f64,
        /// In seconds.
        over_s: f64,
    },
    /// One rate after the other; the last stays.
    Steps {
        /// The rates, in order.
        steps: Vec<RateStep>,
    },
    /// A schedule: the rate from each time on; nothing starts between 0 and the first time.
    Times {
        /// In order of time.
        times: Vec<RateFrom>,
    },
}

/// A rate with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// Operations per second; 0 is a pause.
    pub ops_per_s: f64,
    /// In seconds.
    pub for_s: f64,
}

/// A rate with a start time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateFrom {
    /// Seconds since the measurement's warm-up began.
    pub at_s: f64,
    /// Operations per second; 0 is a pause.
    pub ops_per_s: f64,
}

/// The stages around a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// How the data set is prepared.
    pub prepare: Prepare,
    /// Length of the load before the measurement, in seconds.
    pub warm_up_s: f64,
    /// Minimum length of the measurement, in seconds.
    pub measure_at_least_s: f64,
    /// Minimum bytes to move before the measurement may count as steady; 0 for no minimum.
    pub measure_at_least_bytes: u64,
    /// Maximum length of the measurement, in seconds.
    pub measure_at_most_s: f64,
    /// Length of each trial at half and twice the concurrency, after the measurement and its verification, in seconds;
    /// 0 for no trials.
    #[serde(default, skip_serializing_if = "is_default")]
    pub probe_s: f64,
    /// Whether everything is read and compared once after the measurement.
    pub verify: bool,
    /// Whether the data set is removed after the last cell that uses it.
    pub clean_up: bool,
}

/// How the data set is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// Write every byte, unless an earlier cell of the run left exactly this data set.
    Fill,
    /// Write every byte before every cell.
    FillAlways,
    /// Write nothing: existing data is used, and must be there in full size.
    Keep,
    /// Nothing is needed: for workloads that create what they use.
    None,
}

/// The rule that decides when a measurement is steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyRule {
    /// Floors, truncation, checkpoints, effective samples, interval, drift, change points.
    Default(LevelLimits),
    /// The conditions of [`SteadyRule::Default`] over everything since the warm-up, with the drift bounded over a
    /// horizon: the claim is that the level lasts that long.
    Sustained {
        /// How long the claimed level lasts, in seconds (600); no measurement is shorter.
        horizon_s: f64,
        /// Limits on the level; drifts are bounded over the horizon.
        #[serde(flatten)]
        limits: LevelLimits,
    },
    /// SNIA SSS PTS 2.0.2: 5 rounds, range 20 %, slope excursion over the window 10 %.
    Snia {
        /// Length of a round in seconds (60).
        round_s: f64,
    },
    /// StorPerf's rule, for comparison: 10 samples, range 20 %, slope 10 % per sample.
    Storperf {
        /// Length of a sample in seconds (60).
        sample_s: f64,
        /// Number of samples (10).
        samples: u32,
    },
    /// fio's `steadystate`: deviation or slope within a limit over a window.
    Fio {
        /// `iops`, `bw` or `lat`.
        metric: String,
        /// Whether the slope is limited; otherwise the deviation from the mean.
        slope: bool,
        /// Relative (0.003 for `0.3%`).
        limit: f64,
        /// The window, `ss_dur`, in seconds.
        window_s: f64,
    },
    /// No rule: the measurement lasts `measure_at_least_s`.
    None,
}

/// The limits that make a level count as steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelLimits {
    /// Maximum half-width of the 95 % interval, relative.
    pub half_width: f64,
    /// Maximum drift of throughput, relative: over the window, or over the rule's horizon.
    pub drift: f64,
    /// Maximum drift of p99, relative.
    pub latency_drift: f64,
    /// Minimum number of effective samples.
    pub effective_samples: f64,
}

impl Default for LevelLimits {
    fn default() -> Self {
        Self { half_width: 0.03, drift: 0.05, latency_drift: 0.10, effective_samples: 30.0 }
    }
}

impl SteadyRule {
    /// Its name in results and on screen.
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
    /// The operation; `None` for all together (`total.bandwidth`).
    pub op: Option<OpKind>,
    /// The metric.
    pub metric: GateMetric,
    /// The comparison operator.
    pub comparison: GateOperator,
    /// The limit in bytes per second, operations per second, nanoseconds or errors.
    pub limit: f64,
}

/// The metric of a gate or a search. Latencies are response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateMetric {
    /// Bytes per second.
    Bandwidth,
    /// Successful operations per second (`rate`, `iops`).
    Rate,
    /// Mean response time.
    Mean,
    /// A percentile of the response time; p99 is 0.99.
    Percentile(f64),
    /// Maximum response time.
    Max,
    /// Failed operations.
    Errors,
}

/// The comparison operator of a gate.
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

/// What to do with the client's caches before a cell's warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheControl {
    /// Nothing.
    Keep,
    /// Drop the data set's pages (`posix_fadvise(DONTNEED)` after a sync).
    Invalidate,
    /// Let the kernel drop all clean caches (`/proc/sys/vm/drop_caches`); needs root.
    Drop,
}

/// What to do when operations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorPolicy {
    /// Count them and continue the run.
    Continue,
    /// End the cell at the first error, and the run with it.
    Stop,
    /// End the cell after this many errors, and continue the run with the next cell.
    StopCellAfter(u64),
}

/// Several measurements at different rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// The highest rate that satisfies a condition on latency, found by bisection.
    Find {
        /// The condition, such as `p99 <= 2 ms`.
        goal: Gate,
        /// The lowest rate tried, in operations per second.
        from_ops_per_s: f64,
        /// The highest rate tried; 0 for the rate that a closed loop reaches.
        to_ops_per_s: f64,
        /// The search ends when the bracket is narrower than this share of its rate (0.02).
        tolerance: f64,
        /// Length of each trial, in seconds.
        trial_s: f64,
    },
    /// The latency/throughput curve: one measurement per rate.
    Sweep {
        /// Operations per second; empty for ten equal steps up to the rate that a closed loop reaches.
        rates_ops_per_s: Vec<f64>,
        /// Length of each point, in seconds.
        point_s: f64,
    },
}
