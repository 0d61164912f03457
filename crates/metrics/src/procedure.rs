//! RPCs by procedure, system calls by name: what an operation costs.

use serde::{Deserialize, Serialize};

use crate::RpcKind;

/// The calls of one procedure, or system calls of one name, that operations made.
///
/// A call belongs to the operation that made it, and is counted when that operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureStats {
    /// The procedure or system call.
    pub procedure: RpcKind,
    /// Calls sent, retransmits included: what a server counts.
    pub calls: u64,
    /// Replies that report success.
    pub ok: u64,
    /// Calls that ended otherwise: with an error of the procedure, or without a reply.
    pub errors: u64,
    /// Sum of the times from sending a call to its successful reply, in nanoseconds.
    pub total_ns: u64,
    /// The longest of these times.
    pub max_ns: u64,
}

impl ProcedureStats {
    /// Nothing yet.
    pub const fn new(procedure: RpcKind) -> Self {
        Self { procedure, calls: 0, ok: 0, errors: 0, total_ns: 0, max_ns: 0 }
    }

    /// A call that was sent `sends` times and answered with success after `latency_ns`, or else failed.
    #[inline]
    pub fn count(&mut self, sends: u32, latency_ns: Option<u64>) {
        self.calls += u64::from(sends);
        match latency_ns {
            Some(latency_ns) => {
                self.ok += 1;
                self.total_ns = self.total_ns.saturating_add(latency_ns);
                self.max_ns = self.max_ns.max(latency_ns);
            }
            None => self.errors += 1,
        }
    }

    /// Mean time of a successful call, in nanoseconds; 0 without any.
    pub fn mean_ns(&self) -> f64 {
        if self.ok == 0 { 0.0 } else { self.total_ns as f64 / self.ok as f64 }
    }

    /// Adds the calls of another span.
    pub fn merge(&mut self, other: &ProcedureStats) {
        // Counts from another process can be anything.
        self.calls = self.calls.saturating_add(other.calls);
        self.ok = self.ok.saturating_add(other.ok);
        self.errors = self.errors.saturating_add(other.errors);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The entry of a procedure in a list with one entry each, added if absent.
    #[inline]
    pub fn entry(list: &mut Vec<ProcedureStats>, procedure: RpcKind) -> &mut ProcedureStats {
        let at = match list.iter().position(|stats| stats.procedure == procedure) {
            Some(at) => at,
            None => {
                list.push(ProcedureStats::new(procedure));
                list.len() - 1
            }
        };
        &mut list[at]
    }
}
