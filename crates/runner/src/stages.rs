//! Stages of a cell, as results have them.

use engine::{Counts, StageResult};
use store::StageRecord;

/// The stage in which every byte is written.
pub const PREPARE: &str = "prepare";
/// The stage that is reported.
pub const MEASURE: &str = "measure";
/// The stage in which everything is read and compared.
pub const VERIFY: &str = "verify";

/// A stage by what came of it.
pub fn record(name: &str, result: &StageResult) -> StageRecord {
    StageRecord::new(name, result.window_ns as f64 / 1e9).counting(&result.total)
}

/// The load of so many seconds before anything was measured.
pub fn warm_up(seconds: f64, result: &StageResult) -> StageRecord {
    let Counts { ok, failed, bytes, .. } = result.before;
    StageRecord { ok, failed, bytes, ..StageRecord::new("warm-up", seconds) }
}
