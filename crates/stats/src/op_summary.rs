//! Report on one kind of operation over a window.

use std::collections::BTreeMap;

use metrics::{CallKind, ErrorKind, LatencySummary, OpKind, ProcedureStats};
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
    /// RPCs by procedure, or system calls by name, where the driver distinguishes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub procedures: Vec<ProcedureSummary>,
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

/// The calls of one procedure, or system calls of one name, that operations took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcedureSummary {
    /// The procedure or system call.
    pub procedure: CallKind,
    /// Calls sent, retransmits included.
    pub calls: u64,
    /// The same per operation, failed ones included.
    pub calls_per_op: f64,
    /// Calls that ended with an error of the procedure, or without a reply.
    pub errors: u64,
    /// Mean time from sending a call to its successful reply, in nanoseconds.
    pub mean_ns: f64,
    /// The longest of these times; for procedures that list, that of the slowest page.
    pub max_ns: u64,
    /// What the calls listed, if the procedure lists pages of a directory or bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<ListingSummary>,
}

/// What an operation's calls listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListingSummary {
    /// Names, keys and common prefixes; a directory's `.` and `..` do not count.
    pub entries: u64,
    /// The same per operation, failed ones included.
    pub entries_per_op: f64,
    /// The same per second of the window, all workers together.
    pub entries_per_s: f64,
    /// Mean time from the start of an operation to its first page, in nanoseconds.
    pub first_mean_ns: f64,
    /// The longest of these times.
    pub first_max_ns: u64,
}

impl ProcedureSummary {
    /// The procedures of `ops` operations over `seconds`, most calls first.
    pub(crate) fn of(list: &[ProcedureStats], ops: u64, seconds: f64) -> Vec<ProcedureSummary> {
        let ratio = |count: u64, of: f64| if of > 0.0 { count as f64 / of } else { 0.0 };
        let summary = |stats: &ProcedureStats| ProcedureSummary {
            procedure: stats.procedure,
            calls: stats.calls,
            calls_per_op: ratio(stats.calls, ops as f64),
            errors: stats.errors,
            mean_ns: stats.mean_ns(),
            max_ns: stats.max_ns,
            listing: stats.listing.map(|listing| ListingSummary {
                entries: listing.entries,
                entries_per_op: ratio(listing.entries, ops as f64),
                entries_per_s: ratio(listing.entries, seconds),
                first_mean_ns: listing.first_mean_ns(),
                first_max_ns: listing.first_max_ns,
            }),
        };
        let mut all: Vec<_> = list.iter().filter(|stats| stats.calls > 0).map(summary).collect();
        all.sort_by_key(|summary| (std::cmp::Reverse(summary.calls), summary.procedure));
        all
    }
}
