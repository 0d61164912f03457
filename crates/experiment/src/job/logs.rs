//! Files written or read alongside the load, in fio's formats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// Files that are written while a job runs. Names are those of the options; fio's endings are added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Logs {
    /// Throughput in KiB/s (`write_bw_log`): `NAME_bw.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth: Option<String>,
    /// Latencies in nanoseconds (`write_lat_log`): `NAME_slat.N.log`, `NAME_clat.N.log`, `NAME_lat.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub latency: Option<String>,
    /// Operations a second (`write_iops_log`): `NAME_iops.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub operations: Option<String>,
    /// Histograms of completion latency (`write_hist_log`): `NAME_clat_hist.N.log`.
    #[serde(skip_serializing_if = "is_default")]
    pub histograms: Option<String>,
    /// Every operation (`write_iolog`), in the format of version 3.
    #[serde(skip_serializing_if = "is_default")]
    pub operations_list: Option<String>,
    /// One line for this many milliseconds (`log_avg_msec`); 0: one for each operation.
    #[serde(skip_serializing_if = "is_default")]
    pub average_ms: u64,
    /// The largest instead of the mean of that time (`log_max_value`).
    #[serde(skip_serializing_if = "is_default")]
    pub largest: bool,
    /// One histogram for this many milliseconds (`log_hist_msec`).
    #[serde(skip_serializing_if = "is_default")]
    pub histogram_ms: u64,
    /// Neighbouring buckets are put together this many times (`log_hist_coarseness`).
    #[serde(skip_serializing_if = "is_default")]
    pub coarseness: u32,
    /// Lines say the offset too (`log_offset`).
    #[serde(skip_serializing_if = "is_default")]
    pub offsets: bool,
    /// Lines say the priority too (`log_prio`).
    #[serde(skip_serializing_if = "is_default")]
    pub priorities: bool,
    /// Times are milliseconds since 1970 instead of since the job's start (`log_unix_epoch`).
    #[serde(skip_serializing_if = "is_default")]
    pub unix_epoch: bool,
    /// All workers write one file each kind instead of one each (`per_job_logs=0`).
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

/// Operations from a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// Files, of which the n-th worker replays the n-th, in turn (`read_iolog=a:b`).
    pub files: Vec<String>,
    /// As fast as possible, not at the times in the file (`replay_no_stall`).
    #[serde(skip_serializing_if = "is_default")]
    pub no_stall: bool,
    /// All operations go to this file instead of the ones named (`replay_redirect`).
    #[serde(skip_serializing_if = "is_default")]
    pub redirect: Option<String>,
    /// Offsets are divided by this (`replay_scale`); 0: 1.
    #[serde(skip_serializing_if = "is_default")]
    pub scale: u64,
    /// And rounded down to multiples of this (`replay_align`), in bytes; 0: no.
    #[serde(skip_serializing_if = "is_default")]
    pub align: u64,
    /// It goes at this percentage of the speed in the file (`replay_time_scale`): 50 takes twice the time; 0: 100.
    #[serde(skip_serializing_if = "is_default")]
    pub time_percent: u32,
    /// Kinds that are left out (`replay_skip`): `read`, `write`, `trim`, `sync`.
    #[serde(skip_serializing_if = "is_default")]
    pub skip: Vec<String>,
}
