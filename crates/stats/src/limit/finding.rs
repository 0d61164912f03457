//! What a verdict says.

use serde::{Deserialize, Serialize};

/// What held a result back, why it is thought so, and what to try next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Which part of the whole.
    pub bound: Bound,
    /// What of it.
    pub cause: Cause,
    /// How sure that is.
    pub confidence: Confidence,
    /// The core, card, path or disk that is meant; empty where it is none of them.
    pub place: String,
    /// Share of what there is that was used, from 0 to 1, where it is known.
    pub share: Option<f64>,
    /// All of it in one line.
    pub sentence: String,
    /// One line: what to try next.
    pub next: String,
    /// What was looked at.
    pub evidence: Vec<EvidenceRow>,
    /// With several hosts: each one's own finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostFinding>,
    /// What makes the figures doubtful: other programs' load on the same disks and cards, each in a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// Which part of the whole was narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The hosts that make the load.
    Client,
    /// What lies between them and the target.
    Network,
    /// The target.
    Target,
    /// The load itself asked for no more at once.
    Tool,
    /// None: all that was asked for was done.
    None,
    /// It cannot be said.
    Unclear,
}

impl Bound {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Bound::Client => "client-bound",
            Bound::Network => "network-bound",
            Bound::Target => "target-bound",
            Bound::Tool => "concurrency-limited",
            Bound::None => "not bound",
            Bound::Unclear => "unclear",
        }
    }
}

/// What of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A control group's quota of processor time was used up.
    CpuQuota,
    /// The hypervisor gave the cores to others.
    Steal,
    /// A worker's core was full.
    WorkerFull,
    /// All cores were full with this load.
    CoresFull,
    /// A core was full with packets.
    SoftirqCore,
    /// Other programs took the cores.
    OtherPrograms,
    /// There was too little memory.
    Memory,
    /// Data arrived faster than it was read.
    Unread,
    /// The send buffers were too small.
    SendBuffer,
    /// The host did what it was calibrated to.
    Ceiling,
    /// A card was full.
    LineRate,
    /// The network carried what it did in its own test.
    Baseline,
    /// The path carries no more.
    PathRate,
    /// Packets are lost.
    Loss,
    /// One path of several is slow.
    SlowPath,
    /// A window is too small for the path.
    Window,
    /// Packets are small.
    SmallPackets,
    /// The target does not take data as fast as it comes.
    NotTaken,
    /// A disk of this host is full.
    Disk,
    /// A control group limits a disk of this host.
    DiskQuota,
    /// Other programs load the disk or the card as well.
    ForeignLoad,
    /// Operations spend their time in the target.
    Service,
    /// Too few operations were in flight.
    Depth,
    /// The rate asked for was kept.
    Rate,
    /// The workload pauses.
    Paced,
    /// Too many operations failed.
    Errors,
    /// Nothing stands out.
    Nothing,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// By elimination, or from few samples.
    Low,
    /// One sign says so.
    Medium,
    /// Several signs agree.
    High,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// What.
    pub name: String,
    /// What was seen.
    pub value: String,
    /// From where on it counts as a limit; empty where there is none.
    pub limit: String,
    /// What it says.
    pub says: String,
}

/// A host's own finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFinding {
    /// Its name.
    pub host: String,
    /// Which part.
    pub bound: Bound,
    /// What of it.
    pub cause: Cause,
    /// In one line.
    pub sentence: String,
}

/// A finding of one host before its words are put together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) bound: Bound,
    pub(super) cause: Cause,
    pub(super) confidence: Confidence,
    pub(super) place: String,
    pub(super) share: Option<f64>,
    /// What was seen, without the bound's word.
    pub(super) why: String,
    pub(super) next: String,
}

impl Found {
    pub(super) fn new(bound: Bound, cause: Cause, confidence: Confidence, why: String, next: &str) -> Self {
        Self { bound, cause, confidence, place: String::new(), share: None, why, next: next.to_owned() }
    }

    pub(super) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    pub(super) fn share(mut self, share: f64) -> Self {
        self.share = Some(share);
        self
    }
}
