//! Files written or read alongside the load, in fio's formats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// Log files written while a job runs. Names are the options' values, with fio's suffixes added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Logs {
    /// Throughput in KiB/s (`write_bw_log`): `NAME_bw.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth: Option<String>,
    /// Latencies in nanoseconds (`write_lat_log`): `NAME_slat.N.log`, `NAME_clat.N.log`, `NAME_lat.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub latency: Option<String>,
    /// Operations per second (`write_iops_log`): `NAME_iops.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub operations: Option<String>,
    /// Histograms of completion latency (`write_hist_log`): `NAME_clat_hist.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub histograms: Option<String>,
    /// Every operation (`write_iolog`), in the format of version 3.
    #[serde(skip_serializing_if = "is_default")]
    pub operations_list: Option<String>,
    /// Milliseconds per line (`log_avg_msec`); 0: one line per operation.
    #[serde(skip_serializing_if = "is_default")]
    pub average_ms: u64,
    /// Log the maximum of that time instead of the mean (`log_max_value`).
    #[serde(skip_serializing_if = "is_default")]
    pub largest: bool,
    /// Milliseconds per histogram (`log_hist_msec`).
    #[serde(skip_serializing_if = "is_default")]
    pub histogram_ms: u64,
    /// How many times to merge neighbouring buckets (`log_hist_coarseness`).
    #[serde(skip_serializing_if = "is_default")]
    pub coarseness: u32,
    /// Include the offset in each line (`log_offset`).
    #[serde(skip_serializing_if = "is_default")]
    pub offsets: bool,
    /// Include the priority in each line (`log_prio`).
    #[serde(skip_serializing_if = "is_default")]
    pub priorities: bool,
    /// Log times since 1970 instead of since the job's start, in milliseconds (`log_unix_epoch`).
    #[serde(skip_serializing_if = "is_default")]
    pub unix_epoch: bool,
    /// Write one file of each kind for all workers instead of one per worker (`per_job_logs=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub together: bool,
}

impl Logs {
    /// Whether every operation is logged.
    pub fn every_operation(&self) -> bool {
        let lines = self.bandwidth.is_some() || self.latency.is_some() || self.operations.is_some();
        self.operations_list.is_some() || lines && self.average_ms == 0
    }
}

/// Replay of operations from a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// Files to replay; the workers take them in turn (`read_iolog=a:b`).
    pub files: Vec<String>,
    /// Replay as fast as possible instead of at the recorded times (`replay_no_stall`).
    #[serde(skip_serializing_if = "is_default")]
    pub no_stall: bool,
    /// Send all operations to this file instead of the recorded ones (`replay_redirect`).
    #[serde(skip_serializing_if = "is_default")]
    pub redirect: Option<String>,
    /// Divide offsets by this (`replay_scale`); 0: 1.
    #[serde(skip_serializing_if = "is_default")]
    pub scale: u64,
    /// Round offsets down to multiples of this (`replay_align`), in bytes; 0: no rounding.
    #[serde(skip_serializing_if = "is_default")]
    pub align: u64,
    /// Percentage of the recorded speed (`replay_time_scale`): 50 takes twice the time; 0: 100.
    #[serde(skip_serializing_if = "is_default")]
    pub time_percent: u32,
    /// Kinds to skip (`replay_skip`): `read`, `write`, `trim`, `sync`.
    #[serde(skip_serializing_if = "is_default")]
    pub skip: Vec<String>,
}
