//! What is known about connections: the facts of each, all open ones of the process, and the traffic of each path.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use metrics::PathFacts;
use reactor::live::ConnectionName;
use reactor::{Stream, TcpInfo};
use serde::{Deserialize, Serialize};

use crate::SessionFacts;

/// Maximum distinct reasons; later ones are counted with the last.
const REASONS_MAX: usize = 8;
/// Bytes kept of a reason's text.
const REASON_BYTES_MAX: usize = 300;

/// A reason for lost connections, and how many were lost for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectReason {
    /// What happened, for people, such as `the server closed the connection`.
    pub text: String,
    /// Connections lost for this reason.
    pub count: u64,
}

impl ReconnectReason {
    /// Adds `count` connections lost for a reason. The length of the list is bounded.
    pub fn count(reasons: &mut Vec<Self>, text: &str, count: u64) {
        let end = text.floor_char_boundary(REASON_BYTES_MAX);
        let text = &text[..end];
        let full = reasons.len() >= REASONS_MAX;
        let known = match reasons.iter().position(|reason| reason.text == text) {
            Some(at) => reasons.get_mut(at),
            None => reasons.last_mut().filter(|_| full),
        };
        match known {
            Some(reason) => reason.count = reason.count.saturating_add(count),
            None => reasons.push(Self { text: text.to_owned(), count }),
        }
    }

    /// The most frequent reason in words, followed by `; and others` when there are more; `None` when there is none.
    pub fn summary(reasons: &[Self]) -> Option<String> {
        // Among equally frequent reasons, the first.
        let most = reasons.iter().rev().max_by_key(|reason| reason.count)?;
        let others = if reasons.len() > 1 { "; and others" } else { "" };
        Some(format!("{}{others}", most.text))
    }
}

/// What is known of one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionFacts {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Maximum segment size in use, in bytes (`TCP_INFO`); 0 when unknown.
    pub mss_bytes: u32,
    /// Segments retransmitted since the connection was opened.
    pub retransmits: u64,
    /// All kernel statistics since the connection was opened.
    #[serde(default)]
    pub tcp: TcpInfo,
    /// Congestion control algorithm, such as `cubic`; empty when unknown.
    #[serde(default)]
    pub congestion_control: String,
}

impl ConnectionFacts {
    /// The kernel's current view of a connection.
    pub fn of(stream: &Stream) -> Self {
        let tcp = stream.tcp_info().unwrap_or_default();
        let congestion_control = stream.congestion_control().unwrap_or_default();
        Self::new(stream.local_addr(), stream.peer_addr(), tcp, congestion_control)
    }

    fn new(local: SocketAddr, remote: SocketAddr, tcp: TcpInfo, congestion_control: String) -> Self {
        let (mss_bytes, retransmits) = (tcp.mss_bytes, tcp.retransmits);
        Self { local, remote, mss_bytes, retransmits, tcp, congestion_control }
    }
}

/// A snapshot of a connection of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionNow {
    /// Unique within the process: two snapshots with the same id show the same connection, and their counts may be
    /// subtracted ([`TcpInfo::since`]).
    pub id: u64,
    /// `nfs`, `s3` or `tcp`.
    pub protocol: String,
    /// Number of its worker, from 0.
    pub worker: u32,
    /// Number within its worker, from 0.
    pub number: u32,
    /// When the kernel was queried, in nanoseconds of [`reactor::clock::now_ns`].
    pub at_ns: u64,
    /// The kernel's answer; counts are since the connection was opened.
    pub facts: ConnectionFacts,
}

/// All open connections of this process's sessions, in the order they were opened. May be called from any thread; it
/// neither asks nor delays a worker, and costs about a microsecond per connection.
pub fn watch() -> Vec<ConnectionNow> {
    let now = |live: reactor::live::LiveConnection| ConnectionNow {
        id: live.id,
        protocol: live.name.protocol.to_owned(),
        worker: live.name.worker,
        number: live.name.number,
        at_ns: live.at_ns,
        facts: ConnectionFacts::new(live.local, live.remote, live.info, live.congestion_control.to_string()),
    };
    reactor::live::connections(None).into_iter().map(now).collect()
}

/// Makes a connection visible to other threads ([`watch`]), as number `number` of worker `worker`.
pub(crate) fn show(stream: &Stream, protocol: &'static str, worker: u32, number: usize) {
    stream.name(ConnectionName { protocol, worker, number: number as u32 });
}

/// The connections of a session grouped by path: local address and server address. Counts are since the session began
/// and include closed connections. Interfaces are not looked up ([`crate::interfaces`]).
pub fn paths(facts: &SessionFacts) -> Vec<PathFacts> {
    let mut sums: BTreeMap<(IpAddr, SocketAddr), PathFacts> = BTreeMap::new();
    let open = facts.connections.iter().map(path_of);
    for path in open.chain(facts.closed_paths.iter().cloned()) {
        let sum =
            sums.entry((path.local, path.remote)).or_insert_with(|| PathFacts::new(path.local, path.remote));
        sum.merge(&path);
    }
    sums.into_values().collect()
}

/// Traffic of the paths between two snapshots of the same session: counts are differences, everything else is from the
/// later one.
pub fn paths_between(earlier: &SessionFacts, later: &SessionFacts) -> Vec<PathFacts> {
    let before = paths(earlier);
    let mut after = paths(later);
    for path in &mut after {
        let Some(old) = before.iter().find(|old| old.is_same_path(path)) else { continue };
        path.closed = path.closed.saturating_sub(old.closed);
        path.bytes_sent = path.bytes_sent.saturating_sub(old.bytes_sent);
        path.bytes_received = path.bytes_received.saturating_sub(old.bytes_received);
        path.retransmits = path.retransmits.saturating_sub(old.retransmits);
        path.bytes_resent = path.bytes_resent.saturating_sub(old.bytes_resent);
        path.busy_us = path.busy_us.saturating_sub(old.busy_us);
        path.window_limited_us = path.window_limited_us.saturating_sub(old.window_limited_us);
        path.buffer_limited_us = path.buffer_limited_us.saturating_sub(old.buffer_limited_us);
    }
    after
}

/// A path with one open connection.
fn path_of(facts: &ConnectionFacts) -> PathFacts {
    let tcp = &facts.tcp;
    PathFacts {
        connections: 1,
        bytes_sent: tcp.bytes_acknowledged,
        bytes_received: tcp.bytes_received,
        retransmits: tcp.retransmits,
        bytes_resent: tcp.bytes_resent,
        rtt_us: tcp.rtt_us,
        rtt_max_us: tcp.rtt_us,
        rtt_min_us: tcp.min_rtt_us,
        mss_bytes: tcp.mss_bytes,
        path_mtu_bytes: tcp.path_mtu_bytes,
        congestion_window_segments: tcp.congestion_window_segments,
        busy_us: tcp.busy_us,
        window_limited_us: tcp.window_limited_us,
        buffer_limited_us: tcp.buffer_limited_us,
        congestion_control: facts.congestion_control.clone(),
        ..PathFacts::new(facts.local.ip(), facts.remote)
    }
}

/// Maximum paths whose closed connections are tracked separately: more indicates a broken configuration.
const MAX_CLOSED_PATHS: usize = 4096;

/// Adds a closing connection to the totals of its path.
pub(crate) fn note_closed(closed: &mut Vec<PathFacts>, stream: &Stream) {
    let facts = ConnectionFacts::of(stream);
    let path = PathFacts { connections: 0, closed: 1, ..path_of(&facts) };
    if let Some(known) = closed.iter_mut().find(|known| known.is_same_path(&path)) {
        known.merge(&path);
    } else if closed.len() < MAX_CLOSED_PATHS {
        closed.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(local: &str, remote: &str, sent: u64) -> ConnectionFacts {
        let tcp = TcpInfo { bytes_acknowledged: sent, rtt_us: 10, busy_us: sent, ..TcpInfo::default() };
        ConnectionFacts::new(local.parse().unwrap(), remote.parse().unwrap(), tcp, "cubic".to_owned())
    }

    #[test]
    fn reasons_are_counted_and_stay_few() {
        let mut reasons = Vec::new();
        assert_eq!(ReconnectReason::summary(&reasons), None);
        ReconnectReason::count(&mut reasons, "reset", 2);
        assert_eq!(ReconnectReason::summary(&reasons).as_deref(), Some("reset"));
        for _ in 0..3 {
            ReconnectReason::count(&mut reasons, "closed", 1);
        }
        assert_eq!(ReconnectReason::summary(&reasons).as_deref(), Some("closed; and others"));
        for number in 0..1000 {
            ReconnectReason::count(&mut reasons, &format!("{number} {}", "ü".repeat(1000)), 1);
        }
        assert_eq!(reasons.len(), REASONS_MAX);
        assert!(reasons.iter().all(|reason| reason.text.len() <= REASON_BYTES_MAX));
        assert_eq!(reasons.iter().map(|reason| reason.count).sum::<u64>(), 1005);
    }

    #[test]
    fn connections_are_added_up_by_path_over_the_window() {
        let earlier = SessionFacts {
            connections: vec![
                connection("10.0.0.1:1000", "10.0.0.9:2049", 100),
                connection("10.0.0.1:1001", "10.0.0.9:2049", 50),
                connection("10.0.1.1:1002", "10.0.1.9:2049", 7),
            ],
            ..SessionFacts::default()
        };
        let mut later = SessionFacts {
            connections: vec![
                connection("10.0.0.1:1000", "10.0.0.9:2049", 1100),
                connection("10.0.1.1:1002", "10.0.1.9:2049", 17),
            ],
            ..SessionFacts::default()
        };
        // The first path's second connection was lost after 70 bytes.
        let lost = path_of(&connection("10.0.0.1:1001", "10.0.0.9:2049", 70));
        later.closed_paths.push(PathFacts { connections: 0, closed: 1, ..lost });
        let paths = paths_between(&earlier, &later);
        let figures: Vec<(String, u64, u32, u32)> = paths
            .iter()
            .map(|path| (path.remote.ip().to_string(), path.bytes_sent, path.connections, path.closed))
            .collect();
        assert_eq!(figures, [("10.0.0.9".to_owned(), 1020, 1, 1), ("10.0.1.9".to_owned(), 10, 1, 0)]);
        assert_eq!((paths[0].rtt_us, &*paths[0].congestion_control), (10, "cubic"));
    }
}
