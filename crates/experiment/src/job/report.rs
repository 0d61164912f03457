//! How a job's figures are shown in fio's formats. Nothing here changes what is done or measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// How a job's figures are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reporting {
    /// Name shown with the figures, if it differs from the job's (`name` in its own section).
    #[serde(skip_serializing_if = "is_default")]
    pub title: Option<String>,
    /// Purpose of the job, in its author's words (`description`).
    #[serde(skip_serializing_if = "is_default")]
    pub description: String,
    /// Group whose summary includes the job, if it differs from the group it runs in (`new_group`).
    #[serde(skip_serializing_if = "is_default")]
    pub group: Option<u32>,
    /// Percentiles, above 0 and up to 100 (`percentile_list`); empty: the usual seventeen.
    #[serde(skip_serializing_if = "is_default")]
    pub percentiles: Vec<f64>,
    /// Hide percentiles of the service time (`clat_percentiles=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub without_service: bool,
    /// Show percentiles of the response time (`lat_percentiles=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub response: bool,
    /// Show percentiles of the submission latency, which has no samples here (`slat_percentiles=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub submission: bool,
    /// Show reads, writes and trims separately, combined, or both (`unified_rw_reporting`).
    #[serde(skip_serializing_if = "is_default")]
    pub directions: ShownDirections,
    /// Significant digits in text output (`significant_figures`); 0: four.
    #[serde(skip_serializing_if = "is_default")]
    pub digits: u32,
    /// Show bits instead of bytes in text output (`unit_base=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub bits: bool,
    /// Show powers of 1000 first in text output, with powers of 1024 in brackets (`kb_base=1000`).
    #[serde(skip_serializing_if = "is_default")]
    pub thousands: bool,
    /// Hide response times (`disable_lat=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_response: bool,
    /// Hide service times (`disable_clat=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_service: bool,
    /// Hide throughput over time (`disable_bw=1`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_samples: bool,
    /// Hide the job (`stats=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide: bool,
    /// Hide disk utilisation (`disk_util=0`).
    #[serde(skip_serializing_if = "is_default")]
    pub hide_disks: bool,
    /// Milliseconds per sample of bandwidth (`bwavgtime`); 0: 500.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_sample_ms: u32,
    /// Milliseconds per sample of IOPS (`iopsavgtime`); 0: 500.
    #[serde(skip_serializing_if = "is_default")]
    pub operations_sample_ms: u32,
    /// Name of the engine in the job file (`ioengine`).
    #[serde(skip_serializing_if = "is_default")]
    pub engine: String,
    /// Queue depth in the job file, even if the engine has only one operation in flight (`iodepth`).
    #[serde(skip_serializing_if = "is_default")]
    pub depth: u32,
    /// The job's own options as given, without secrets.
    #[serde(skip_serializing_if = "is_default")]
    pub options: BTreeMap<String, String>,
    /// Its options from global sections.
    #[serde(skip_serializing_if = "is_default")]
    pub global_options: BTreeMap<String, String>,
}

/// Whether reads, writes and trims are shown separately or combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShownDirections {
    /// Separately.
    #[default]
    Apart,
    /// Combined.
    Together,
    /// Separately, then combined.
    Both,
}
