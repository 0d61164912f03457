//! How fast: the queue, rates, pauses, and commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Directions, is_default};

/// How the queue is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Operations to submit together (`iodepth_batch`, `iodepth_batch_submit`); 0 or 1: one at a time.
    pub batch: u32,
    /// Minimum completions to collect at a time (`iodepth_batch_complete_min`); 0 or 1: each.
    pub complete_least: u32,
    /// Maximum completions to collect at a time (`iodepth_batch_complete_max`); 0: all.
    pub complete_most: u32,
    /// Let a full queue drain to this depth before refilling it (`iodepth_low`); 0: keep it full.
    pub low: u32,
    /// Submit operations from separate threads (`io_submit_mode=offload`).
    pub offload: bool,
}

/// When written data is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commits {
    /// Writes of the worker between fsyncs (`fsync`); 0: never.
    #[serde(skip_serializing_if = "is_default")]
    pub fsync_every: u32,
    /// Writes between fdatasyncs (`fdatasync`); 0: never.
    #[serde(skip_serializing_if = "is_default")]
    pub fdatasync_every: u32,
    /// Writes between calls of sync_file_range(2) on the written range (`sync_file_range`); 0: never.
    #[serde(skip_serializing_if = "is_default")]
    pub range_every: u32,
    /// Flags of that call: 1 wait before, 2 write, 4 wait after.
    #[serde(skip_serializing_if = "is_default")]
    pub range_flags: u32,
    /// Fsync every file after the last write (`end_fsync`).
    #[serde(skip_serializing_if = "is_default")]
    pub at_end: bool,
    /// Fsync each file when it is closed (`fsync_on_close`).
    #[serde(skip_serializing_if = "is_default")]
    pub on_close: bool,
}

/// Rates and pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Rate of each worker, by direction.
    #[serde(skip_serializing_if = "is_default")]
    pub rates: Directions<Option<Rate>>,
    /// Poisson arrivals (`rate_process=poisson`) instead of evenly spaced ones.
    #[serde(skip_serializing_if = "is_default")]
    pub poisson: bool,
    /// Minimum rate of each direction over a cycle, below which the job fails (`rate_min`, `rate_iops_min`).
    #[serde(skip_serializing_if = "is_default")]
    pub least: Directions<Option<Rate>>,
    /// Length of that cycle, in seconds (`rate_cycle`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub cycle_s: f64,
    /// Think time between operations.
    #[serde(skip_serializing_if = "is_default")]
    pub think: Option<Think>,
    /// Catch up after a pause with what was due in it (`rate_ignore_thinktime=0`) instead of pausing the
    /// schedule.
    #[serde(skip_serializing_if = "is_default")]
    pub pauses_stop_schedule: bool,
}

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// Bytes per second.
    BytesPerS(f64),
    /// Operations per second.
    OpsPerS(f64),
}

/// Think time of the whole worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Think {
    /// Length of a pause, in seconds (`thinktime`).
    pub pause_s: f64,
    /// Part of the pause spent computing instead of sleeping, in seconds (`thinktime_spin`).
    #[serde(skip_serializing_if = "is_default")]
    pub spin_s: f64,
    /// Operations between pauses (`thinktime_blocks`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub after: u32,
    /// Count operations at their start instead of their completion (`thinktime_blocks_type=issue`).
    #[serde(skip_serializing_if = "is_default")]
    pub count_begun: bool,
    /// Seconds of load between pauses, instead of operations (`thinktime_iotime`); 0: count operations.
    #[serde(skip_serializing_if = "is_default")]
    pub after_s: f64,
}
