//! What one path between this machine and a server carried.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The connections between one local address and one address of the server, added up over a measured window. Counts
/// come from the kernel (`TCP_INFO`, tcp(7)): bytes are TCP payload and so include the protocol's headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFacts {
    /// This end.
    pub local: IpAddr,
    /// The network interface with this address, if known.
    #[serde(default)]
    pub interface: Option<String>,
    /// The other end.
    pub remote: SocketAddr,
    /// Connections open at the window's end.
    pub connections: u32,
    /// Connections closed inside the window.
    #[serde(default)]
    pub closed: u32,
    /// Bytes that the other end acknowledged.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmitted bytes.
    #[serde(default)]
    pub bytes_resent: u64,
    /// Smoothed round-trip time at the window's end, averaged over the connections, in microseconds.
    pub rtt_us: u32,
    /// Its maximum over the connections, in microseconds.
    #[serde(default)]
    pub rtt_max_us: u32,
    /// Minimum round-trip time seen by any of them, in microseconds; 0 if none was measured.
    #[serde(default)]
    pub rtt_min_us: u32,
    /// Minimum segment size towards the other end, in bytes.
    #[serde(default)]
    pub mss_bytes: u32,
    /// Minimum path MTU, in bytes.
    #[serde(default)]
    pub path_mtu_bytes: u32,
    /// Mean congestion window, in segments.
    #[serde(default)]
    pub congestion_window_segments: u32,
    /// Time with data to send or unacknowledged, in microseconds, over all connections.
    #[serde(default)]
    pub busy_us: u64,
    /// The part of it in which the receiver's window blocked sending, in microseconds.
    #[serde(default)]
    pub window_limited_us: u64,
    /// The part of it in which this side's send buffer was too small, in microseconds.
    #[serde(default)]
    pub buffer_limited_us: u64,
    /// Congestion control algorithm, such as `cubic`.
    #[serde(default)]
    pub congestion_control: String,
}

impl PathFacts {
    /// A path without any data yet.
    pub fn new(local: IpAddr, remote: SocketAddr) -> Self {
        Self {
            local,
            interface: None,
            remote,
            connections: 0,
            closed: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retransmits: 0,
            bytes_resent: 0,
            rtt_us: 0,
            rtt_max_us: 0,
            rtt_min_us: 0,
            mss_bytes: 0,
            path_mtu_bytes: 0,
            congestion_window_segments: 0,
            busy_us: 0,
            window_limited_us: 0,
            buffer_limited_us: 0,
            congestion_control: String::new(),
        }
    }

    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.bytes_sent.saturating_add(self.bytes_received)
    }

    /// Whether both have the same two ends.
    pub fn is_same_path(&self, other: &PathFacts) -> bool {
        self.local == other.local && self.remote == other.remote
    }

    /// Adds other connections on the same path.
    pub fn merge(&mut self, other: &PathFacts) {
        let mean = |mine: u32, theirs: u32| -> u32 {
            let (many, more) = (u64::from(self.connections), u64::from(other.connections));
            let sum = u64::from(mine) * many + u64::from(theirs) * more;
            (sum / (many + more).max(1)) as u32
        };
        let rtt_us = mean(self.rtt_us, other.rtt_us);
        let window = mean(self.congestion_window_segments, other.congestion_window_segments);
        (self.rtt_us, self.congestion_window_segments) = (rtt_us, window);
        self.rtt_max_us = self.rtt_max_us.max(other.rtt_max_us);
        self.rtt_min_us = least(self.rtt_min_us, other.rtt_min_us);
        self.mss_bytes = least(self.mss_bytes, other.mss_bytes);
        self.path_mtu_bytes = least(self.path_mtu_bytes, other.path_mtu_bytes);
        self.connections = self.connections.saturating_add(other.connections);
        self.closed = self.closed.saturating_add(other.closed);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.saturating_add(other.bytes_received);
        self.retransmits = self.retransmits.saturating_add(other.retransmits);
        self.bytes_resent = self.bytes_resent.saturating_add(other.bytes_resent);
        self.busy_us = self.busy_us.saturating_add(other.busy_us);
        self.window_limited_us = self.window_limited_us.saturating_add(other.window_limited_us);
        self.buffer_limited_us = self.buffer_limited_us.saturating_add(other.buffer_limited_us);
        if self.interface.is_none() {
            self.interface.clone_from(&other.interface);
        }
        if self.congestion_control.is_empty() {
            self.congestion_control.clone_from(&other.congestion_control);
        }
    }
}

/// The smaller of two known values; 0 stands for unknown.
fn least(one: u32, other: u32) -> u32 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_a_path_add_up() {
        let ends = ("10.0.0.1".parse().unwrap(), "10.0.0.9:2049".parse().unwrap());
        let one = PathFacts { connections: 3, rtt_us: 100, rtt_min_us: 50, ..PathFacts::new(ends.0, ends.1) };
        let mut sum =
            PathFacts { connections: 1, rtt_us: 500, mss_bytes: 8948, ..PathFacts::new(ends.0, ends.1) };
        sum.bytes_sent = u64::MAX;
        assert!(sum.is_same_path(&one));
        sum.merge(&PathFacts { bytes_sent: 5, ..one });
        assert_eq!((sum.connections, sum.rtt_us, sum.rtt_min_us, sum.mss_bytes), (4, 200, 50, 8948));
        assert_eq!(sum.bytes_sent, u64::MAX, "counts stay at their limit");
    }
}
