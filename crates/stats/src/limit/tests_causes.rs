//! Causes that the evidence rules out, and sentences that must not claim more than it shows.

use super::tests::{of, reads, says};
use super::*;

#[test]
fn no_sentence_contradicts_its_table() {
    // A fio job while others fill the cores.
    let finding = says(Bound::Target, Cause::Service, |host| {
        (host.busy, host.own_cores, host.ran) = (1.0, 0.1, 0.05);
    });
    assert!(!finding.sentence.contains("client and network have time left"), "{}", finding.sentence);
    assert!(
        finding.sentence.contains("all cores were 100 % busy, but workers waited for one"),
        "{}",
        finding.sentence
    );
    assert!(finding.confidence < Confidence::High);
    let finding = says(Bound::Target, Cause::Service, |host| {
        (host.busy, host.own_cores, host.ran) = (1.0, 0.1, 0.05);
        (host.waited, host.ran_while_waiting) = (0.15, 0.05);
    });
    assert!(finding.sentence.contains("busy, so the client may be part of it"), "{}", finding.sentence);
    assert_eq!(finding.confidence, Confidence::Low);
    // Packets do not make the load want the cores that others fill either, while workers get theirs.
    let packets = |waited: f64| {
        of(|host| {
            (host.busy, host.own_cores, host.ran, host.softirq_core.softirq) = (1.0, 0.1, 0.05, 0.4);
            (host.waited, host.ran_while_waiting) = (waited, 0.05);
        })
    };
    assert_eq!(packets(0.02).cause, Cause::Service);
    assert_eq!(packets(0.15).cause, Cause::OtherPrograms);
    // Workers held back although the cores are not quite full.
    let finding = says(Bound::Target, Cause::Service, |host| {
        (host.busy, host.own_cores, host.ran) = (0.93, 1.0, 0.1);
        (host.waited, host.ran_while_waiting) = (0.63, 0.1);
    });
    assert!(
        !finding.sentence.contains("client has") && !finding.sentence.contains("client and"),
        "{}",
        finding.sentence
    );
    assert!(
        finding.sentence.contains("waited for a core 63 % of the time, so the client may be"),
        "{}",
        finding.sentence
    );
    assert_eq!(finding.confidence, Confidence::Low);
    // The same for a local target, and for a single operation at a time.
    let finding = says(Bound::Target, Cause::Service, |host| {
        host.load.kind = TargetMedium::Local;
        (host.paths, host.waited) = (Vec::new(), 0.41);
    });
    assert!(!finding.sentence.contains("time left"), "{}", finding.sentence);
    let finding = says(Bound::Tool, Cause::Depth, |host| {
        (host.load.lanes, host.load.ops_per_s, host.load.latency_s) = (1.0, 199.0, 0.005);
        (host.busy, host.ran, host.waited) = (1.0, 0.05, 0.15);
    });
    assert!(!finding.sentence.contains("nothing is full"), "{}", finding.sentence);
    assert!(finding.confidence < Confidence::High);
}

#[test]
fn data_that_lies_unread_while_workers_sleep_is_a_guess() {
    let unread = |ran: f64| {
        says(Bound::Client, Cause::Unread, |host| {
            reads(host);
            (host.paths[0].unread, host.ran) = (2e6, ran);
        })
    };
    assert_eq!(unread(0.8).confidence, Confidence::Medium);
    assert_eq!(unread(0.1).confidence, Confidence::Low);
}

/// A disk that carries all of the load's writes.
fn on_disk(host: &mut Host, quota: DiskQuota) {
    host.load.kind = TargetMedium::Local;
    host.load.written_bytes_per_s = host.load.bytes_per_s;
    (host.paths, host.cards) = (Vec::new(), Vec::new());
    let bytes = host.load.bytes_per_s;
    host.disks = vec![Disk {
        name: "sda".into(),
        bytes_per_s: bytes,
        written_bytes_per_s: bytes,
        requests_per_s: 1300.0,
        writes_per_s: 1300.0,
        busy: 0.4,
        quota,
        ..Disk::default()
    }];
}

#[test]
fn a_disk_quota_counts_when_it_is_nearly_used_in_the_load_s_direction() {
    let none = DiskQuota::default();
    // Limits far above what moves, and limits on reads while the load writes.
    for quota in [
        DiskQuota { written_bytes: Some(20_000_000_000), ..none },
        DiskQuota { read_bytes: Some(1_000_000), reads: Some(10), ..none },
    ] {
        let finding = says(Bound::Target, Cause::Service, |host| on_disk(host, quota));
        let row = finding.evidence.iter().find(|row| row.name == "quota of sda");
        assert!(
            row.is_none_or(|row| row.says == "not reached" && row.value.starts_with("20.0 GB/s written"))
        );
    }
    let finding = says(Bound::Target, Cause::DiskQuota, |host| {
        on_disk(host, DiskQuota { written_bytes: Some(340_000_000), read_bytes: Some(1), ..none });
    });
    assert!(finding.sentence.contains("340.0 MB/s written on sda"), "{}", finding.sentence);
    assert!(finding.sentence.contains("99 % of that was used"), "{}", finding.sentence);
    let finding = says(Bound::Target, Cause::DiskQuota, |host| {
        on_disk(host, DiskQuota { writes: Some(1310), ..none });
    });
    assert!(finding.sentence.contains("1310 writes/s on sda"), "{}", finding.sentence);
    // This program's limit does not cover what others write to the disk.
    let finding = of(|host| {
        on_disk(host, DiskQuota { written_bytes: Some(1_500_000_000), ..none });
        host.load.place = Some(DiskPlace { device: "sda".into(), direct: true, ..DiskPlace::default() });
        (host.disks[0].written_bytes_per_s, host.disks[0].bytes_per_s, host.disks[0].busy) =
            (1.5e9, 1.5e9, 0.8);
    });
    assert_ne!(finding.cause, Cause::DiskQuota, "{}", finding.sentence);
}

/// An array that gives 20 MB/s to eight concurrent reads of 128 KiB, over a path with this share of loss.
fn slow_array(host: &mut Host, lost: f64) {
    reads(host);
    host.load = ObservedLoad {
        lanes: 8.0,
        ops_per_s: 152.6,
        bytes_per_s: 20e6,
        latency_s: 0.0524,
        median_s: 0.052,
        ..host.load.clone()
    };
    let path = &mut host.paths[0];
    (path.received, path.sent, path.connections) = (20e6, 0.1e6, 1.0);
    (path.out_of_order, path.least_rtt_s, path.echo_s) = (lost, 60e-6, Some(80e-6));
}

#[test]
fn loss_that_costs_nothing_is_not_the_limit() {
    for lost in [0.015, 0.04] {
        let finding = says(Bound::Target, Cause::Service, |host| slow_array(host, lost));
        assert!(finding.sentence.contains("with which TCP could carry"), "{}", finding.sentence);
        assert!(finding.confidence < Confidence::High);
        let row = finding.evidence.iter().find(|row| row.name == "out of order").unwrap();
        assert_eq!(row.says, "packets are lost, but do not limit");
    }
    // A sender that has nothing to send most of the time.
    says(Bound::Target, Cause::Service, |host| {
        slow_array(host, 0.0);
        let path = &mut host.paths[0];
        (path.received, path.sent, path.resent, path.busy) = (0.1e6, 20e6, 0.015, 0.2);
    });
}

/// 1 % retransmits at 80 Mbit/s and 10 ms round trip: five times what Mathis allows, as with BBR.
#[test]
fn loss_that_a_sender_does_not_slow_down_for_is_not_the_limit() {
    let finding = says(Bound::Network, Cause::PathRate, |host| {
        host.load.latency_s = 0.11;
        host.load.median_s = 0.11;
        let path = &mut host.paths[0];
        (path.connections, path.sent, path.resent) = (1.0, 9.6e6, 0.01);
        (path.least_rtt_s, path.echo_s) = (0.01, Some(0.011));
        (path.busy, path.path_limited) = (1.0, 1.0);
    });
    assert_eq!(finding.confidence, Confidence::Medium, "{}", finding.sentence);
}

#[test]
fn loss_is_the_limit_where_it_explains_the_rate() {
    // 0.5 % at 50 ms: 0.5 MB/s per connection.
    let finding = says(Bound::Network, Cause::Loss, |host| {
        slow_array(host, 0.0);
        let path = &mut host.paths[0];
        (path.received, path.sent, path.resent, path.busy) = (0.01e6, 0.6e6, 0.005, 0.99);
        (path.least_rtt_s, path.echo_s, path.rtt_s) = (0.05, Some(0.0502), 0.051);
    });
    assert_eq!(finding.confidence, Confidence::High);
    assert!(finding.sentence.contains("0.5 % retransmits on the path"), "{}", finding.sentence);
    // At such a rate a reader cannot tell whether the target would give more.
    let finding = says(Bound::Network, Cause::Loss, |host| {
        reads(host);
        host.paths[0].out_of_order = 0.02;
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    // Timers: a sender that always waits for its retransmits, on a short path.
    let finding = says(Bound::Network, Cause::Loss, |host| {
        slow_array(host, 0.0);
        let path = &mut host.paths[0];
        (path.received, path.sent, path.resent, path.busy) = (0.1e6, 4e6, 0.015, 0.9);
    });
    assert!(finding.sentence.contains("waits for its retransmits"), "{}", finding.sentence);
    // A reader sees them as operations that take far longer than most; the target may also pause.
    let finding = says(Bound::Network, Cause::Loss, |host| {
        slow_array(host, 0.03);
        (host.load.median_s, host.load.p99_s) = (0.002, 0.4);
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.sentence.contains("or the target pauses"), "{}", finding.sentence);
}

#[test]
fn too_few_lanes_are_told_with_a_rate_as_without() {
    let open = |host: &mut Host| {
        host.load.offered_ops_per_s = Some(1000.0);
        host.load.not_started = 0.8;
        (host.load.lanes, host.load.ops_per_s, host.load.latency_s) = (1.0, 199.0, 0.005);
    };
    let finding = says(Bound::Tool, Cause::Depth, open);
    assert!(
        finding.sentence.starts_with("concurrency-limited: only 1 operation in flight"),
        "{}",
        finding.sentence
    );
    // Lanes that are not all in use are not too few.
    let finding = of(|host| {
        open(host);
        host.load.lanes = 4.0;
    });
    assert_ne!(finding.cause, Cause::Depth, "{}", finding.sentence);
}

#[test]
fn a_target_that_only_takes_its_time_is_not_told_from_a_full_one() {
    let finding = says(Bound::Target, Cause::Service, |host| {
        (host.load.lanes, host.load.ops_per_s, host.load.latency_s) = (8.0, 397.0, 0.0201);
    });
    assert!(finding.confidence < Confidence::High);
    assert!(
        finding.sentence.contains("whether the target is saturated or just has this latency"),
        "{}",
        finding.sentence
    );
}

/// Writes over a 20 ms path that always has data in flight, limited by nothing but the path.
fn full(host: &mut Host) {
    let path = &mut host.paths[0];
    (path.sent, path.busy, path.path_limited) = (9.6e6, 0.99, 0.95);
    (path.least_rtt_s, path.echo_s, path.rtt_s) = (0.02, Some(0.024), 0.034);
}

#[test]
fn a_full_path_without_a_queue_is_named_by_its_sender() {
    let finding = says(Bound::Network, Cause::PathRate, full);
    assert!(finding.sentence.contains("takes no more than 76.8 Mbit/s"), "{}", finding.sentence);
    assert_eq!(finding.confidence, Confidence::Medium, "no queue was seen");
    // A program that is briefly idle, a window, a buffer: each may be the limit.
    for change in [
        |path: &mut Path| path.path_limited = 0.3,
        |path: &mut Path| path.window_limited = 0.3,
        |path: &mut Path| path.busy = 0.5,
        // On this machine the other end takes the time.
        |path: &mut Path| path.own.clone_from(&path.name),
    ] {
        says(Bound::Target, Cause::Service, |host| {
            full(host);
            change(&mut host.paths[0]);
        });
    }
    // A reader cannot see it, and the finding says so.
    let finding = says(Bound::Target, Cause::Service, |host| {
        full(host);
        reads(host);
    });
    assert!(finding.sentence.contains("full without a queue"), "{}", finding.sentence);
    assert!(!finding.sentence.contains("network"), "{}", finding.sentence);
    assert_eq!(finding.confidence, Confidence::Low);
}

#[test]
fn a_window_of_megabytes_is_too_small_for_a_long_path() {
    // 2 MiB per round trip of 50 ms.
    let long = |host: &mut Host| {
        let path = &mut host.paths[0];
        (path.sent, path.connections, path.peer_window) = (40e6, 1.0, 2_097_152.0);
        (path.busy, path.window_limited) = (0.99, 0.4);
        (path.least_rtt_s, path.echo_s, path.rtt_s) = (0.05, Some(0.0501), 0.0502);
    };
    let finding = says(Bound::Network, Cause::Window, long);
    assert!(
        finding.sentence.contains("2.00 MiB a connection") && finding.sentence.contains("95 %"),
        "{finding:?}"
    );
    // Less full, but closed: it may be the target.
    let finding = says(Bound::Target, Cause::NotTaken, |host| {
        long(host);
        (host.paths[0].sent, host.paths[0].window_limited) = (25e6, 0.6);
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.sentence.contains("or its window of 2.00 MiB is too small"), "{}", finding.sentence);
    // A window that the target enlarges as data arrives is half full.
    let finding = of(|host| {
        long(host);
        host.paths[0].peer_window = 4_194_304.0;
    });
    assert_ne!(finding.cause, Cause::Window, "{}", finding.sentence);
}
