//! What is reported of one kind of operation over a window.

use std::collections::BTreeMap;

use metrics::{ErrorKind, LatencySummary, OpKind};
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// One kind of operation, or all together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpSummary {
    /// The operation; `None` is all together.
    pub op: Option<OpKind>,
    /// Operations that ended well.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// The failed ones by kind.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Payload bytes acknowledged.
    pub bytes: u64,
    /// Protocol messages, retries included.
    pub rpcs: u64,
    /// Messages sent again.
    pub retries: u64,
    /// Bytes a second.
    pub bytes_per_s: Estimate,
    /// Successful operations a second.
    pub ops_per_s: Estimate,
    /// From the actual start.
    pub service: LatencySummary,
    /// From the intended start; in a closed loop the same.
    pub response: LatencySummary,
    /// 99th percentile of the response time with its interval, in nanoseconds.
    pub p99_ns: Estimate,
}
