//! A worker's counts for one kind of operation, and for one interval.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{ErrorKind, Histogram, OpKind, ProcedureStats};

/// Procedures or system calls that one kind of operation usually makes, at most.
const PROCEDURES: usize = 6;

/// Counters and histograms of one kind of operation over some span of time.
///
/// Latency is kept twice: from the actual start (service time) and from the intended start (response time). In a closed
/// loop the two are the same by definition, and only the service time is recorded; see [`OpStats::response`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpStats {
    /// Successful operations.
    pub ok: u64,
    /// Failed operations, by [`ErrorKind`] index.
    pub errors: [u64; ErrorKind::COUNT],
    /// Payload bytes acknowledged by the target.
    pub bytes: u64,
    /// RPCs and HTTP requests that the operations took, retransmits included.
    pub rpcs: u64,
    /// Retransmitted RPCs and requests.
    pub retries: u64,
    /// The RPCs by procedure, or system calls by name, once each, where the driver distinguishes them.
    #[serde(default)]
    pub procedures: Vec<ProcedureStats>,
    /// Latency of successful operations from their actual start.
    pub service: Histogram,
    /// Latency from the intended start; `None` in a closed loop, where it equals `service`.
    pub response: Option<Box<Histogram>>,
}

impl OpStats {
    /// Number of failed operations.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// The kinds of error that occurred, with their counts.
    pub fn errors_by_kind(&self) -> BTreeMap<ErrorKind, u64> {
        let kinds = ErrorKind::ALL.iter().map(|kind| (*kind, self.errors[*kind as usize]));
        kinds.filter(|(_, count)| *count > 0).collect()
    }

    /// Latency from the intended start.
    pub fn response(&self) -> &Histogram {
        self.response.as_deref().unwrap_or(&self.service)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed() == 0 && self.retries == 0
    }

    /// Adds the counts of another span.
    pub fn merge(&mut self, other: &OpStats) {
        if other.response.is_some() || self.response.is_some() {
            let mut merged = self.response.take().unwrap_or_else(|| Box::new(self.service.clone()));
            merged.merge(other.response());
            self.response = Some(merged);
        }
        // Counts from another process can be anything.
        self.ok = self.ok.saturating_add(other.ok);
        for (mine, theirs) in self.errors.iter_mut().zip(other.errors) {
            *mine = mine.saturating_add(theirs);
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.rpcs = self.rpcs.saturating_add(other.rpcs);
        self.retries = self.retries.saturating_add(other.retries);
        self.service.merge(&other.service);
        for procedure in other.procedures.iter().filter(|procedure| procedure.calls > 0) {
            self.called(procedure);
        }
    }

    /// Counts calls of a procedure.
    #[inline]
    pub fn called(&mut self, calls: &ProcedureStats) {
        ProcedureStats::entry(&mut self.procedures, calls.procedure).merge(calls);
    }

    /// Resets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.ok = 0;
        self.errors = [0; ErrorKind::COUNT];
        self.bytes = 0;
        self.rpcs = 0;
        self.retries = 0;
        self.procedures.clear();
        self.service.clear();
        if let Some(response) = &mut self.response {
            response.clear();
        }
    }
}

/// One interval (one second, or the remainder of the window) of one worker, or of all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the interval in its stage, from 0.
    pub index: u32,
    /// Start, in nanoseconds since the measured window began.
    pub start_ns: u64,
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Counts by kind of operation. A kind that did not occur is absent or empty.
    #[serde(deserialize_with = "once_each")]
    pub ops: Vec<(OpKind, OpStats)>,
}

/// Reads each kind at most once: another process could repeat kinds, each of which costs a histogram.
fn once_each<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(OpKind, OpStats)>, D::Error> {
    struct Once;
    impl<'de> Visitor<'de> for Once {
        type Value = Vec<(OpKind, OpStats)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("statistics of each kind of operation, once")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut ops: Self::Value = Vec::new();
            while let Some((kind, stats)) = list.next_element()? {
                if ops.iter().any(|(known, _)| *known == kind) {
                    return Err(serde::de::Error::custom(format_args!("{kind} is there twice")));
                }
                ops.push((kind, stats));
            }
            Ok(ops)
        }
    }
    deserializer.deserialize_seq(Once)
}

impl Interval {
    /// An interval with space for these kinds, so that counting them allocates nothing; with response times in an open
    /// loop.
    pub fn with_room(kinds: &[OpKind], open_loop: bool) -> Self {
        let room = || OpStats {
            service: Histogram::with_room(),
            response: open_loop.then(|| Box::new(Histogram::with_room())),
            procedures: Vec::with_capacity(PROCEDURES),
            ..OpStats::default()
        };
        Interval { ops: kinds.iter().map(|kind| (*kind, room())).collect(), ..Interval::default() }
    }

    /// The statistics of one kind, if it occurred.
    #[inline]
    pub fn op(&self, kind: OpKind) -> Option<&OpStats> {
        self.ops.iter().find(|(k, _)| *k == kind).map(|(_, stats)| stats)
    }

    /// The statistics of one kind, created if absent.
    #[inline]
    pub fn op_mut(&mut self, kind: OpKind) -> &mut OpStats {
        let at = match self.ops.iter().position(|(k, _)| *k == kind) {
            Some(at) => at,
            None => {
                self.ops.push((kind, OpStats::default()));
                self.ops.len() - 1
            }
        };
        &mut self.ops[at].1
    }

    /// All kinds of operations merged into one. A single kind is borrowed as it is: histograms are large.
    pub fn all_ops(&self) -> Cow<'_, OpStats> {
        let mut used = self.ops.iter().map(|(_, stats)| stats).filter(|stats| !stats.is_empty());
        match (used.next(), used.next()) {
            (None, _) => Cow::Owned(OpStats::default()),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                let mut all = first.clone();
                all.merge(second);
                used.for_each(|stats| all.merge(stats));
                Cow::Owned(all)
            }
        }
    }

    /// Adds another worker's counts for the same span.
    pub fn merge(&mut self, other: &Interval) {
        for (kind, stats) in &other.ops {
            if !stats.is_empty() {
                self.op_mut(*kind).merge(stats);
            }
        }
    }

    /// Resets the counts, keeping the memory: the kinds stay, with nothing counted.
    pub fn clear(&mut self) {
        self.index = 0;
        self.start_ns = 0;
        self.length_ns = 0;
        for (_, stats) in &mut self.ops {
            stats.clear();
        }
    }

    /// Successful operations, over all kinds.
    pub fn ok(&self) -> u64 {
        self.ops.iter().map(|(_, stats)| stats.ok).sum()
    }

    /// Failed operations, over all kinds.
    pub fn failed(&self) -> u64 {
        self.ops.iter().map(|(_, stats)| stats.failed()).sum()
    }

    /// Payload bytes acknowledged, over all kinds.
    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|(_, stats)| stats.bytes).sum()
    }
}
