//! RPCs that a file system mounted by the kernel sent during a measurement.

use serde::{Deserialize, Serialize};

/// What a mount sent during the measurement of a cell: everything its users did, not only the cell's operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MountRpcs {
    /// The mount point.
    pub mount: String,
    /// The operations of the cell meanwhile, of all kinds, failed ones and the warm-up's included.
    pub operations: u64,
    /// The RPCs by server and procedure, most first.
    pub procedures: Vec<RpcCount>,
}

/// The RPCs of one procedure to one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RpcCount {
    /// The server's name, as it was mounted.
    pub server: String,
    /// The procedure, as the kernel names it.
    pub procedure: String,
    /// Calls sent, retransmits included.
    pub calls: u64,
    /// The same per operation of the cell.
    pub calls_per_op: f64,
    /// Calls that ended with an error; `None` from kernels that do not count them (before Linux 5.3).
    pub errors: Option<u64>,
    /// Mean time from sending a call to its reply, in nanoseconds; the kernel counts milliseconds.
    pub mean_ns: f64,
}
