//! A pass over numbered files, and what each lane did of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use experiment::Pass;
use metrics::{ErrorKind, OpKind};
use serde::{Deserialize, Serialize};

/// A pass: each lane performs its steps on each of its files.
#[derive(Clone, Debug)]
pub struct PassLoad {
    pub(crate) pass: Arc<Pass>,
    /// The number of the host whose files these are.
    pub(crate) host: u16,
    /// A lane of this stage has finished all its files.
    first_done: Arc<AtomicBool>,
}

impl PassLoad {
    /// The load of one stage.
    pub fn new(pass: Arc<Pass>) -> Self {
        PassLoad { host: pass.tree.host_number(), pass, first_done: Arc::default() }
    }

    /// A lane has finished all its files.
    pub(crate) fn finished(&self) {
        self.first_done.store(true, Ordering::Relaxed);
    }

    /// Whether some lane has.
    pub(crate) fn has_finished(&self) -> bool {
        self.first_done.load(Ordering::Relaxed)
    }

    pub(crate) fn kinds(&self) -> Vec<OpKind> {
        self.pass.steps.iter().map(|step| step.op()).collect()
    }
}

/// What a lane did of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanePass {
    /// The lane, counted over all workers of its host.
    pub lane: u32,
    /// Files finished while counting: until the lane's own end, or the first lane's ([`experiment::Stonewall`]).
    pub files: u64,
    /// Reads and writes of those.
    pub records: u64,
    /// Bytes read and written of those.
    pub bytes: u64,
    /// Time until counting ended, in nanoseconds.
    pub elapsed_ns: u64,
    /// Counting ended with another lane's end.
    pub cut_short: bool,
    /// All files finished.
    pub all_files: u64,
    /// What ended the lane early.
    pub error: Option<ErrorKind>,
}
