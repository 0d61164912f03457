//! What `manometer network` measured between hosts, and which link is worse than the others.

mod rule;

use serde::{Deserialize, Serialize};

use crate::Estimate;

pub use rule::{Degraded, MIN_SHORTFALL, NetworkFinding, NetworkJudgement, judge_network};

/// Version of `schemas/network.schema.json`. Adding a field does not raise it; removing or redefining one does.
pub const NETWORK_VERSION: u32 = 1;

/// Every link that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkMatrix {
    /// The hosts' names; links refer to them by their place here.
    pub hosts: Vec<String>,
    /// In the order in which they were measured.
    pub links: Vec<NetworkLink>,
    /// How large packets may be, where that was probed; each direction once.
    #[serde(default)]
    pub path_mtus: Vec<NetworkPathMtu>,
}

/// How large a packet may be on its way from one host to another, by probes that the other acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPathMtu {
    /// Who sent.
    pub from: u32,
    /// Who answered.
    pub to: u32,
    /// The largest packet that arrived, IP header included, in bytes; absent when no probe was answered.
    pub bytes: Option<u32>,
    /// What the sender's kernel holds the path to be capable of after the probes, in bytes.
    pub believed_bytes: Option<u32>,
    /// Why it is not known, in a line.
    pub failure: Option<String>,
}

impl NetworkPathMtu {
    /// Packets that the kernel would send vanish without a word: the largest that arrives, and the largest that is sent.
    pub fn black_hole(&self) -> Option<(u32, u32)> {
        let (bytes, believed) = (self.bytes?, self.believed_bytes?);
        (bytes < believed).then_some((bytes, believed))
    }
}

/// One direction between two hosts, measured in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkLink {
    /// Who sent.
    pub from: u32,
    /// Who received.
    pub to: u32,
    /// TCP connections.
    pub streams: u32,
    /// The other direction was loaded at the same time.
    pub both_ways: bool,
    /// Bytes a second that arrived; absent when nothing could be measured.
    pub throughput: Option<Estimate>,
    /// Why nothing could be measured, in a line.
    pub failure: Option<String>,
    /// The sender's address.
    pub from_address: Option<String>,
    /// The receiver's.
    pub to_address: Option<String>,
    /// What the sending kernel knew of the connections.
    pub tcp: LinkFacts,
}

/// What the kernel knew of the connections of a link (`TCP_INFO`, tcp(7)), at the sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkFacts {
    /// Segments sent again, over all connections.
    pub retransmits: u64,
    /// Smoothed round trip under load, in nanoseconds: the greatest of the connections'.
    pub round_trip_ns: Option<u64>,
    /// The shortest round trip that was seen, in nanoseconds.
    pub least_round_trip_ns: Option<u64>,
    /// Bytes that may be on their way, over all connections.
    pub congestion_window_bytes: Option<u64>,
    /// Largest segment, in bytes: the least of the connections'.
    pub mss_bytes: Option<u32>,
    /// Largest packet that passes the whole path, in bytes.
    pub path_mtu_bytes: Option<u32>,
    /// What held the senders back.
    pub limits: Option<LinkLimits>,
}

/// What the senders of a link waited for, as shares of the time; together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLimits {
    /// There was nothing to send: the sending program.
    pub sender: f64,
    /// The receiver's window was full: the receiving program, or its buffers.
    pub receiver_window: f64,
    /// The send buffer was full.
    pub send_buffer: f64,
    /// Neither: what was on its way filled the congestion window. This is the network.
    pub network: f64,
}

impl LinkLimits {
    /// The one that held the senders back most, in a word or two.
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
    /// `a → b`, by the hosts' names.
    pub fn name(&self, from: u32, to: u32) -> String {
        format!("{} → {}", self.host(from), self.host(to))
    }

    /// A host's name.
    pub fn host(&self, number: u32) -> &str {
        self.hosts.get(number as usize).map_or("?", String::as_str)
    }

    /// How large packets may be from one host to another, where that was probed.
    pub fn path_mtu(&self, from: u32, to: u32) -> Option<&NetworkPathMtu> {
        self.path_mtus.iter().find(|path| (path.from, path.to) == (from, to))
    }

    /// The most that a host received, or sent, over one of its links while the other direction was idle, in bytes a second, and
    /// the address of the host that was measured; `None` when no link of it was measured in this direction.
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

    /// The ways in which links were measured: streams, and whether both ways at once; each is compared within itself.
    pub fn kinds(&self) -> Vec<(u32, bool)> {
        let mut kinds: Vec<_> = self.links.iter().map(|link| (link.streams, link.both_ways)).collect();
        kinds.sort_unstable_by_key(|(streams, both)| (*both, *streams));
        kinds.dedup();
        kinds
    }

    /// The links that were measured in a way.
    pub fn of_kind(&self, kind: (u32, bool)) -> impl Iterator<Item = &NetworkLink> {
        self.links.iter().filter(move |link| (link.streams, link.both_ways) == kind)
    }
}
