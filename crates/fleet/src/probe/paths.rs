//! This process's connections to targets, grouped by the addresses of both ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reactor::TcpInfo;
use reactor::live::{self, LiveConnection, Scope};

use super::echo::Echoed;
use super::sample::PathSample;
use super::source::share;

/// Maximum paths reported.
const MAX_PATHS: usize = 64;

/// State of the connections at the last sample.
#[derive(Debug, Default)]
pub(super) struct Paths {
    before: BTreeMap<u64, TcpInfo>,
    /// The NIC of each local address, looked up once.
    cards: BTreeMap<IpAddr, Option<String>>,
}

/// Sums over the connections of one path.
#[derive(Debug, Default)]
struct Sums {
    connections: u64,
    info: TcpInfo,
    rtt_us: u64,
    unread: u64,
    path_limited: u64,
}

impl Paths {
    /// Activity of each path since the last sample.
    pub(super) fn look(&mut self, scope: Option<Scope>, length_ns: u64) -> Vec<PathSample> {
        self.add(live::connections(scope), length_ns)
    }

    fn add(&mut self, connections: Vec<LiveConnection>, length_ns: u64) -> Vec<PathSample> {
        let mut sums: BTreeMap<(IpAddr, IpAddr), Sums> = BTreeMap::new();
        let mut now = BTreeMap::new();
        for connection in connections {
            let key = (connection.local.ip().to_canonical(), connection.remote.ip().to_canonical());
            // A new connection has all its counts since then.
            let since = connection.info.since(&self.before.get(&connection.id).copied().unwrap_or_default());
            now.insert(connection.id, connection.info);
            if sums.len() < MAX_PATHS || sums.contains_key(&key) {
                sums.entry(key).or_default().add(&since, connection.unread_bytes);
            }
        }
        self.before = now;
        let each = sums.iter().map(|((local, remote), sums)| {
            let card = self.cards.entry(*local).or_insert_with(|| drivers::interfaces::interface_of(*local));
            PathSample { card: card.clone(), ..sums.sample(*local, *remote, length_ns) }
        });
        each.collect()
    }
}

impl Sums {
    fn add(&mut self, since: &TcpInfo, unread: u32) {
        let sum = &mut self.info;
        sum.bytes_acknowledged += since.bytes_acknowledged;
        sum.bytes_received += since.bytes_received;
        sum.busy_us += since.busy_us;
        sum.window_limited_us += since.window_limited_us;
        sum.buffer_limited_us += since.buffer_limited_us;
        sum.retransmits += since.retransmits;
        sum.data_segments_sent += since.data_segments_sent;
        sum.received_out_of_order = sum.received_out_of_order.saturating_add(since.received_out_of_order);
        sum.data_segments_received += since.data_segments_received;
        sum.min_rtt_us = least(sum.min_rtt_us, since.min_rtt_us);
        sum.mss_bytes = least(sum.mss_bytes, since.mss_bytes);
        sum.peer_window_bytes = sum.peer_window_bytes.max(since.peer_window_bytes);
        sum.own_window_bytes = sum.own_window_bytes.max(since.own_window_bytes);
        self.connections += 1;
        self.rtt_us += u64::from(since.rtt_us);
        self.unread += u64::from(unread);
        self.path_limited += u64::from(since.bytes_acknowledged > 0 && !since.delivery_bounded_by_program);
    }

    fn sample(&self, local: IpAddr, remote: IpAddr, length_ns: u64) -> PathSample {
        let rate = |bytes: u64| super::source::per_second(bytes, length_ns) as u64;
        let many = self.connections.max(1);
        let time = |us: u64| share(us as f64 * 1000.0, length_ns as f64 * many as f64);
        PathSample {
            local,
            remote,
            connections: self.connections as u32,
            sent_bytes_per_s: rate(self.info.bytes_acknowledged),
            received_bytes_per_s: rate(self.info.bytes_received),
            busy: time(self.info.busy_us),
            window_limited: time(self.info.window_limited_us),
            buffer_limited: time(self.info.buffer_limited_us),
            retransmits: self.info.retransmits,
            segments_sent: self.info.data_segments_sent,
            out_of_order: self.info.received_out_of_order.into(),
            segments_received: self.info.data_segments_received,
            rtt_us: (self.rtt_us / many) as u32,
            min_rtt_us: self.info.min_rtt_us,
            echo_us: None,
            echoes: 0,
            echoes_lost: 0,
            card: None,
            path_limited: share(self.path_limited as f64, many as f64),
            mss_bytes: self.info.mss_bytes,
            peer_window_bytes: self.info.peer_window_bytes,
            own_window_bytes: self.info.own_window_bytes,
            unread_bytes: (self.unread / many) as u32,
        }
    }
}

/// The smaller of two, where 0 means unknown.
fn least(a: u32, b: u32) -> u32 {
    if a == 0 || (b != 0 && b < a) { b } else { a }
}

/// Adds the echo results to the paths.
pub(super) fn put_echoes(paths: &mut [PathSample], echoed: &[Option<Echoed>]) {
    for (path, echoed) in paths.iter_mut().zip(echoed) {
        let Some(echoed) = echoed else { continue };
        path.echoes = echoed.sent;
        path.echoes_lost = echoed.lost;
        path.echo_us = (echoed.answered > 0).then_some(echoed.least_us as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(id: u64, remote: [u8; 4], received: u64, busy_us: u64, min_rtt_us: u32) -> LiveConnection {
        LiveConnection {
            id,
            name: live::ConnectionName { protocol: "nfs", worker: 0, number: 0 },
            local: "10.0.0.1:800".parse().unwrap(),
            remote: (remote, 2049).into(),
            congestion_control: "".into(),
            at_ns: 0,
            unread_bytes: 100,
            info: TcpInfo { bytes_received: received, busy_us, min_rtt_us, rtt_us: 40, ..TcpInfo::default() },
        }
    }

    #[test]
    fn connections_of_a_path_are_added_up() {
        let mut paths = Paths::default();
        paths.add(vec![connection(1, [10, 0, 0, 2], 500, 1_000_000, 30)], 1_000_000_000);
        let now = vec![
            connection(1, [10, 0, 0, 2], 1500, 1_600_000, 30),
            connection(2, [10, 0, 0, 2], 200, 200_000, 0),
            connection(3, [10, 0, 0, 3], 1, 0, 9),
        ];
        let seen = paths.add(now, 1_000_000_000);
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].connections, seen[0].received_bytes_per_s, seen[0].min_rtt_us), (2, 1200, 30));
        assert_eq!((seen[0].busy, seen[0].rtt_us, seen[0].unread_bytes), (0.4, 40, 100));
        assert_eq!(seen[1].remote, IpAddr::from([10, 0, 0, 3]));
        assert_eq!(seen[0].path_limited, 0.0, "nothing was sent");
    }

    #[test]
    fn echoes_are_told_by_the_fastest() {
        let mut paths = Paths::default();
        let mut seen = paths.add(vec![connection(1, [10, 0, 0, 2], 1, 1, 1)], 1_000_000_000);
        put_echoes(&mut seen, &[Some(Echoed { sent: 5, answered: 4, lost: 1, least_us: 1000 })]);
        assert_eq!((seen[0].echo_us, seen[0].echoes, seen[0].echoes_lost), (Some(1000), 5, 1));
        put_echoes(&mut seen, &[Some(Echoed { sent: 5, answered: 0, lost: 5, least_us: 0 })]);
        assert_eq!(seen[0].echo_us, None);
    }
}
