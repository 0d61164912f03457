//! One row of the report: one data address, one protocol, and how it went.

use std::net::IpAddr;

use drivers::ReconnectReason;
use fleet::probe::{CardFacts, CoreLoad};
use metrics::{ErrorKind, Interval, OpStats, SeriesPoint};
use stats::limit::{ALL_FULL, Bottleneck};

/// The phases of a row, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPhase {
    /// Data is written.
    Write,
    /// It is read back.
    Read,
}

impl CheckPhase {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
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
    /// The target could not be reached through this address, in the words of its protocol.
    Unreachable(&'static str),
    /// Nothing could be written, or some writes failed.
    WriteFailed,
    /// Nothing could be read, or some reads failed.
    ReadFailed,
    /// Bytes came back that were not written.
    DataCorrupt,
    /// All answers came, and none within the measured time: it was too short for the path, or for a host that is this busy.
    NotMeasured,
    /// The user stopped the run before this row was through.
    Interrupted,
}

impl RowOutcome {
    /// The words in every output.
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

/// What the array says of a data address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddressFacts {
    /// The address.
    pub address: IpAddr,
    /// Subnet it belongs to, when an array told.
    pub subnet: Option<String>,
    /// MTU configured on the array's side, in bytes, when an array told.
    pub array_mtu: Option<u32>,
}

/// Shorter phases than this are not compared with each other.
const SHORTEST_COMPARED_NS: u64 = 3_000_000_000;

/// One measured phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseFigures {
    /// Length of the measured window, in nanoseconds.
    pub window_ns: u64,
    /// All that was counted in the window.
    pub total: Interval,
    /// Second by second, all operations together.
    pub seconds: Vec<SeriesPoint>,
    /// Examples of errors, with their kinds.
    pub error_samples: Vec<(ErrorKind, String)>,
    /// Operations without an answer when the phase ended.
    pub in_flight_at_end: u64,
    /// Those of them that still had none when waiting for them was over.
    pub unanswered: u64,
    /// TCP segments that were sent again.
    pub retransmits: u64,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Why, and how often.
    pub reconnect_reasons: Vec<ReconnectReason>,
    /// Messages that were sent again.
    pub retries: u64,
    /// Answers that came after their deadline.
    pub late_replies: u64,
    /// Connections in use.
    pub connections: u64,
    /// Smallest segment size of all connections, in bytes; 0 when unknown.
    pub mss_bytes: u32,
    /// What the client's cores and network card did in the window.
    pub client: ClientLoad,
    /// What held it back.
    pub limit: Option<Bottleneck>,
}

/// What the client's hardware did while one phase was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientLoad {
    /// Every core, in the kernel's order; empty when the kernel did not tell.
    pub cores: Vec<CoreLoad>,
    /// The card that leads to the address; `None` when it could not be found.
    pub nic: Option<CardFacts>,
}

impl ClientLoad {
    /// The core that had least time left.
    pub fn busiest(&self) -> Option<CoreLoad> {
        self.cores.iter().copied().max_by(|a, b| a.busy.total_cmp(&b.busy))
    }

    /// All cores were full: what was measured meanwhile is no measure of a path.
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

    /// The highest rate that the seconds of the phase leave possible, in bytes a second: the upper end of the 95 % interval. `None`
    /// where the phase was too short to tell.
    pub fn highest_rate(&self) -> Option<f64> {
        if self.window_ns < SHORTEST_COMPARED_NS {
            return None;
        }
        let rates: Vec<f64> = self.seconds.iter().map(SeriesPoint::bytes_per_s).collect();
        let estimate = stats::estimate(&rates);
        Some(self.rate().0 + (estimate.high - estimate.low) / 2.0)
    }

    /// The operations that move data: the ones whose latency is shown.
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

    /// How many operations failed.
    pub fn failed(&self) -> u64 {
        self.errors().iter().map(|(_, count)| count).sum()
    }

    /// How many operations ended well.
    pub fn ok(&self) -> u64 {
        self.total.ops.iter().map(|(_, stats)| stats.ok).sum()
    }
}

/// What the write phase left on the target, work outside the measured window included: what other
/// clients see while the read phase runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WrittenData {
    /// Files or objects.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// One data address and protocol.
#[derive(Clone, Debug)]
pub struct CheckRow {
    /// Where.
    pub path: DataAddressFacts,
    /// How: the scheme of the protocol.
    pub protocol: &'static str,
    /// How it ended.
    pub outcome: RowOutcome,
    /// Why it did not succeed, in one line.
    pub cause: Option<String>,
    /// The write phase, if it began.
    pub write: Option<PhaseFigures>,
    /// The read phase, if it began.
    pub read: Option<PhaseFigures>,
    /// What was on the target once the write phase had ended.
    pub written: Option<WrittenData>,
    /// Things that work but look wrong, such as a path that does not carry jumbo frames.
    pub warnings: Vec<String>,
}

impl CheckRow {
    /// A row that has not begun.
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

    /// The same row, ended in a failure.
    pub fn failed(mut self, outcome: RowOutcome, cause: impl Into<String>) -> Self {
        self.outcome = outcome;
        self.cause = Some(cause.into());
        self
    }

    /// The phases that were made, with their names.
    pub fn phases(&self) -> impl Iterator<Item = (&'static str, &PhaseFigures)> {
        [("write", &self.write), ("read", &self.read)]
            .into_iter()
            .filter_map(|(name, phase)| phase.as_ref().map(|phase| (name, phase)))
    }
}
