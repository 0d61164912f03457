//! Report on one kind of operation over a window.

use std::collections::BTreeMap;

use metrics::{ErrorKind, LatencySummary, OpKind};
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// One kind of operation, or all together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpSummary {
    /// The operation; `None` for all together.
    pub op: Option<OpKind>,
    /// Successful operations.
    pub ok: u64,
    /// Failed operations.
    pub failed: u64,
    /// Failed operations by error kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Payload bytes acknowledged.
    pub bytes: u64,
    /// RPCs, retransmits included.
    pub rpcs: u64,
    /// Retransmitted RPCs.
    pub retries: u64,
    /// Bytes per second.
    pub bytes_per_s: Estimate,
    /// Successful operations per second.
    pub ops_per_s: Estimate,
    /// Latency from the actual start.
    pub service: LatencySummary,
    /// Latency from the intended start; the same in a closed loop.
    pub response: LatencySummary,
    /// 99th percentile of the response time with its interval, in nanoseconds.
    pub p99_ns: Estimate,
}
