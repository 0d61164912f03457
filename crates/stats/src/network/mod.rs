//! What `manometer network` measured between hosts, and which link is worse than the others.

mod rule;

use serde::{Deserialize, Serialize};

use crate::Estimate;

pub use rule::{Degraded, MIN_SHORTFALL, NetworkFinding, NetworkJudgement, judge_network};

/// Version of `schemas/network.schema.json`. Adding a field does not raise it; removing or redefining one does.
pub const NETWORK_VERSION: u32 = 1;

/// Every measured link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkMatrix {
    /// The hosts' names; links refer to them by index.
    pub hosts: Vec<String>,
    /// In the order in which they were measured.
    pub links: Vec<NetworkLink>,
    /// Path MTUs, where probed; each direction once.
    #[serde(default)]
    pub path_mtus: Vec<NetworkPathMtu>,
}

/// Path MTU from one host to another, from probes acknowledged by the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPathMtu {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The largest packet that arrived, IP header included, in bytes; absent when no probe was answered.
    pub bytes: Option<u32>,
    /// The path MTU according to the sender's kernel after the probes, in bytes.
    pub believed_bytes: Option<u32>,
    /// Why it is unknown, in one line.
    pub failure: Option<String>,
}

impl NetworkPathMtu {
    /// Packets that the kernel would send vanish silently: returns the largest that arrives and the largest that is
    /// sent.
    pub fn black_hole(&self) -> Option<(u32, u32)> {
        let (bytes, believed) = (self.bytes?, self.believed_bytes?);
        (bytes < believed).then_some((bytes, believed))
    }
}

/// One direction between two hosts, measured in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkLink {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Number of TCP connections.
    pub streams: u32,
    /// The other direction was loaded at the same time.
    pub both_ways: bool,
    /// Bytes per second that arrived; absent if the measurement failed.
    pub throughput: Option<Estimate>,
    /// Why the measurement failed, in one line.
    pub failure: Option<String>,
    /// The sender's address.
    pub from_address: Option<String>,
    /// The receiver's address.
    pub to_address: Option<String>,
    /// The sending kernel's data about the connections.
    pub tcp: LinkFacts,
}

/// The sending kernel's data about the connections of a link (`TCP_INFO`, tcp(7)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkFacts {
    /// Retransmitted segments, over all connections.
    pub retransmits: u64,
    /// Smoothed round-trip time under load, in nanoseconds: the maximum over the connections.
    pub round_trip_ns: Option<u64>,
    /// Minimum round-trip time observed, in nanoseconds.
    pub least_round_trip_ns: Option<u64>,
    /// Bytes allowed in flight, over all connections.
    pub congestion_window_bytes: Option<u64>,
    /// Largest segment, in bytes: the minimum over the connections.
    pub mss_bytes: Option<u32>,
    /// Path MTU, in bytes.
    pub path_mtu_bytes: Option<u32>,
    /// What held the senders back.
    pub limits: Option<LinkLimits>,
}

/// What the senders of a link waited for, as shares of time that add up to at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// There was nothing to send: the sending program limits.
    pub sender: f64,
    /// The receiver's window was full: the receiving program, or its buffers.
    pub receiver_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
    /// None of these: data in flight filled the congestion window, so the network limits.
    pub network: f64,
}

impl LinkLimits {
    /// The limit that held the senders back most, in a word or two.
    pub fn most(&self) -> &'static str {
        let all = [
            (self.network, "network"),
            (self.receiver_window, "receiver window"),
            (self.send_buffer, "send buffer"),
            (self.sender, "sender"),
        ];
        let most = all.iter().fold((f64::MIN, ""), |best, one| if one.0 > best.0 { *one } else { best });
        most.1
    }
}

impl NetworkMatrix {
    /// `a → b`, with the hosts' names.
    pub fn name(&self, from: u32, to: u32) -> String {
        format!("{} → {}", self.host(from), self.host(to))
    }

    /// A host's name.
    pub fn host(&self, number: u32) -> &str {
        self.hosts.get(number as usize).map_or("?", String::as_str)
    }

    /// The path MTU from one host to another, where probed.
    pub fn path_mtu(&self, from: u32, to: u32) -> Option<&NetworkPathMtu> {
        self.path_mtus.iter().find(|path| (path.from, path.to) == (from, to))
    }

    /// The most that a host received, or sent, over one of its links while the other direction was idle, in bytes per
    /// second, and the host's measured address; `None` if no link of the host was measured in this direction.
    pub fn most(&self, host: u32, received: bool) -> Option<(f64, &str)> {
        let own = self.links.iter().filter(|link| !link.both_ways).filter_map(|link| {
            let (end, address) = match received {
                true => (link.to, &link.to_address),
                false => (link.from, &link.from_address),
            };
            let rate = link.throughput.filter(|_| end == host)?.mean;
            Some((rate, address.as_deref()?))
        });
        own.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The measurement modes: number of streams, and whether both ways at once; links are compared only within a mode.
    pub fn kinds(&self) -> Vec<(u32, bool)> {
        let mut kinds: Vec<_> = self.links.iter().map(|link| (link.streams, link.both_ways)).collect();
        kinds.sort_unstable_by_key(|(streams, both)| (*both, *streams));
        kinds.dedup();
        kinds
    }

    /// The links measured in a mode.
    pub fn of_kind(&self, kind: (u32, bool)) -> impl Iterator<Item = &NetworkLink> {
        self.links.iter().filter(move |link| (link.streams, link.both_ways) == kind)
    }
}
