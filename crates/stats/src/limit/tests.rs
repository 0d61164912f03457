//! Tests of the rules, with synthetic evidence.

use super::*;

/// A host whose load waits for a target behind a network with spare capacity: four jobs of eight lanes, 1 MiB writes.
pub(super) fn quiet() -> Host {
    let load = ObservedLoad {
        kind: TargetMedium::Network,
        seconds: 10.0,
        lanes: 32.0,
        ops_per_s: 320.0,
        bytes_per_s: 335e6,
        latency_s: 0.1,
        median_s: 0.1,
        p99_s: 0.12,
        ..ObservedLoad::default()
    };
    let path = Path {
        name: "10.0.0.2".into(),
        own: "10.0.0.1".into(),
        connections: 4.0,
        sent: 340e6,
        received: 1e6,
        busy: 0.4,
        segments: 100_000,
        rtt_s: 0.0003,
        least_rtt_s: 0.0001,
        echo_s: Some(0.00015),
        mss_bytes: 1448,
        peer_window: 3e6,
        own_window: 3e6,
        ..Path::default()
    };
    let card = Card { name: "eth0".into(), speed: Some(12.5e9), bytes_per_s: 350e6, ..Card::default() };
    Host {
        name: "one".into(),
        load,
        samples: 10,
        cores: 8.0,
        busy: 0.2,
        own_cores: 1.0,
        workers: 4,
        ran: 0.3,
        busiest_core: Core { number: 5, busy: 0.4, softirq: 0.1 },
        softirq_core: Core { number: 5, busy: 0.4, softirq: 0.1 },
        cards: vec![card],
        paths: vec![path],
        ..Host::default()
    }
}

pub(super) fn of(change: impl Fn(&mut Host)) -> Bottleneck {
    let mut host = quiet();
    change(&mut host);
    judge(&Evidence { load: host.load.clone(), hosts: vec![host], ..Evidence::default() })
}

#[track_caller]
pub(super) fn says(bound: Bound, cause: Cause, change: impl Fn(&mut Host)) -> Bottleneck {
    let finding = of(change);
    assert_eq!((finding.bound, finding.cause), (bound, cause), "{}", finding.sentence);
    assert!(finding.sentence.starts_with(bound.words()), "{}", finding.sentence);
    assert!(!finding.next.is_empty() && !finding.next.contains('\n'));
    finding
}

/// Reads instead of writes.
pub(super) fn reads(host: &mut Host) {
    let path = &mut host.paths[0];
    (path.sent, path.received) = (path.received, path.sent);
    path.busy = 0.1;
}

#[test]
fn with_room_everywhere_it_is_the_target() {
    let finding = says(Bound::Target, Cause::Service, |_| {});
    // Only more lanes would show whether it could do more at once.
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.sentence.contains("client and network have time left"), "{}", finding.sentence);
    assert!(finding.sentence.contains("more lanes would show"), "{}", finding.sentence);
    assert!(finding.sentence.contains("100 ms, of which 150"), "{}", finding.sentence);
    let names: Vec<&str> = finding.evidence.iter().map(|row| row.name.as_str()).collect();
    assert!(
        names.contains(&"busiest worker") && names.contains(&"card eth0") && names.contains(&"lanes"),
        "{names:?}"
    );
    says(Bound::Target, Cause::Service, reads);
    // Without echoes the confidence is lower.
    let finding = says(Bound::Target, Cause::Service, |host| host.paths[0].echo_s = None);
    assert!(finding.confidence < Confidence::High);
    // The same with a queue too short to be called the limit.
    let finding = says(Bound::Target, Cause::Service, |host| host.paths[0].echo_s = Some(0.001));
    assert!(finding.confidence < Confidence::High);
}

#[test]
fn a_full_worker_is_the_client() {
    let finding = says(Bound::Client, Cause::WorkerFull, |host| host.ran = 0.97);
    assert!(finding.next.contains("more jobs") && finding.place == "core 5", "{finding:?}");
    let finding = says(Bound::Client, Cause::CoresFull, |host| {
        (host.ran, host.busy, host.own_cores) = (0.97, 0.98, 7.5);
    });
    assert!(finding.next.contains("more hosts"), "{finding:?}");
    says(Bound::Client, Cause::WorkerFull, |host| {
        host.load.kind = TargetMedium::Nothing;
        (host.ran, host.paths) = (0.99, Vec::new());
    });
}

#[test]
fn a_quota_is_told_from_a_full_core() {
    let throttled = |host: &mut Host| {
        (host.quota_cores, host.throttled_periods, host.own_cores, host.waited) = (Some(0.2), 0.9, 0.19, 0.7);
        (host.ran, host.ran_while_waiting) = (0.2, 0.2);
    };
    let finding = says(Bound::Client, Cause::CpuQuota, throttled);
    assert!(
        finding.sentence.contains("0.20 cores") && finding.sentence.contains("90 %"),
        "{}",
        finding.sentence
    );
    says(Bound::Target, Cause::Service, |host| {
        (host.quota_cores, host.throttled_periods) = (Some(4.0), 0.01)
    });
}

#[test]
fn others_on_the_cores_are_told_from_own_load() {
    says(Bound::Client, Cause::OtherPrograms, |host| {
        (host.waited, host.ran, host.ran_while_waiting) = (0.5, 0.45, 0.45);
        (host.busy, host.own_cores) = (1.0, 2.0);
    });
    says(Bound::Client, Cause::Steal, |host| (host.steal, host.busy, host.ran) = (0.3, 0.95, 0.8));
    // Steal on a host with time left holds nothing back.
    says(Bound::Target, Cause::Service, |host| host.steal = 0.3);
    says(Bound::Client, Cause::CoresFull, |host| (host.busy, host.own_cores, host.ran) = (0.97, 6.0, 0.8));
    // Others may use everything the load leaves: while it gets what it wants, they are not the limit.
    says(Bound::Target, Cause::Service, |host| (host.busy, host.own_cores, host.ran) = (1.0, 0.1, 0.05));
    says(Bound::Client, Cause::Memory, |host| host.memory_full = 0.3);
}

#[test]
fn packets_on_one_core_are_seen() {
    let finding = says(Bound::Client, Cause::SoftirqCore, |host| {
        host.softirq_core = Core { number: 2, busy: 1.0, softirq: 0.9 };
    });
    assert_eq!(finding.place, "core 2");
}

#[test]
fn the_kernels_account_of_senders_is_used() {
    says(Bound::Client, Cause::SendBuffer, |host| {
        (host.paths[0].busy, host.paths[0].buffer_limited) = (0.9, 0.8);
    });
    says(Bound::Target, Cause::NotTaken, |host| {
        (host.paths[0].busy, host.paths[0].window_limited) = (0.95, 0.9);
    });
    says(Bound::Network, Cause::Window, |host| {
        let path = &mut host.paths[0];
        (path.busy, path.window_limited, path.peer_window) = (0.95, 0.9, 16384.0);
        // Whatever else runs there, the kernel tells what the sender waits for.
        (host.busy, host.ran, host.waited) = (1.0, 0.8, 0.1);
    });
    // A fast client is busy with the small pieces that fit: observed on an idle machine at 3 Gbit/s with 8 KiB per
    // round trip.
    says(Bound::Network, Cause::Window, |host| {
        let path = &mut host.paths[0];
        (path.busy, path.window_limited, path.peer_window) = (0.99, 0.92, 8192.0);
        (host.busy, host.ran, host.waited) = (0.99, 0.92, 0.05);
    });
}

#[test]
fn windows_and_unread_data_of_readers_are_seen() {
    says(Bound::Network, Cause::Window, |host| {
        reads(host);
        // 64 KiB per round trip of 10 ms, on each of four connections.
        let path = &mut host.paths[0];
        (path.received, path.own_window, path.least_rtt_s) = (24e6, 65536.0, 0.01);
        path.echo_s = Some(0.0101);
    });
    says(Bound::Client, Cause::Unread, |host| {
        reads(host);
        host.paths[0].unread = 2e6;
    });
}

#[test]
fn a_window_of_the_target_that_a_round_trip_fills_is_the_limit() {
    let small = |sent: f64, window: f64| {
        move |host: &mut Host| {
            let path = &mut host.paths[0];
            (path.sent, path.peer_window, path.least_rtt_s) = (sent, window, 0.01);
            (path.echo_s, path.rtt_s, path.window_limited) = (Some(0.0101), 0.0102, 0.43);
        }
    };
    // 24 MB/s on four connections is 60 kB per 10 ms round trip each.
    let finding = says(Bound::Network, Cause::Window, small(24e6, 65536.0));
    assert!(
        finding.sentence.contains("64.0 KiB a connection") && finding.sentence.contains("92 %"),
        "{finding:?}"
    );
    says(Bound::Target, Cause::Service, small(12e6, 65536.0));
    says(Bound::Target, Cause::Service, small(240e6, 655_360.0));
}

#[test]
fn a_full_card_comes_before_a_full_core() {
    let finding = says(Bound::Network, Cause::LineRate, |host| {
        host.cards[0].speed = Some(375e6);
        host.ran = 0.99;
    });
    assert_eq!(
        (finding.place.as_str(), finding.share.map(|share| (share * 100.0).round())),
        ("eth0", Some(93.0))
    );
}

#[test]
fn a_queue_on_the_path_is_its_rate() {
    let finding = says(Bound::Network, Cause::PathRate, |host| {
        (host.paths[0].busy, host.paths[0].echo_s) = (0.98, Some(0.018));
    });
    assert_eq!(finding.confidence, Confidence::High);
    says(Bound::Network, Cause::PathRate, |host| {
        reads(host);
        host.paths[0].echo_s = Some(0.018);
    });
    // Drops are a symptom of a full queue; the queue is what limits.
    says(Bound::Network, Cause::PathRate, |host| {
        let path = &mut host.paths[0];
        (path.busy, path.echo_s, path.resent) = (0.98, Some(0.018), 0.01);
    });
    let finding = says(Bound::Network, Cause::PathRate, |host| {
        let path = &mut host.paths[0];
        (path.busy, path.echo_s, path.rtt_s) = (0.98, None, 0.02);
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    // With small requests a connection's RTT includes the target's time: it says something only when short.
    let finding = says(Bound::Unclear, Cause::Nothing, |host| {
        reads(host);
        (host.paths[0].echo_s, host.paths[0].rtt_s) = (None, 0.04);
    });
    assert!(finding.sentence.contains("cannot be told without echoes"), "{}", finding.sentence);
    says(Bound::Target, Cause::Service, |host| {
        reads(host);
        (host.paths[0].echo_s, host.paths[0].rtt_s) = (None, 0.0002);
    });
}

#[test]
fn loss_is_seen_in_both_directions() {
    says(Bound::Network, Cause::Loss, |host| host.paths[0].resent = 0.02);
    says(Bound::Network, Cause::Loss, |host| {
        reads(host);
        host.paths[0].out_of_order = 0.02;
    });
    says(Bound::Target, Cause::Service, |host| host.paths[0].resent = 0.0001);
    // A receiver that moves between cores: no loss.
    says(Bound::Target, Cause::Service, |host| {
        reads(host);
        host.paths[0].out_of_order = 0.0025;
    });
    says(Bound::Target, Cause::Service, |host| (host.paths[0].resent, host.paths[0].segments) = (0.02, 50));
}

/// Fifteen segments arrive within a round trip: one lost segment in 500 would put 3 % out of order.
#[test]
fn less_disorder_than_loss_would_cause_is_no_loss() {
    let fast = |host: &mut Host, out_of_order| {
        reads(host);
        let path = &mut host.paths[0];
        (path.received, path.connections, path.mss_bytes) = (724e6, 1.0, 1448);
        (path.least_rtt_s, path.echo_s, path.out_of_order) = (20e-6, Some(30e-6), out_of_order);
    };
    says(Bound::Target, Cause::Service, |host| fast(host, 0.025));
    says(Bound::Network, Cause::Loss, |host| fast(host, 0.035));
}

#[test]
fn a_slow_path_among_others_is_named() {
    let finding = says(Bound::Network, Cause::SlowPath, |host| {
        let path = host.paths[0].clone();
        host.paths = (2..6).map(|last| Path { name: format!("10.0.0.{last}"), ..path.clone() }).collect();
        let slow = &mut host.paths[1];
        (slow.sent, slow.busy, slow.echo_s) = (30e6, 0.98, Some(0.02));
    });
    assert_eq!(finding.place, "10.0.0.3");
    // Less is requested of it: nothing is wrong with it.
    says(Bound::Target, Cause::Service, |host| {
        let path = host.paths[0].clone();
        host.paths.push(Path { sent: 30e6, ..path });
    });
}

#[test]
fn small_packets_are_named_where_they_cost() {
    says(Bound::Network, Cause::SmallPackets, |host| {
        (host.paths[0].mss_bytes, host.busy, host.softirq_core.softirq) = (524, 0.97, 0.4);
    });
    says(Bound::Network, Cause::SmallPackets, |host| {
        let path = &mut host.paths[0];
        (path.mss_bytes, path.busy, path.echo_s) = (1228, 0.98, Some(0.02));
    });
    says(Bound::Network, Cause::SmallPackets, |host| {
        (host.paths[0].mss_bytes, host.paths[0].resent) = (524, 0.02);
    });
    // Receivers see a lost segment as reordering. Full-size segments tolerate that much.
    let disordered = |host: &mut Host, mss_bytes| {
        reads(host);
        (host.paths[0].mss_bytes, host.paths[0].out_of_order) = (mss_bytes, 0.0015);
    };
    says(Bound::Network, Cause::SmallPackets, |host| disordered(host, 524));
    says(Bound::Target, Cause::Service, |host| disordered(host, 1448));
    let finding = says(Bound::Target, Cause::Service, |host| host.paths[0].mss_bytes = 524);
    assert!(finding.evidence.iter().any(|row| row.says == "small packets"), "{finding:?}");
}

fn baseline(bytes_per_s: f64) -> NetworkBaseline {
    let (name, address) = ("before".into(), "10.0.0.1".into());
    NetworkBaseline { name, address, bytes_per_s, ..NetworkBaseline::default() }
}

#[test]
fn figures_of_other_tests_are_compared() {
    let finding = says(Bound::Network, Cause::Baseline, |host| host.baseline = Some(baseline(350e6)));
    let row = finding.evidence.iter().find(|row| row.name == "baseline before");
    assert!(row.is_some_and(|row| row.says == "reached"), "{:?}", finding.evidence);
    // A baseline with capacity left misleads nobody, nor does one that the load exceeded.
    for most in [3e9, 300e6] {
        let finding = says(Bound::Target, Cause::Service, |host| host.baseline = Some(baseline(most)));
        assert!(finding.evidence.iter().any(|row| row.name == "baseline before"));
    }
    says(Bound::Client, Cause::Ceiling, |host| host.ceiling_bytes_per_s = Some(350e6));
    says(Bound::Target, Cause::Service, |host| host.ceiling_bytes_per_s = Some(3e9));
}

#[test]
fn disks_of_the_host_are_the_target() {
    let local = |host: &mut Host| {
        host.load.kind = TargetMedium::Local;
        (host.paths, host.cards) = (Vec::new(), Vec::new());
        let disk =
            |name: &str, bytes_per_s, busy| Disk { name: name.into(), bytes_per_s, busy, ..Disk::default() };
        host.disks = vec![disk("sdb", 1e6, 0.99), disk("sda", 330e6, 0.97)];
        host.disks[1].queue = 31.0;
    };
    let finding = says(Bound::Target, Cause::Disk, local);
    assert_eq!((finding.place.as_str(), finding.confidence), ("sda", Confidence::High));
    says(Bound::Target, Cause::DiskQuota, |host| {
        local(host);
        (host.disks[1].written_bytes_per_s, host.disks[1].busy) = (330e6, 0.1);
        host.disks[1].quota.written_bytes = Some(335_000_000);
    });
    says(Bound::Target, Cause::Service, |host| {
        local(host);
        host.disks.clear();
        // Packets of other programs.
        (host.busy, host.softirq_core.softirq) = (1.0, 0.5);
    });
}

#[test]
fn too_little_in_flight_is_the_load_itself() {
    let finding = says(Bound::Tool, Cause::Depth, |host| {
        (host.load.lanes, host.load.ops_per_s, host.load.latency_s) = (1.0, 199.0, 0.005);
    });
    assert_eq!(finding.confidence, Confidence::High);
    assert!(finding.sentence.contains("1 operation in flight at 5.0"), "{}", finding.sentence);
    // At any lane count: when the round trip dominates, more concurrency brings more.
    let finding = says(Bound::Tool, Cause::Depth, |host| {
        (host.load.latency_s, host.load.ops_per_s) = (0.0201, 1592.0);
        let path = &mut host.paths[0];
        (path.least_rtt_s, path.echo_s) = (0.02, Some(0.02));
    });
    assert!(finding.next.contains("queue depth 128"), "{}", finding.next);
}

#[test]
fn a_rate_that_is_kept_binds_nothing() {
    let open = |host: &mut Host| {
        host.load.offered_ops_per_s = Some(322.0);
        host.load.latency_s = 0.001;
    };
    says(Bound::None, Cause::Rate, open);
    // Even with a worker that busy-waits.
    says(Bound::None, Cause::Rate, |host| {
        open(host);
        host.ran = 1.0;
    });
    says(Bound::Target, Cause::Service, |host| host.load.offered_ops_per_s = Some(1000.0));
    says(Bound::None, Cause::Paced, |host| (host.load.latency_s, host.load.paced) = (0.01, true));
    says(Bound::Unclear, Cause::Nothing, |host| host.load.latency_s = 0.01);
}

#[test]
fn errors_and_silence_are_unclear() {
    says(Bound::Unclear, Cause::Errors, |host| host.load.failed = 0.2);
    says(Bound::Unclear, Cause::Errors, |host| host.load.ops_per_s = 0.0);
    says(Bound::Unclear, Cause::Nothing, |host| host.samples = 0);
    assert_eq!(judge(&Evidence::default()).bound, Bound::Unclear);
    let few = of(|host| (host.samples, host.ran) = (1, 0.99));
    assert_eq!(few.confidence, Confidence::Medium);
    assert!(few.sentence.starts_with("client-bound (likely): "), "{}", few.sentence);
}

#[test]
fn hosts_that_differ_are_named() {
    let host = |name: &str, change: &dyn Fn(&mut Host)| {
        let mut host = quiet();
        host.name = name.into();
        change(&mut host);
        host
    };
    let whole = |hosts: Vec<Host>| judge(&Evidence { load: quiet().load, hosts, ..Evidence::default() });
    let alike = whole(vec![host("a", &|_| {}), host("b", &|_| {})]);
    assert!(alike.sentence.starts_with("all 2 hosts target-bound"), "{}", alike.sentence);
    assert_eq!(alike.hosts.len(), 2);
    let one = whole(vec![host("a", &|_| {}), host("b", &|host| host.ran = 0.99), host("c", &|_| {})]);
    assert_eq!(one.bound, Bound::Target);
    assert!(one.sentence.contains("all hosts but one, b is client-bound"), "{}", one.sentence);
    let full = &|host: &mut Host| host.ran = 0.99;
    let some = whole(vec![
        host("a", &|_| {}),
        host("b", full),
        host("c", full),
        host("d", &|_| {}),
        host("e", &|_| {}),
    ]);
    assert!(some.sentence.ends_with("3 of 5 hosts, not b, c"), "{}", some.sentence);
}

#[test]
fn a_finding_survives_a_file() {
    let finding = of(|host| host.ran = 0.99);
    let text = serde_json::to_string(&finding).unwrap();
    assert!(text.contains(r#""bound":"client","cause":"worker-full","confidence":"high""#), "{text}");
    assert_eq!(serde_json::from_str::<Bottleneck>(&text).unwrap(), finding);
}
