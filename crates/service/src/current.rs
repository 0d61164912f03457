//! The latest interval of each cell under way, for whoever samples a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::SeriesPoint;
use runner::progress::SharedProgress;
use store::Validity;

/// What a run measures now.
#[derive(Debug, Default)]
pub(crate) struct Current(Mutex<CurrentCells>);

/// Its cells.
#[derive(Debug, Default)]
pub(crate) struct CurrentCells {
    /// The cells under way by index: the stage, and one point per operation of its last interval.
    pub cells: BTreeMap<u32, (String, Vec<SeriesPoint>)>,
    /// The cell that ended last with a result, and its verdict.
    pub ended: Option<(u32, Validity)>,
    /// The state of the whole run, once it has begun.
    pub progress: Option<Arc<SharedProgress>>,
}

impl Current {
    /// For reading or changing; an interval waits for the lock, so copy what takes long.
    pub(crate) fn lock(&self) -> MutexGuard<'_, CurrentCells> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
