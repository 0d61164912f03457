//! What each host's network carried when measured alone, for the verdict of a load on that host.

use experiment::is_same_host;
use jiff::Timestamp;
use metrics::{Interval, OpKind};
use stats::NetworkMatrix;
use stats::limit::NetworkBaseline;
use store::{Baseline, BaselineContent, Store};

/// A load with less than this share of its bytes in one direction has no direction: what links carry both ways at once
/// depends on the mix.
const ONE_WAY: f64 = 0.95;

/// A host's figures, each from the newest network baseline that contains one.
#[derive(Clone, Debug, Default)]
pub struct OfHost {
    sent: Option<Known>,
    received: Option<Known>,
}

#[derive(Clone, Debug, PartialEq)]
struct Known {
    name: String,
    kept: Timestamp,
    bytes_per_s: f64,
    address: String,
}

/// Stored network baselines, newest first.
pub fn newest_first(store: &Store) -> Vec<Baseline> {
    // Unreadable baselines count as none: `manometer list --baselines` reports them when asked.
    let mut kept = store.baselines().unwrap_or_default();
    kept.sort_by_key(|baseline| std::cmp::Reverse(baseline.kept));
    kept
}

fn known(baseline: &Baseline, names: &[String], received: bool) -> Option<Known> {
    let BaselineContent::Network(matrix) = &baseline.content else { return None };
    let (bytes_per_s, address) = matrix.most(position(matrix, names)?, received)?;
    let (name, address) = (baseline.name.clone(), address.to_owned());
    Some(Known { name, kept: baseline.kept, bytes_per_s, address })
}

/// Index of a host with one of these names in a matrix.
pub fn position(matrix: &NetworkMatrix, names: &[String]) -> Option<u32> {
    let at = matrix.hosts.iter().position(|host| names.iter().any(|name| is_same_host(host, name)))?;
    u32::try_from(at).ok()
}

impl OfHost {
    /// For a host with these names; the newest baseline comes first.
    pub fn named(newest_first: &[Baseline], names: &[String]) -> Self {
        let find = |received: bool| newest_first.iter().find_map(|baseline| known(baseline, names, received));
        Self { sent: find(false), received: find(true) }
    }

    /// Whether there is any figure.
    pub fn is_known(&self) -> bool {
        self.sent.is_some() || self.received.is_some()
    }

    /// The figure to compare a load against: receive rate if it reads, send rate if it writes.
    pub fn of(&self, load: &Interval, now: Timestamp) -> Option<NetworkBaseline> {
        let received = receives(load.ops.iter().map(|(kind, ops)| (*kind, ops.bytes)))?;
        self.in_direction(received, now)
    }

    /// The figure of one direction.
    pub fn in_direction(&self, received: bool, now: Timestamp) -> Option<NetworkBaseline> {
        let known = if received { self.received.as_ref() } else { self.sent.as_ref() }?;
        Some(NetworkBaseline {
            name: known.name.clone(),
            age_s: now.duration_since(known.kept).as_secs_f64(),
            bytes_per_s: known.bytes_per_s,
            received,
            address: known.address.clone(),
        })
    }
}

/// Whether the bytes of a load came to this host; `None` when they went both ways, or none were moved.
pub fn receives(moved: impl Iterator<Item = (OpKind, u64)>) -> Option<bool> {
    let (mut received, mut sent) = (0, 0);
    for (kind, bytes) in moved {
        if kind.reads() {
            received += bytes;
        } else if kind.writes() {
            sent += bytes;
        }
    }
    let most = received.max(sent);
    (most > 0 && most as f64 >= ONE_WAY * (received + sent) as f64).then_some(received > sent)
}

#[cfg(test)]
mod tests {
    use stats::{LinkFacts, NetworkLink, estimate};

    use super::*;

    fn link(from: u32, to: u32, both_ways: bool, rate: Option<f64>) -> NetworkLink {
        NetworkLink {
            from,
            to,
            streams: 1,
            both_ways,
            throughput: rate.map(|rate| estimate(&[rate, rate])),
            failure: None,
            from_address: Some(format!("10.0.0.{from}")),
            to_address: Some(format!("10.0.0.{to}")),
            tcp: LinkFacts::default(),
        }
    }

    fn baseline(name: &str, kept_s: i64, links: Vec<NetworkLink>) -> Baseline {
        let hosts = ["a", "admin@b:2222", "c"].map(String::from).to_vec();
        let content = BaselineContent::Network(NetworkMatrix { hosts, links, path_mtus: Vec::new() });
        Baseline { name: name.into(), kept: Timestamp::from_second(kept_s).unwrap(), content }
    }

    fn moved(read: u64, written: u64) -> Interval {
        let mut load = Interval::default();
        load.op_mut(OpKind::Read).bytes = read;
        load.op_mut(OpKind::Write).bytes = written;
        load
    }

    fn figure(of: &OfHost, load: &Interval) -> Option<(String, f64, String, f64)> {
        let found = of.of(load, Timestamp::from_second(1000).unwrap())?;
        Some((found.name, found.bytes_per_s, found.address, found.age_s))
    }

    #[test]
    fn reads_are_held_against_what_was_received_and_writes_against_what_was_sent() {
        let links = vec![
            link(1, 0, false, Some(1e9)),
            link(2, 1, false, Some(2e9)),
            link(0, 1, false, Some(3e9)),
            link(0, 1, true, Some(9e9)),
            link(1, 2, false, None),
        ];
        let of = OfHost::named(&[baseline("new", 400, links)], &["b".to_owned()]);
        let expected = |rate| Some(("new".to_owned(), rate, "10.0.0.1".to_owned(), 600.0));
        assert_eq!(figure(&of, &moved(100, 0)), expected(3e9), "the best, one way");
        assert_eq!(figure(&of, &moved(0, 100)), expected(1e9));
        assert_eq!(figure(&of, &moved(96, 4)), expected(3e9));
        assert_eq!(figure(&of, &moved(80, 20)), None, "both ways");
        assert_eq!(figure(&of, &moved(0, 0)), None);
    }

    #[test]
    fn the_newest_that_knows_the_host_in_this_direction_counts() {
        let newest_first = [
            baseline("newest", 900, vec![link(0, 2, false, Some(5e9))]),
            baseline("newer", 800, vec![link(0, 1, false, Some(4e9))]),
            baseline("old", 700, vec![link(0, 1, false, Some(1e9)), link(1, 0, false, Some(2e9))]),
        ];
        let of = OfHost::named(&newest_first, &["unknown".to_owned(), "b".to_owned()]);
        assert_eq!(figure(&of, &moved(1, 0)).unwrap().0, "newer");
        assert_eq!(figure(&of, &moved(0, 1)).unwrap().0, "old");
        let none = OfHost::named(&newest_first, &["unknown".to_owned()]);
        assert_eq!(figure(&none, &moved(1, 0)), None);
    }
}
