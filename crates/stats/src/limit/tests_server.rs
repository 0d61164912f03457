//! What observed hosts of the server tell.

use super::probe::{Probe, ProbePoint, decide};
use super::tests::quiet;
use super::*;

/// An OSD host with time left everywhere.
fn osd(name: &str) -> Host {
    let disk = Disk { busy: 0.3, queue: 0.5, bytes_per_s: 40e6, requests_per_s: 80.0, ..Disk::default() };
    Host {
        name: name.into(),
        samples: 10,
        cores: 8.0,
        busy: 0.2,
        busiest_core: Core { number: 2, busy: 0.4, softirq: 0.1 },
        softirq_core: Core { number: 2, busy: 0.4, softirq: 0.1 },
        disks: vec![
            Disk { name: "sda".into(), busy: 0.1, ..disk.clone() },
            Disk { name: "sdb".into(), ..disk },
        ],
        cards: vec![
            Card { name: "lo".into(), bytes_per_s: 9e9, loopback: true, ..Card::default() },
            Card {
                name: "eth0".into(),
                speed: Some(1.25e9),
                bytes_per_s: 1e8,
                received: 1e8,
                ..Card::default()
            },
        ],
        ..Host::default()
    }
}

/// Three of them beside the quiet load.
fn evidence() -> Evidence {
    Evidence {
        load: quiet().load,
        hosts: vec![quiet()],
        servers: ["osd-1", "osd-2", "osd-3"].map(osd).to_vec(),
        server_role: "osd".into(),
    }
}

fn of(change: impl Fn(&mut Evidence)) -> Bottleneck {
    let mut evidence = evidence();
    change(&mut evidence);
    judge(&evidence)
}

fn fill_disk(evidence: &mut Evidence, at: usize) {
    let disk = &mut evidence.servers[at].disks[1];
    (disk.busy, disk.queue, disk.bytes_per_s) = (0.97, 4.1, 120e6);
}

#[track_caller]
fn is(finding: &Bottleneck, bound: Bound, cause: Cause, place: &str) {
    let found = (finding.bound, finding.cause, &*finding.place);
    assert_eq!(found, (bound, cause, place), "{}", finding.sentence);
}

#[test]
fn servers_with_time_left_leave_the_finding_as_it_is() {
    let finding = of(|_| {});
    is(&finding, Bound::Target, Cause::Service, "");
    assert_eq!(finding.servers.len(), 3);
    let second = &finding.servers[1];
    let named = |part: &Option<ServerPart>| part.as_ref().map(|part| (part.name.clone(), part.share));
    assert_eq!(named(&second.disk), Some(("sdb".into(), Some(0.3))));
    assert_eq!(named(&second.nic), Some(("eth0".into(), Some(0.08))), "not the loopback interface");
    assert_eq!(named(&second.core), Some(("2".into(), Some(0.4))));
    let names: Vec<&str> = finding.evidence.iter().map(|row| &*row.name).collect();
    for name in ["osd osd-3: cores", "osd osd-3: disk sdb", "osd osd-3: NIC eth0"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn a_disk_of_a_server_is_named() {
    let finding = of(|evidence| fill_disk(evidence, 1));
    is(&finding, Bound::Target, Cause::ServerDisk, "osd-2: disk sdb");
    let said = "target-bound (likely): osd osd-2: disk sdb was 97 % busy with 4.1 requests at once, 120.0 MB/s; the other osd \
                hosts had time left";
    assert_eq!(finding.sentence, said);
    assert_eq!((finding.share, finding.evidence.len() > 10), (Some(0.97), true));
    let two = of(|evidence| [0, 2].into_iter().for_each(|at| fill_disk(evidence, at)));
    assert!(two.sentence.ends_with("; the same on 2 of 3 osd hosts"), "{}", two.sentence);
    let all = of(|evidence| (0..3).for_each(|at| fill_disk(evidence, at)));
    assert!(all.sentence.ends_with("; the same on all 3 osd hosts"), "{}", all.sentence);
    is(&all, Bound::Target, Cause::ServerDisk, "osd-1: disk sdb");
    // A disk that is busy with nothing is not the limit: some report so while they sleep.
    let idle = of(|evidence| {
        fill_disk(evidence, 1);
        (evidence.servers[1].disks[1].bytes_per_s, evidence.servers[1].disks[1].requests_per_s) = (0.0, 0.0);
    });
    is(&idle, Bound::Target, Cause::Service, "");
}

#[test]
fn a_disk_that_a_control_group_throttles_is_named() {
    let throttle = |limit: u64| {
        move |evidence: &mut Evidence| {
            let disk = &mut evidence.servers[1].disks[0];
            disk.quota.written_bytes = Some(limit);
            (disk.written_bytes_per_s, disk.bytes_per_s) = (39e6, 39e6);
        }
    };
    let finding = of(throttle(40_000_000));
    is(&finding, Bound::Target, Cause::ServerDisk, "osd-2: disk sda");
    assert_eq!(finding.confidence, Confidence::High);
    let said = "a control group allows 40.0 MB/s written on disk sda (io.max, blkio.throttle), and 98 % of that was used";
    assert!(finding.sentence.contains(said), "{}", finding.sentence);
    let disk = finding.servers[1].disk.as_ref().unwrap();
    assert!(disk.name == "sda" && disk.share.is_some_and(|share| share > 0.9), "{disk:?}");
    is(&of(throttle(80_000_000)), Bound::Target, Cause::Service, "");
}

#[test]
fn a_card_of_a_server_is_named_and_explains_a_queue() {
    let full = |evidence: &mut Evidence| evidence.servers[2].cards[1].bytes_per_s = 1.2e9;
    let finding = of(full);
    is(&finding, Bound::Network, Cause::ServerLineRate, "osd-3: NIC eth0");
    let said = "network-bound: osd osd-3: NIC eth0 received 96 % of its line rate; the other osd hosts had time left";
    assert_eq!(finding.sentence, said);
    let queue = |evidence: &mut Evidence| {
        let path = &mut evidence.hosts[0].paths[0];
        (path.busy, path.echo_s) = (0.98, Some(0.018));
    };
    is(&of(queue), Bound::Network, Cause::PathRate, "10.0.0.2");
    let both = of(|evidence| {
        queue(evidence);
        full(evidence);
    });
    is(&both, Bound::Network, Cause::ServerLineRate, "osd-3: NIC eth0");
    // Without a line rate nothing is claimed.
    let unknown = of(|evidence| {
        full(evidence);
        evidence.servers[2].cards[1].speed = None;
    });
    is(&unknown, Bound::Target, Cause::Service, "");
}

#[test]
fn a_disk_that_does_what_it_did_alone_is_full_for_sure() {
    let alone = |rate: f64| {
        move |evidence: &mut Evidence| {
            let server = &mut evidence.servers[0];
            let (disk, device) = (&mut server.disks[1], "sdb1".to_owned());
            (disk.written_bytes_per_s, disk.read_bytes_per_s) = (38e6, 2e6);
            let known = DiskBaseline {
                name: "new disks".into(),
                age_s: 86_400.0 * 3.0,
                device,
                written: true,
                bytes_per_s: rate,
            };
            server.disk_baselines =
                vec![DiskBaseline { written: false, bytes_per_s: 1e6, ..known.clone() }, known];
        }
    };
    let finding = of(alone(40e6));
    is(&finding, Bound::Target, Cause::ServerDisk, "osd-1: disk sdb");
    assert_eq!(finding.confidence, Confidence::High);
    let said =
        "disk sdb wrote 95 % of the 40.0 MB/s that it did in its own test (baseline new disks, 3 days ago)";
    assert!(finding.sentence.contains(said), "{}", finding.sentence);
    assert_eq!(finding.servers[0].disk.as_ref().unwrap().baseline_bytes_per_s, Some(40e6));
    is(&of(alone(80e6)), Bound::Target, Cause::Service, "");
    is(&of(alone(10e6)), Bound::Target, Cause::Service, "");
}

#[test]
fn a_card_that_carries_what_it_did_in_its_own_test_is_named() {
    let tested = |rate: f64| {
        move |evidence: &mut Evidence| {
            evidence.servers[2].cards[1].speed = None;
            evidence.servers[2].baseline = Some(NetworkBaseline {
                name: "rack 7".into(),
                age_s: 600.0,
                bytes_per_s: rate,
                received: true,
                address: "10.0.0.2".into(),
            });
        }
    };
    let finding = of(tested(105e6));
    is(&finding, Bound::Network, Cause::Baseline, "osd-3: NIC eth0");
    let said = "NIC eth0 received 95 % of the 105.0 MB/s that it did in its network's own test (baseline rack 7, 10 minutes ago)";
    assert!(finding.sentence.contains(said), "{}", finding.sentence);
    is(&of(tested(200e6)), Bound::Target, Cause::Service, "");
    let beaten = of(tested(50e6));
    is(&beaten, Bound::Target, Cause::Service, "");
    let row = beaten.evidence.iter().find(|row| row.name == "osd osd-3: baseline rack 7").unwrap();
    assert!(row.says.starts_with("out of date"), "{row:?}");
}

#[test]
fn cores_of_a_server_are_named_unless_they_are_the_loads_own() {
    let cores = of(|evidence| evidence.servers[0].busy = 0.98);
    is(&cores, Bound::Target, Cause::ServerCores, "osd-1: cores");
    let packets = |evidence: &mut Evidence| {
        evidence.servers[0].softirq_core = Core { number: 3, busy: 0.99, softirq: 0.8 };
    };
    let packets = of(packets);
    is(&packets, Bound::Target, Cause::ServerCore, "osd-1: core 3");
    assert!(packets.sentence.contains("core 3 spent 80 % of its time on packets"), "{}", packets.sentence);
    let one = of(|evidence| evidence.servers[0].busiest_core.busy = 0.99);
    is(&one, Bound::Target, Cause::ServerCore, "osd-1: core 2");
    let here = of(|evidence| {
        evidence.servers[0].busy = 0.98;
        evidence.servers[0].machine = "boot".into();
        evidence.hosts[0].machine = "boot".into();
    });
    is(&here, Bound::Target, Cause::Service, "");
}

#[test]
fn what_the_load_shows_itself_comes_first() {
    let client = of(|evidence| {
        fill_disk(evidence, 1);
        evidence.hosts[0].ran = 0.97;
    });
    assert_eq!((client.bound, client.cause), (Bound::Client, Cause::WorkerFull));
    let kept = of(|evidence| {
        fill_disk(evidence, 1);
        evidence.load.offered_ops_per_s = Some(320.0);
    });
    assert_eq!((kept.bound, kept.cause), (Bound::None, Cause::Rate));
}

#[test]
fn few_operations_that_keep_a_disk_busy_are_said() {
    let few = of(|evidence| {
        fill_disk(evidence, 1);
        for load in [&mut evidence.load, &mut evidence.hosts[0].load] {
            (load.lanes, load.latency_s) = (2.0, 2.0 / 320.0);
        }
    });
    is(&few, Bound::Target, Cause::ServerDisk, "osd-2: disk sdb");
    assert!(few.sentence.contains("with 2 at most it is busy whenever one is under way"), "{}", few.sentence);
}

#[test]
fn a_server_without_samples_is_shown_and_judged_by_nothing() {
    let finding = of(|evidence| {
        fill_disk(evidence, 1);
        evidence.servers[1].samples = 0;
    });
    is(&finding, Bound::Target, Cause::Service, "");
    assert_eq!((finding.servers[1].samples, &finding.servers[1].core), (0, &None));
}

#[test]
fn a_probe_confirms_a_disk_or_refutes_it() {
    let point = |lanes: f64, ops_per_s: f64| ProbePoint {
        lanes,
        asked_ops_per_s: None,
        ops_per_s,
        half_width: 0.01,
        bytes_per_s: ops_per_s * 1e6,
        latency_s: lanes / ops_per_s,
    };
    let decided = |gain: f64| {
        let probe = Probe::of(5.0, point(32.0, 320.0), None, point(64.0, 320.0 * gain)).unwrap();
        decide(of(|evidence| fill_disk(evidence, 1)), probe)
    };
    let full = decided(1.01);
    assert_eq!((full.cause, full.confidence), (Cause::ServerDisk, Confidence::High));
    assert!(full.sentence.starts_with("target-bound: osd osd-2"), "{}", full.sentence);
    assert_eq!(decided(1.9).cause, Cause::Depth);
}

#[test]
fn findings_of_earlier_versions_are_read() {
    let finding = of(|_| {});
    let mut older = serde_json::to_value(&finding).unwrap();
    older.as_object_mut().unwrap().remove("servers");
    let older: Bottleneck = serde_json::from_value(older).unwrap();
    assert_eq!(older, Bottleneck { servers: Vec::new(), ..finding });
}
