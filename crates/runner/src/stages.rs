//! The stages of a cell, as stored in results.

use engine::{Counts, StageResult};
use store::StageRecord;

/// Stage that writes every byte.
pub const PREPARE: &str = "prepare";
/// Stage that is reported.
pub const MEASURE: &str = "measure";
/// Stage that reads and compares everything.
pub const VERIFY: &str = "verify";
/// Trial with half or twice as much in flight, which is not reported.
pub const PROBE: &str = "probe";

/// A stage's record, from its result.
pub fn record(name: &str, result: &StageResult) -> StageRecord {
    StageRecord::new(name, result.window_ns as f64 / 1e9).counting(&result.total)
}

/// Record of a warm-up of this many seconds before the measurement.
pub fn warm_up(seconds: f64, result: &StageResult) -> StageRecord {
    let Counts { ok, failed, bytes, .. } = result.before;
    StageRecord { ok, failed, bytes, ..StageRecord::new("warm-up", seconds) }
}
