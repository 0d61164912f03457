//! What `manometer network` measured between hosts, and which link is worse than the others.

mod rule;

use serde::{Deserialize, Serialize};

use crate::Estimate;

pub use rule::{Degraded, LEAST_SHORTFALL, NetworkFinding, NetworkJudgement, judge_network};

/// Version of `schemas/network.schema.json`. Adding a field does not raise it; removing or redefining one does.
pub const NETWORK_VERSION: u32 = 1;

/// Every link that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkMatrix {
    /// The hosts' names; links refer to them by their place here.
    pub hosts: Vec<String>,
    /// In the order in which they were measured.
    pub links: Vec<NetworkLink>,
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
