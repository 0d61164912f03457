//! One row of the report: one data address, one protocol, and the outcome.

use std::net::IpAddr;

use drivers::ReconnectReason;
use fleet::StageTask;
use fleet::probe::{CardFacts, CoreLoad};
use metrics::{ErrorKind, Interval, OpStats, SeriesPoint};
use stats::limit::{ALL_FULL, Bottleneck};

/// The phases of a row, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPhase {
    /// Writes data.
    Write,
    /// Reads it back.
    Read,
}

impl CheckPhase {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// Its name in all output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }

    /// What its stages are asked to do.
    pub(super) const fn task(self) -> StageTask {
        match self {
            Self::Write => StageTask::Write,
            Self::Read => StageTask::Read,
        }
    }

    /// Index of its cell in the check's run; `row` is the row's number.
    pub(super) const fn cell(self, row: u32) -> u32 {
        row * 2 + self as u32
    }
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    /// Both phases moved data and no operation failed.
    Success,
    /// The target could not be reached through this address; the text is in its protocol's words.
    Unreachable(&'static str),
    /// Nothing could be written, or some writes failed.
    WriteFailed,
    /// Nothing could be read, or some reads failed.
    ReadFailed,
    /// Data came back that differs from what was written.
    DataCorrupt,
    /// All replies arrived, but none within the measured time: it was too short for the path, or for a host this busy.
    NotMeasured,
    /// The user stopped the run before this row was done.
    Interrupted,
}

impl RowOutcome {
    /// The text in all output.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Unreachable(words) => words,
            Self::WriteFailed => "WRITE FAILED",
            Self::ReadFailed => "READ FAILED",
            Self::DataCorrupt => "DATA CORRUPT",
            Self::NotMeasured => "NOT MEASURED",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// What the array reports about a data address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddressFacts {
    /// The address.
    pub address: IpAddr,
    /// Its subnet, if an array reported it.
    pub subnet: Option<String>,
    /// MTU configured on the array's side, in bytes, if an array reported it.
    pub array_mtu: Option<u32>,
}

/// Minimum length of a phase, in nanoseconds, for comparing it with others.
const SHORTEST_COMPARED_NS: u64 = 3_000_000_000;

/// One measured phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseFigures {
    /// Length of the measured window, in nanoseconds.
    pub window_ns: u64,
    /// Everything counted in the window.
    pub total: Interval,
    /// Each second, all operations together.
    pub seconds: Vec<SeriesPoint>,
    /// Example errors, with their kinds.
    pub error_samples: Vec<(ErrorKind, String)>,
    /// Operations without a reply when the phase ended.
    pub in_flight_at_end: u64,
    /// Those of them that still had no reply when the wait for them ended.
    pub unanswered: u64,
    /// TCP segments retransmitted.
    pub retransmits: u64,
    /// Reconnects after connection losses.
    pub reconnects: u64,
    /// Why, and how often.
    pub reconnect_reasons: Vec<ReconnectReason>,
    /// RPC retransmits.
    pub retries: u64,
    /// Replies that arrived after their deadline.
    pub late_replies: u64,
    /// Connections in use.
    pub connections: u64,
    /// Smallest MSS of all connections, in bytes; 0 if unknown.
    pub mss_bytes: u32,
    /// The client's cores and NIC during the window.
    pub client: ClientLoad,
    /// What limited it.
    pub limit: Option<Bottleneck>,
}

/// The client's hardware during one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientLoad {
    /// Every core, in the kernel's order; empty if the kernel did not report them.
    pub cores: Vec<CoreLoad>,
    /// The NIC that leads to the address; `None` if it was not found.
    pub nic: Option<CardFacts>,
}

impl ClientLoad {
    /// The core with the least idle time.
    pub fn busiest(&self) -> Option<CoreLoad> {
        self.cores.iter().copied().max_by(|a, b| a.busy.total_cmp(&b.busy))
    }

    /// Whether all cores were fully busy: a figure measured meanwhile does not measure a path.
    pub fn is_full(&self) -> bool {
        let busy: f64 = self.cores.iter().map(|core| core.busy).sum();
        !self.cores.is_empty() && busy >= ALL_FULL * self.cores.len() as f64
    }

    /// The largest share of a core's time that the hypervisor gave to others.
    pub fn steal(&self) -> f64 {
        self.cores.iter().map(|core| core.steal).fold(0.0, f64::max)
    }
}

impl PhaseFigures {
    /// Bytes per second over the exact window.
    pub fn rate(&self) -> units::ByteRate {
        units::ByteRate::of(self.total.bytes(), self.window_ns)
    }

    /// The highest rate consistent with the phase's seconds, in bytes per second: the upper end of the 95 % interval.
    /// `None` if the phase was too short to tell.
    pub fn highest_rate(&self) -> Option<f64> {
        if self.window_ns < SHORTEST_COMPARED_NS {
            return None;
        }
        let rates: Vec<f64> = self.seconds.iter().map(SeriesPoint::bytes_per_s).collect();
        let estimate = stats::estimate(&rates);
        Some(self.rate().0 + (estimate.high - estimate.low) / 2.0)
    }

    /// The operations that move data, whose latency is shown.
    pub fn data_ops(&self) -> OpStats {
        let mut merged = OpStats::default();
        for (kind, stats) in &self.total.ops {
            if kind.moves_bytes() {
                merged.merge(stats);
            }
        }
        merged
    }

    /// Failed operations of every kind, by kind of error; kinds that did not occur are left out.
    pub fn errors(&self) -> Vec<(ErrorKind, u64)> {
        ErrorKind::ALL
            .iter()
            .map(|kind| {
                let count = self.total.ops.iter().map(|(_, stats)| stats.errors[*kind as usize]);
                (*kind, count.sum())
            })
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Number of failed operations.
    pub fn failed(&self) -> u64 {
        self.errors().iter().map(|(_, count)| count).sum()
    }

    /// Number of successful operations.
    pub fn ok(&self) -> u64 {
        self.total.ops.iter().map(|(_, stats)| stats.ok).sum()
    }
}

/// What the write phase left on the target, including work outside the measured window: what other clients see while
/// the read phase runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WrittenData {
    /// Number of files or objects.
    pub objects: u64,
    /// Total bytes in them.
    pub bytes: u64,
}

/// The result for one data address and protocol.
#[derive(Clone, Debug)]
pub struct CheckRow {
    /// The address.
    pub path: DataAddressFacts,
    /// The scheme of the protocol.
    pub protocol: &'static str,
    /// How it ended.
    pub outcome: RowOutcome,
    /// Why it did not succeed, in one line.
    pub cause: Option<String>,
    /// The write phase, if it started.
    pub write: Option<PhaseFigures>,
    /// The read phase, if it started.
    pub read: Option<PhaseFigures>,
    /// What was on the target after the write phase.
    pub written: Option<WrittenData>,
    /// Things that work but look wrong, such as a path that does not carry jumbo frames.
    pub warnings: Vec<String>,
}

impl CheckRow {
    /// A row that has not started.
    pub fn new(path: DataAddressFacts, protocol: &'static str) -> Self {
        Self {
            path,
            protocol,
            outcome: RowOutcome::Interrupted,
            cause: None,
            write: None,
            read: None,
            written: None,
            warnings: Vec::new(),
        }
    }

    /// Protocol and address, such as `nfs 10.0.0.1`.
    pub fn label(&self) -> String {
        format!("{} {}", self.protocol, self.path.address)
    }

    /// The same row, marked as failed.
    pub fn failed(mut self, outcome: RowOutcome, cause: impl Into<String>) -> Self {
        self.outcome = outcome;
        self.cause = Some(cause.into());
        self
    }

    /// The phases that ran, with their names.
    pub fn phases(&self) -> impl Iterator<Item = (&'static str, &PhaseFigures)> {
        [("write", &self.write), ("read", &self.read)]
            .into_iter()
            .filter_map(|(name, phase)| phase.as_ref().map(|phase| (name, phase)))
    }
}
