//! What is kept of a job besides its experiment; no secret is in it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobKind {
    /// It fills the target.
    Initialization,
    /// It measures.
    Measurement,
}

/// A job as the API shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StorperfJob {
    /// What it does.
    pub kind: JobKind,
    /// The directory or device.
    pub target: String,
    /// The addresses of its hosts.
    pub hosts: Vec<String>,
    /// What clients read as metadata: their own, and the job's parameters.
    pub metadata: Map<String, Value>,
}

impl StorperfJob {
    /// The device that the job may overwrite even if it holds data: initializing a device says so.
    pub(crate) fn overwrites(&self) -> Option<&str> {
        let device = self.target.starts_with("/dev/").then_some(&*self.target);
        device.filter(|_| self.kind == JobKind::Initialization)
    }
}
