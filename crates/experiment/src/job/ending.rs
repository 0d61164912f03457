//! When a job ends, and how it handles errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// When a job is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ending {
    /// After this time whatever it has done (`runtime`), in seconds; 0: no limit. The ramp is not part of it.
    #[serde(skip_serializing_if = "is_default")]
    pub runtime_s: f64,
    /// It goes on, again and again, until the runtime is over (`time_based`).
    #[serde(skip_serializing_if = "is_default")]
    pub time_based: bool,
    /// How often it does its amount (`loops`); 0: once.
    #[serde(skip_serializing_if = "is_default")]
    pub loops: u32,
    /// It begins so much later than the group, in seconds (`startdelay`).
    #[serde(skip_serializing_if = "is_default")]
    pub start_delay_s: f64,
    /// The most that is added to that delay at random, in seconds (`startdelay=a-b`).
    #[serde(skip_serializing_if = "is_default")]
    pub start_delay_spread_s: f64,
    /// An operation that takes longer ends the job with an error (`max_latency`), in seconds; 0: none does.
    #[serde(skip_serializing_if = "is_default")]
    pub max_latency_s: f64,
    /// The queue depth is fitted to a latency.
    #[serde(skip_serializing_if = "is_default")]
    pub latency_target: Option<LatencyTarget>,
    /// What happens when operations fail.
    #[serde(skip_serializing_if = "is_default")]
    pub errors: OnErrors,
}

/// The deepest queue is looked for at which a share of the operations is fast enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyTarget {
    /// So fast (`latency_target`), in seconds.
    pub target_s: f64,
    /// Looked at over so long (`latency_window`), in seconds.
    pub window_s: f64,
    /// Percentage of the operations (`latency_percentile`).
    pub percentile: f64,
    /// The load goes on at the depth that was found (`latency_run`); else the job is over then.
    #[serde(default)]
    pub run_on: bool,
}

/// What happens when operations fail: after the first error the job is over unless its kind is named here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnErrors {
    /// Reads that fail are counted and the job goes on.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_read: bool,
    /// And writes, trims and commits.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_write: bool,
    /// And blocks that differ from what was written.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_verify: bool,
    /// Error names of errno(3) that are not counted at all (`ignore_error`): for reads, writes, verification.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore: [Vec<String>; 3],
    /// An error of this job ends the jobs beside it (`exitall_on_error`).
    #[serde(skip_serializing_if = "is_default")]
    pub ends_group: bool,
}
