//! What limited a phase: same evidence and same judgement as in `manometer run`.

use engine::StageResult;
use experiment::Cell;
use fleet::probe::HostSample;
use runner::bottleneck::{Alone, HostPart, of_cell, own_host};
use stats::limit::{Bottleneck, Cause};

/// Judges a phase by its result and this host's samples.
pub fn find(
    cell: &Cell,
    alone: &Alone,
    result: &StageResult,
    samples: Vec<HostSample>,
) -> Option<Bottleneck> {
    // A check runs on one host only, and its targets are behind a network.
    let (machine, place) = ("", None);
    let part = HostPart { name: &own_host(), machine, place, alone: Some(alone), samples, result };
    Some(in_flags(cell.workload.queue_depth, of_cell(cell, result, &[part], &[])?))
}

/// Phrases the advice in terms of this command's flags; a worker has this many lanes.
pub(super) fn in_flags(lanes: u32, finding: Bottleneck) -> Bottleneck {
    let next = match finding.cause {
        Cause::Depth => format!("more in flight: --lanes {} and more", lanes.saturating_mul(4).max(8)),
        Cause::Nothing => "measure longer: --duration 10s and more".to_owned(),
        _ => return finding,
    };
    Bottleneck { next, ..finding }
}

#[cfg(test)]
mod tests {
    use stats::limit::{Bound, Card, Evidence, Host, Path, judge};

    use super::*;

    /// Writes of 1 MiB on 32 lanes that wait for a target, with everything else far from its limit.
    fn quiet() -> Host {
        let load = stats::limit::ObservedLoad {
            seconds: 10.0,
            lanes: 32.0,
            ops_per_s: 320.0,
            bytes_per_s: 335e6,
            latency_s: 0.1,
            median_s: 0.1,
            p99_s: 0.12,
            ..stats::limit::ObservedLoad::default()
        };
        let path = Path {
            name: "192.168.170.11".into(),
            connections: 8.0,
            sent: 340e6,
            busy: 0.4,
            segments: 100_000,
            least_rtt_s: 0.0001,
            echo_s: Some(0.00015),
            mss_bytes: 8948,
            peer_window: 3e6,
            ..Path::default()
        };
        let card = Card { name: "eth0".into(), speed: Some(12.5e9), bytes_per_s: 350e6, ..Card::default() };
        let (cards, paths) = (vec![card], vec![path]);
        Host {
            load,
            samples: 10,
            cores: 8.0,
            busy: 0.2,
            ran: 0.3,
            workers: 4,
            cards,
            paths,
            ..Host::default()
        }
    }

    fn of(change: impl Fn(&mut Host)) -> Bottleneck {
        let mut host = quiet();
        change(&mut host);
        in_flags(16, judge(&Evidence { load: host.load.clone(), hosts: vec![host], ..Evidence::default() }))
    }

    #[test]
    fn each_part_of_the_whole_is_named() {
        let bound = |change: fn(&mut Host)| of(change).bound;
        assert_eq!(bound(|_| {}), Bound::Target);
        assert_eq!(bound(|host| host.ran = 0.97), Bound::Client);
        assert_eq!(bound(|host| host.cards[0].bytes_per_s = 12e9), Bound::Network);
        assert_eq!(bound(|host| host.ceiling_bytes_per_s = Some(340e6)), Bound::Client);
        assert_eq!(bound(|host| host.samples = 0), Bound::Unclear);
        // Only a path that is always in use can be the limit.
        let queue = |host: &mut Host| (host.paths[0].echo_s, host.paths[0].busy) = (Some(0.02), 0.9);
        assert_eq!(of(queue).cause, Cause::PathRate);
    }

    #[test]
    fn what_to_try_is_said_in_the_flags_of_check() {
        let one = |host: &mut Host| {
            (host.load.lanes, host.load.ops_per_s, host.load.latency_s) = (1.0, 200.0, 0.005);
        };
        let found = of(one);
        assert_eq!(found.bound, Bound::Tool);
        assert!(found.next.contains("--lanes 64"), "{}", found.next);
        assert!(of(|host| host.samples = 0).next.contains("--duration"));
    }
}
