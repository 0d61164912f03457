//! A job's load: what the engine needs besides the plan's job.

use std::sync::Arc;

use experiment::{Job, WeightedOp};

/// One stream of operations for each worker, which its lanes share.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLoad {
    /// What is asked for.
    pub job: Arc<Job>,
    /// Read, write and trim, and how often each is drawn.
    pub ops: Vec<WeightedOp>,
    /// For each worker its files, as they are when the load begins.
    pub files: Vec<Vec<JobFile>>,
}

/// A file, or a device, of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Its number ([`experiment::JobFiles::object`]).
    pub object: u64,
    /// Its size in bytes; of one that is still to be made, the size that it will have.
    pub bytes: u64,
}
