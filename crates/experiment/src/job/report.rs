//! How a job's figures are shown in fio's formats. Nothing here changes what is done or measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// How a job's figures are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reporting {
    /// The name that the figures stand under, where it is not the job's (`name` in a section of its own).
    #[serde(skip_serializing_if = "is_default")]
    pub title: Option<String>,
    /// What the job is for, in its author's words (`description`).
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// Number of the group in whose summary it counts, where that is not the number of the group it runs in (`new_group`).
    #[serde(skip_serializing_if = "is_default")]
    pub group: Option<u32>,
    /// Percentiles, above 0 and at most 100 (`percentile_list`); empty: the usual seventeen.
    #[serde(skip_serializing_if = "is_default")]
    pub percentiles: Vec<f64>,
    /// No percentiles of the service time (`clat_percentiles=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub without_service: bool,
    /// Percentiles of the response time (`lat_percentiles=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub response: bool,
    /// Percentiles of the submission, of which there are no samples here (`slat_percentiles=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub submission: bool,
    /// Reads, writes and trims one by one, all together, or both (`unified_rw_reporting`).
    #[serde(skip_serializing_if = "is_default")]
    pub directions: ShownDirections,
    /// Digits of numbers for people (`significant_figures`); 0: four.
    #[serde(skip_serializing_if = "is_default")]
    pub digits: u32,
    /// Numbers for people are in bits instead of bytes (`unit_base=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub bits: bool,
    /// Numbers for people are in powers of 1000 first, of 1024 in brackets (`kb_base=1000`).
    #[serde(skip_serializing_if = "is_default")]
    pub thousands: bool,
    /// Response times are not shown (`disable_lat=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_response: bool,
    /// Service times are not shown (`disable_clat=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_service: bool,
    /// Throughput over time is not shown (`disable_bw=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_samples: bool,
    /// The job is not shown at all (`stats=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide: bool,
    /// Disks' use is not shown (`disk_util=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_disks: bool,
    /// A sample of throughput in bytes is the mean of this many milliseconds (`bwavgtime`); 0: 500.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_sample_ms: u32,
    /// And one in operations (`iopsavgtime`); 0: 500.
    #[serde(skip_serializing_if = "is_default")]
    pub operations_sample_ms: u32,
    /// The engine by the name that the job file gives it (`ioengine`).
    #[serde(skip_serializing_if = "is_default")]
    pub engine: String,
    /// The queue depth that the job file asks for, also where the engine has but one operation in flight (`iodepth`).
    #[serde(skip_serializing_if = "is_default")]
    pub depth: u32,
    /// The job's own options as they were given; secrets are left out.
    #[serde(skip_serializing_if = "is_default")]
    pub options: BTreeMap<String, String>,
    /// Those that it has from global sections.
    #[serde(skip_serializing_if = "is_default")]
    pub global_options: BTreeMap<String, String>,
}

/// Reads, writes and trims one by one, or together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShownDirections {
    /// One by one.
    #[default]
    Apart,
    /// All together.
    Together,
    /// One by one, then all together.
    Both,
}
