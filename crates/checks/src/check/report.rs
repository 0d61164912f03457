//! The results of a check. Nothing here measures or judges.

use super::row::{CheckRow, RowOutcome};
use super::verdict::CheckVerdict;
use crate::reactor_facts::ReactorFacts;

/// All results of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The run's name: eight characters.
    pub run_id: String,
    /// When it began.
    pub started: jiff::Timestamp,
    /// When everything was removed again.
    pub finished: jiff::Timestamp,
    /// The settings.
    pub settings: CheckSettings,
    /// The array or cluster, when one created the targets.
    pub array: Option<CheckedArray>,
    /// The kernel interface that generated the load.
    pub reactor: ReactorFacts,
    /// One row per address and protocol.
    pub rows: Vec<CheckRow>,
    /// The verdict.
    pub verdict: CheckVerdict,
    /// What could not be removed; empty if nothing remains.
    pub left_behind: Vec<String>,
    /// The signal that ended the run early.
    pub interrupted_by: Option<&'static str>,
}

/// The load's settings.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CheckSettings {
    /// Measured time of each phase, in seconds.
    pub duration_s: f64,
    /// Ramp before it, in seconds, which is not counted.
    pub ramp_s: f64,
    /// Threads that generated load.
    pub workers: u32,
    /// Operations in flight per thread.
    pub lanes: u32,
    /// NFS connections per thread.
    pub connections: u32,
    /// Bytes of one NFS operation.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Maximum bytes that a phase wrote before starting over.
    pub dataset: u64,
    /// Where read data went: buffer, verify or discard.
    pub sink: &'static str,
    /// Whether NFS writes were requested to be durable at once.
    pub stable: bool,
    /// How S3 uploads were protected.
    pub s3_payload: String,
}

/// The array or Ceph cluster on which the targets were created.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CheckedArray {
    /// An array's management address, or `Ceph cluster` with its identity.
    pub management: String,
    /// The negotiated version of an array's API, or the cluster's version.
    pub api_version: String,
    /// Why these data addresses were chosen; of a cluster: what is there.
    pub address_choice: Vec<String>,
    /// What the check created on it, in words.
    pub created: Vec<String>,
}

impl CheckReport {
    /// True when every row succeeded and nothing was left behind.
    pub fn success(&self) -> bool {
        self.interrupted_by.is_none()
            && self.left_behind.is_empty()
            && !self.rows.is_empty()
            && self.rows.iter().all(|row| row.outcome == RowOutcome::Success)
    }
}
