//! How fast: the queue, rates, pauses, and commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Directions, is_default};

/// How the queue is kept full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Operations that are handed over together (`iodepth_batch`, `iodepth_batch_submit`); 0 or 1: one by one.
    pub batch: u32,
    /// The load goes on when this many operations have ended (`iodepth_batch_complete_min`); 0 or 1: with each.
    pub complete_least: u32,
    /// And takes at most this many endings at once (`iodepth_batch_complete_max`); 0: all.
    pub complete_most: u32,
    /// Once full, the queue drains to this depth before it is filled again (`iodepth_low`); 0: it is kept full.
    pub low: u32,
    /// Operations are submitted by threads of their own, not by the one that collects (`io_submit_mode=offload`).
    pub offload: bool,
}

/// When written data is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commits {
    /// An fsync after this many writes of the worker (`fsync`); 0 never.
    #[serde(skip_serializing_if = "is_default")]
    pub fsync_every: u32,
    /// An fdatasync after this many (`fdatasync`); 0 never.
    #[serde(skip_serializing_if = "is_default")]
    pub fdatasync_every: u32,
    /// A sync_file_range(2) over what was written, after this many writes (`sync_file_range`); 0 never.
    #[serde(skip_serializing_if = "is_default")]
    pub range_every: u32,
    /// Flags of that call: 1 wait before, 2 write, 4 wait after.
    #[serde(skip_serializing_if = "is_default")]
    pub range_flags: u32,
    /// An fsync of every file when the writes are done (`end_fsync`).
    #[serde(skip_serializing_if = "is_default")]
    pub at_end: bool,
    /// An fsync whenever a file is closed (`fsync_on_close`).
    #[serde(skip_serializing_if = "is_default")]
    pub on_close: bool,
}

/// Rates and pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Of each worker, in each direction.
    #[serde(skip_serializing_if = "is_default")]
    pub rates: Directions<Option<Rate>>,
    /// Starts are independent of each other (`rate_process=poisson`) instead of evenly spaced.
    #[serde(skip_serializing_if = "is_default")]
    pub poisson: bool,
    /// The job fails when a direction's rate over a cycle is below this (`rate_min`, `rate_iops_min`).
    #[serde(skip_serializing_if = "is_default")]
    pub least: Directions<Option<Rate>>,
    /// Length of that cycle, in seconds (`rate_cycle`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub cycle_s: f64,
    /// Pauses between operations.
    #[serde(skip_serializing_if = "is_default")]
    pub think: Option<Think>,
    /// What was not done in a pause is caught up with afterwards (`rate_ignore_thinktime=0`), else the schedule stands still.
    #[serde(skip_serializing_if = "is_default")]
    pub pauses_stop_schedule: bool,
}

/// How much in a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// Bytes a second.
    BytesPerS(f64),
    /// Operations a second.
    OpsPerS(f64),
}

/// A pause of the whole worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Think {
    /// How long, in seconds (`thinktime`).
    pub pause_s: f64,
    /// Of that, spent computing instead of sleeping, in seconds (`thinktime_spin`).
    #[serde(skip_serializing_if = "is_default")]
    pub spin_s: f64,
    /// After this many operations (`thinktime_blocks`); 0: one.
    #[serde(skip_serializing_if = "is_default")]
    pub after: u32,
    /// They count when they are begun, not when they have ended (`thinktime_blocks_type=issue`).
    #[serde(skip_serializing_if = "is_default")]
    pub count_begun: bool,
    /// After this many seconds of load instead (`thinktime_iotime`); 0: by operations.
    #[serde(skip_serializing_if = "is_default")]
    pub after_s: f64,
}
