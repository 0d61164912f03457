//! When a job ends, and how it handles errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// When a job ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ending {
    /// Time limit (`runtime`), in seconds; 0: none. The ramp does not count.
    #[serde(skip_serializing_if = "is_default")]
    pub runtime_s: f64,
    /// Repeat the job until the runtime is over (`time_based`).
    #[serde(skip_serializing_if = "is_default")]
    pub time_based: bool,
    /// How many times to repeat the job's amount (`loops`); 0: once.
    #[serde(skip_serializing_if = "is_default")]
    pub loops: u32,
    /// Delay of the start after the group's, in seconds (`startdelay`).
    #[serde(skip_serializing_if = "is_default")]
    pub start_delay_s: f64,
    /// Maximum random addition to that delay, in seconds (`startdelay=a-b`).
    #[serde(skip_serializing_if = "is_default")]
    pub start_delay_spread_s: f64,
    /// Latency, in seconds, beyond which an operation ends the job with an error (`max_latency`); 0: no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub max_latency_s: f64,
    /// Adjust the queue depth to a latency target.
    #[serde(skip_serializing_if = "is_default")]
    pub latency_target: Option<LatencyTarget>,
    /// What to do when operations fail.
    #[serde(skip_serializing_if = "is_default")]
    pub errors: OnErrors,
}

/// Searches for the deepest queue at which a share of the operations is fast enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyTarget {
    /// Latency target (`latency_target`), in seconds.
    pub target_s: f64,
    /// Length of each trial (`latency_window`), in seconds.
    pub window_s: f64,
    /// Percentage of the operations that must meet the target (`latency_percentile`).
    pub percentile: f64,
    /// Continue the load at the depth that was found (`latency_run`) instead of ending the job.
    #[serde(default)]
    pub run_on: bool,
}

/// What to do when operations fail: the first error ends the job unless its kind is allowed here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnErrors {
    /// Count failed reads and continue.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_read: bool,
    /// Count failed writes, trims and commits, and continue.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_write: bool,
    /// Count blocks that differ from what was written, and continue.
    #[serde(skip_serializing_if = "is_default")]
    pub go_on_verify: bool,
    /// Error names of errno(3) to ignore entirely (`ignore_error`): for reads, writes, verification.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore: [Vec<String>; 3],
    /// An error of this job also ends the jobs that run with it (`exitall_on_error`).
    #[serde(skip_serializing_if = "is_default")]
    pub ends_group: bool,
}
