//! RPCs by procedure, system calls by name: what an operation costs.

use serde::{Deserialize, Serialize};

use crate::CallKind;

/// The calls of one procedure, or system calls of one name, that operations made.
///
/// A call belongs to the operation that made it, and is counted when that operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureStats {
    /// The procedure or system call.
    pub procedure: CallKind,
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
    /// What the calls listed, if the procedure lists a page of a directory or bucket.
    #[serde(default)]
    pub listing: Option<ListingStats>,
}

/// What calls that return pages of a directory or bucket listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingStats {
    /// Names, keys and common prefixes on all pages; a directory's `.` and `..` do not count.
    pub entries: u64,
    /// Listings whose first page arrived.
    pub started: u64,
    /// Sum of the times from the start of the operation to its first page, in nanoseconds.
    pub first_total_ns: u64,
    /// The longest of these times.
    pub first_max_ns: u64,
}

impl ListingStats {
    /// Counts a page; `first_ns` is the time since the operation began, in nanoseconds, for its first page.
    #[inline]
    pub fn page(&mut self, entries: u64, first_ns: Option<u64>) {
        self.entries += entries;
        if let Some(first_ns) = first_ns {
            self.started += 1;
            self.first_total_ns = self.first_total_ns.saturating_add(first_ns);
            self.first_max_ns = self.first_max_ns.max(first_ns);
        }
    }

    /// Mean time to the first page, in nanoseconds; 0 without any.
    pub fn first_mean_ns(&self) -> f64 {
        if self.started == 0 { 0.0 } else { self.first_total_ns as f64 / self.started as f64 }
    }

    /// Adds the pages of another span.
    pub fn merge(&mut self, other: &ListingStats) {
        // Counts from another process can be anything.
        self.entries = self.entries.saturating_add(other.entries);
        self.started = self.started.saturating_add(other.started);
        self.first_total_ns = self.first_total_ns.saturating_add(other.first_total_ns);
        self.first_max_ns = self.first_max_ns.max(other.first_max_ns);
    }
}

impl ProcedureStats {
    /// Nothing yet.
    pub const fn new(procedure: CallKind) -> Self {
        Self { procedure, calls: 0, ok: 0, errors: 0, total_ns: 0, max_ns: 0, listing: None }
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

    /// Counts what a page listed; see [`ListingStats::page`].
    #[inline]
    pub fn page(&mut self, entries: u64, first_ns: Option<u64>) {
        self.listing.get_or_insert_default().page(entries, first_ns);
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
        if let Some(listing) = &other.listing {
            self.listing.get_or_insert_default().merge(listing);
        }
    }

    /// The entry of a procedure in a list with one entry each, added if absent.
    #[inline]
    pub fn entry(list: &mut Vec<ProcedureStats>, procedure: CallKind) -> &mut ProcedureStats {
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
