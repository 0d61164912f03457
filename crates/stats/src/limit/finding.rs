//! The content of a verdict.

use serde::{Deserialize, Serialize};

use super::probe::Probe;

/// What held a result back, the reason for that conclusion, and what to try next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// Which part of the system is the bottleneck.
    pub bound: Bound,
    /// What exactly in that part.
    pub cause: Cause,
    /// How sure that is.
    pub confidence: Confidence,
    /// The core, NIC, path or disk in question; empty if it is none of them.
    pub place: String,
    /// Utilisation from 0 to 1, where it is known.
    pub share: Option<f64>,
    /// The whole finding in one line.
    pub sentence: String,
    /// What to try next, in one line.
    pub next: String,
    /// The evidence considered.
    pub evidence: Vec<EvidenceRow>,
    /// With several hosts, the finding of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostFinding>,
    /// How busy each observed host of the server was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerFinding>,
    /// Reasons to doubt the figures: other programs' load on the same disks and NICs, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// The results at half and twice the concurrency, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

/// The part of the system that was the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The load-generating hosts.
    Client,
    /// The network between them and the target.
    Network,
    /// The target.
    Target,
    /// The load itself: it kept no more in flight.
    Tool,
    /// Nothing: the requested load was done in full.
    None,
    /// It cannot be determined.
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

/// The cause within the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A control group exhausted its CPU quota.
    CpuQuota,
    /// The hypervisor gave the cores to other guests.
    Steal,
    /// A worker's core was full.
    WorkerFull,
    /// This load filled all cores.
    CoresFull,
    /// Packet processing filled a core.
    SoftirqCore,
    /// Other programs took the cores.
    OtherPrograms,
    /// Memory was short.
    Memory,
    /// Data arrived faster than it was read.
    Unread,
    /// The send buffers were too small.
    SendBuffer,
    /// The host reached its calibrated ceiling.
    Ceiling,
    /// A NIC was full.
    LineRate,
    /// The network reached its baseline.
    Baseline,
    /// The path carries no more.
    PathRate,
    /// Packets are lost.
    Loss,
    /// One path of several is slow.
    SlowPath,
    /// A TCP window is too small for the path.
    Window,
    /// Packets are small.
    SmallPackets,
    /// The target does not accept data as fast as it arrives.
    NotTaken,
    /// A disk of this host is full.
    Disk,
    /// A control group throttles a disk of this host.
    DiskQuota,
    /// Other programs also load the disk or the NIC.
    ForeignLoad,
    /// A disk of an observed server is busy all the time.
    ServerDisk,
    /// A NIC of an observed server is full.
    ServerLineRate,
    /// All cores of an observed server are full.
    ServerCores,
    /// One core of an observed server is full.
    ServerCore,
    /// Operations spend their time in the target.
    Service,
    /// Too few operations were in flight.
    Depth,
    /// The requested rate was kept.
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
    /// One indication.
    Medium,
    /// Several indications agree.
    High,
}

impl Confidence {
    /// The words that follow the bound.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Confidence::High => "",
            Confidence::Medium => " (likely)",
            Confidence::Low => " (a guess)",
        }
    }
}

/// One item of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// What was looked at.
    pub name: String,
    /// The observed value.
    pub value: String,
    /// Threshold above which it counts as a limit; empty if there is none.
    pub limit: String,
    /// What it means.
    pub says: String,
}

/// A host's own finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFinding {
    /// Its name.
    pub host: String,
    /// Which part of the system.
    pub bound: Bound,
    /// What exactly in that part.
    pub cause: Cause,
    /// The finding in one line.
    pub sentence: String,
}

/// How busy an observed host of the server was, as means over the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerFinding {
    /// Its name.
    pub host: String,
    /// Samples taken; with none, nothing is known.
    pub samples: u32,
    /// Busy share of all cores' time, from 0 to 1.
    pub busy: f64,
    /// Its busiest core.
    pub core: Option<ServerPart>,
    /// Its busiest disk.
    pub disk: Option<ServerPart>,
    /// Its NIC with the largest share of its line rate; without a known line rate, the one that carries most.
    pub nic: Option<ServerPart>,
}

/// A core, a disk or a NIC of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerPart {
    /// The kernel's name or number for it.
    pub name: String,
    /// Busy share of its time, or share of its line rate, from 0 to 1; `None` where unknown.
    pub share: Option<f64>,
    /// Bytes per second: of a disk both directions together, of a NIC the busier one, of a core 0.
    pub bytes_per_s: f64,
    /// What it did when measured alone, in the direction in which it moves more, in payload bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_bytes_per_s: Option<f64>,
}

/// The finding of one host before its sentence is composed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) bound: Bound,
    pub(super) cause: Cause,
    pub(super) confidence: Confidence,
    pub(super) place: String,
    pub(super) share: Option<f64>,
    /// The observation, without naming the bound.
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
