//! What a check found. Nothing here measures or judges.

use super::row::{CheckRow, RowOutcome};
use super::verdict::CheckVerdict;
use crate::reactor_facts::ReactorFacts;

/// Everything that a check found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// The run's name: eight characters.
    pub run_id: String,
    /// When it began.
    pub started: jiff::Timestamp,
    /// When everything was removed again.
    pub finished: jiff::Timestamp,
    /// What was asked for.
    pub settings: CheckSettings,
    /// The array, when one was provisioned.
    pub array: Option<CheckedArray>,
    /// The kernel interface that made the load.
    pub reactor: ReactorFacts,
    /// One row an address and protocol.
    pub rows: Vec<CheckRow>,
    /// The judgement.
    pub verdict: CheckVerdict,
    /// What could not be removed; empty when all is as it was.
    pub left_behind: Vec<String>,
    /// The signal that ended the run early.
    pub interrupted_by: Option<&'static str>,
}

/// What the load was made of.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CheckSettings {
    /// Measured time of each phase, in seconds.
    pub duration_s: f64,
    /// Time before it that is not counted, in seconds.
    pub ramp_s: f64,
    /// Threads that made load.
    pub workers: u32,
    /// Operations in flight per thread.
    pub lanes: u32,
    /// NFS connections per thread.
    pub connections: u32,
    /// Bytes of one NFS operation.
    pub block_size: u64,
    /// Bytes of one object.
    pub object_size: u64,
    /// Most that a phase wrote before starting over.
    pub dataset: u64,
    /// Where data of reads went: buffer, verify or discard.
    pub sink: &'static str,
    /// Whether NFS writes were asked to be durable at once.
    pub stable: bool,
    /// How S3 uploads were protected.
    pub s3_payload: String,
}

/// The array that was provisioned.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CheckedArray {
    /// Its management address.
    pub management: String,
    /// The API version that was agreed on.
    pub api_version: String,
    /// Why which data addresses were chosen.
    pub address_choice: Vec<String>,
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
