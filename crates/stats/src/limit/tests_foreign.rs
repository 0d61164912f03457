//! Load from other programs: on the disk, the NIC and the cores. The run's own other agents do not count as such.

use super::tests::{of, quiet, says};
use super::*;

/// One 4 KiB read at a time from a file on vda1, and vda's activity meanwhile.
fn one_read(host: &mut Host) {
    host.load = ObservedLoad {
        kind: TargetMedium::Local,
        lanes: 1.0,
        ops_per_s: 635.0,
        bytes_per_s: 2.6e6,
        read_bytes_per_s: 2.6e6,
        latency_s: 1.0 / 635.0,
        place: Some(DiskPlace { device: "vda1".into(), file_system: "ext4".into(), direct: true }),
        ..host.load.clone()
    };
    (host.paths, host.cards) = (Vec::new(), Vec::new());
    host.disks = vec![Disk {
        name: "vda".into(),
        busy: 0.99,
        queue: 1.0,
        bytes_per_s: 2.6e6,
        read_bytes_per_s: 2.6e6,
        requests_per_s: 640.0,
        ..Disk::default()
    }];
}

/// Others read as well.
fn others_read(host: &mut Host, bytes_per_s: f64, requests_per_s: f64, queue: f64) {
    let disk = &mut host.disks[0];
    disk.bytes_per_s += bytes_per_s;
    disk.read_bytes_per_s += bytes_per_s;
    disk.requests_per_s += requests_per_s;
    disk.queue += queue;
}

#[test]
fn a_disk_that_others_use_is_not_called_the_target() {
    let finding = says(Bound::Unclear, Cause::ForeignLoad, |host| {
        one_read(host);
        others_read(host, 1.1e9, 8600.0, 14.2);
    });
    let words = "other programs use vda: 1.1 of 1.1 GB/s are not this load's";
    assert!(finding.sentence.contains(words), "{}", finding.sentence);
    assert_eq!((finding.place.as_str(), finding.doubts.as_slice()), ("vda", &[words.to_owned()][..]));
    // Whatever else holds: too little concurrency, or a disk that is not quite full.
    says(Bound::Unclear, Cause::ForeignLoad, |host| {
        one_read(host);
        others_read(host, 1.1e9, 8600.0, 14.2);
        host.disks[0].busy = 0.8;
    });
    let row = finding.evidence.iter().find(|row| row.name == "disk vda").unwrap();
    assert_eq!(row.says, "used by other programs as well");
    // Alone, the same load is limited by the disk, and there are no doubts.
    let finding = says(Bound::Target, Cause::Disk, one_read);
    assert_eq!((finding.confidence, finding.doubts.len()), (Confidence::Medium, 0));
    assert!(finding.sentence.contains("more may be served at once"), "{}", finding.sentence);
}

#[test]
fn requests_and_queues_tell_of_others_whose_bytes_do_not() {
    // Few bytes, many requests.
    let finding = of(|host| {
        one_read(host);
        others_read(host, 6e6, 12_000.0, 1.0);
    });
    assert!(finding.doubts[0].contains("12640 requests/s"), "{:?}", finding.doubts);
    // A queue longer than one lane can cause.
    let finding = of(|host| {
        one_read(host);
        others_read(host, 6e6, 900.0, 14.2);
    });
    assert!(finding.doubts[0].contains("15.2 requests were in it at once"), "{:?}", finding.doubts);
    // A disk splits a large operation into several requests.
    let finding = of(|host| {
        one_read(host);
        (host.load.bytes_per_s, host.load.read_bytes_per_s) = (1.0e9, 1.0e9);
        (host.disks[0].read_bytes_per_s, host.disks[0].bytes_per_s) = (1.0e9, 1.0e9);
        (host.disks[0].requests_per_s, host.disks[0].queue) = (6000.0, 12.0);
    });
    assert_eq!(finding.doubts, [""; 0]);
}

#[test]
fn what_file_systems_do_besides_is_not_others_load() {
    let none = |change: &dyn Fn(&mut Host)| {
        let finding = of(|host| {
            one_read(host);
            change(host);
        });
        assert_eq!(finding.doubts, [""; 0], "{}", finding.sentence);
    };
    // Read-ahead and records: 128 KiB for each 4 KiB.
    none(&|host| {
        host.load.place.as_mut().unwrap().direct = false;
        others_read(host, 80e6, 0.0, 0.0);
    });
    none(&|host| {
        host.load.place.as_mut().unwrap().file_system = "btrfs".into();
        others_read(host, 80e6, 0.0, 0.0);
    });
    // Observed btrfs behaviour for durable writes.
    none(&|host| {
        let place = DiskPlace { device: "vda1".into(), file_system: "btrfs".into(), direct: true };
        (host.load.place, host.load.ops_per_s) = (Some(place), 100.0);
        (host.load.bytes_per_s, host.load.written_bytes_per_s, host.load.read_bytes_per_s) =
            (409_600.0, 409_600.0, 0.0);
        let disk = &mut host.disks[0];
        (disk.read_bytes_per_s, disk.written_bytes_per_s, disk.bytes_per_s) = (0.0, 11.3e6, 11.3e6);
        (disk.requests_per_s, disk.queue) = (935.0, 2.4);
    });
    // Page cache writeback may be of the load's own preparation.
    none(&|host| {
        host.load.place.as_mut().unwrap().direct = false;
        host.disks[0].written_bytes_per_s = 500e6;
        host.disks[0].bytes_per_s += 500e6;
    });
    // A journal writes the data twice; partial writes read first.
    none(&|host| {
        (host.load.read_bytes_per_s, host.load.written_bytes_per_s) = (0.0, 2.6e6);
        (host.disks[0].written_bytes_per_s, host.disks[0].bytes_per_s) = (5.2e6, 7.8e6);
    });
    // The kernel attributes another cell's I/O to this program.
    none(&|host| {
        (host.own_disk_read, host.load.concurrent) = (1.1e9, true);
        others_read(host, 1.1e9, 8600.0, 14.2);
    });
    // A disk with capacity for both.
    none(&|host| {
        others_read(host, 100e6, 10_000.0, 0.0);
        host.disks[0].busy = 0.3;
    });
    // A disk other than the one with the data.
    none(&|host| {
        let busy =
            Disk { name: "vdb".into(), read_bytes_per_s: 1e9, bytes_per_s: 1e9, ..host.disks[0].clone() };
        host.disks.push(busy);
    });
    // The disk is unknown.
    none(&|host| {
        host.load.place = None;
        others_read(host, 1.1e9, 8600.0, 14.2);
    });
}

#[test]
fn a_disk_that_moves_far_more_than_was_asked_for_is_not_named_for_sure() {
    let finding = says(Bound::Target, Cause::Disk, |host| {
        one_read(host);
        host.load.place = None;
        others_read(host, 1.1e9, 8600.0, 14.2);
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(
        finding.sentence.contains("the file system's work or that of other programs"),
        "{}",
        finding.sentence
    );
}

#[test]
fn partitions_belong_to_their_disk() {
    let on = |device: &str, disk: &str| {
        let mut host = quiet();
        one_read(&mut host);
        host.load.place.as_mut().unwrap().device = device.into();
        host.disks[0].name = disk.into();
        foreign::disk_of(&host).is_some()
    };
    assert!(on("vda", "vda") && on("vda12", "vda") && on("nvme0n1p2", "nvme0n1") && on("dm-1", "dm-1"));
    assert!(!on("vdb1", "vda") && !on("dm-11", "dm-1") && !on("nvme0n12", "nvme0n1") && !on("vda", ""));
}

/// The path uses eth0, which carries this much more than the load sends.
fn card_with(more: f64) -> impl Fn(&mut Host) {
    move |host: &mut Host| {
        host.paths[0].card = "eth0".into();
        (host.load.written_bytes_per_s, host.cards[0].received) = (335e6, 2e6);
        host.cards[0].sent = 350e6 + more;
        host.cards[0].bytes_per_s = host.cards[0].sent;
        host.cards[0].packets_per_s = host.cards[0].sent / 1500.0;
    }
}

#[test]
fn a_card_that_others_use_is_named() {
    let finding = says(Bound::Unclear, Cause::ForeignLoad, |host| {
        card_with(800e6)(host);
        host.cards[0].speed = Some(1.25e9);
    });
    let words = "other programs use eth0: 810.0 MB/s of 1.1 GB/s are not this load's";
    assert!(finding.sentence.contains(words), "{}", finding.sentence);
    assert_eq!(finding.doubts, [words]);
    // While the NIC has capacity left, this is a doubt, not the finding.
    let finding = says(Bound::Target, Cause::Service, card_with(4e9));
    assert_eq!(finding.doubts.len(), 1, "{finding:?}");
    // Headers, retransmits and a little unrelated traffic raise no doubt.
    assert_eq!(of(card_with(150e6)).doubts, [""; 0]);
    // If both together fill the NIC, it is full, and the finding says with what.
    let finding = says(Bound::Network, Cause::LineRate, |host| {
        card_with(250e6)(host);
        host.cards[0].speed = Some(625e6);
    });
    assert_eq!(finding.confidence, Confidence::Medium);
    assert!(finding.sentence.contains("260.0 of 600.0 MB/s are headers"), "{}", finding.sentence);
    // Inbound traffic does not fill the outbound direction.
    let finding = says(Bound::Target, Cause::Service, |host| {
        card_with(0.0)(host);
        (host.cards[0].speed, host.cards[0].received) = (Some(1.25e9), 1.2e9);
        host.cards[0].bytes_per_s = 1.2e9;
    });
    assert_eq!(finding.doubts, [""; 0]);
    // Connections too short to be sampled are in the payload.
    let finding = of(|host| {
        card_with(0.0)(host);
        host.paths[0].sent = 10e6;
    });
    assert_eq!(finding.doubts, [""; 0]);
}

/// This many agents on one machine of two cores, each using a quarter of one.
fn agents(many: usize, machine: &str, change: impl Fn(&mut Host)) -> Bottleneck {
    let host = |number: usize| {
        let mut host = quiet();
        (host.name, host.machine) = (format!("agent {number}"), machine.into());
        (host.cores, host.busy, host.own_cores) = (2.0, 0.99, 0.24);
        (host.ran, host.ran_while_waiting, host.waited, host.workers) = (0.24, 0.24, 0.73, 1);
        change(&mut host);
        host
    };
    let hosts: Vec<Host> = (1..=many).map(host).collect();
    judge(&Evidence { load: quiet().load, hosts, ..Evidence::default() })
}

#[test]
fn the_run_s_other_agents_are_no_other_programs() {
    let finding = agents(8, "one", |_| {});
    assert_eq!((finding.bound, finding.cause), (Bound::Client, Cause::CoresFull), "{}", finding.sentence);
    assert_eq!(finding.confidence, Confidence::High);
    // On separate machines, others used the rest.
    let finding = agents(8, "", |_| {});
    assert_eq!((finding.bound, finding.cause), (Bound::Client, Cause::OtherPrograms), "{}", finding.sentence);
    // They all use the disk, too.
    let disk = |host: &mut Host| {
        one_read(host);
        (host.busy, host.waited, host.ran, host.ran_while_waiting) = (0.2, 0.0, 0.1, 0.1);
        (host.load.bytes_per_s, host.load.read_bytes_per_s) = (250e6, 250e6);
        host.disks[0].bytes_per_s = 1e9;
        host.disks[0].read_bytes_per_s = 1e9;
        (host.disks[0].requests_per_s, host.disks[0].queue) = (9000.0, 15.0);
    };
    assert_eq!(agents(4, "one", disk).doubts, [""; 0]);
    assert_eq!(agents(4, "", disk).doubts.len(), 4, "each machine has a disk of its own");
    let shared = agents(2, "one", |host| {
        disk(host);
        (host.load.bytes_per_s, host.load.read_bytes_per_s) = (2.6e6, 2.6e6);
    });
    assert_eq!(shared.doubts.len(), 1, "one disk is named once: {:?}", shared.doubts);
    assert!(shared.doubts[0].starts_with("agent 1: other programs use vda"), "{:?}", shared.doubts);
    // And the NIC.
    let card = |host: &mut Host| {
        card_with(700e6)(host);
        host.cards[0].speed = Some(5e9);
        (host.busy, host.waited, host.ran, host.ran_while_waiting) = (0.2, 0.0, 0.1, 0.1);
    };
    assert_eq!(agents(3, "one", card).doubts, [""; 0]);
    assert_eq!(agents(1, "one", card).doubts.len(), 1);
}

#[test]
fn a_target_that_does_nothing_is_never_the_limit() {
    let nothing = |host: &mut Host| {
        host.load.kind = TargetMedium::Nothing;
        (host.paths, host.cards) = (Vec::new(), Vec::new());
    };
    let finding = agents(8, "one", nothing);
    assert_eq!((finding.bound, finding.cause), (Bound::Client, Cause::CoresFull), "{}", finding.sentence);
    // Cores just below full, idle lanes by Little's law, a single lane: the client is still the only suspect.
    for lanes in [1.0, 32.0, 512.0] {
        let finding = says(Bound::Client, Cause::CoresFull, |host| {
            nothing(host);
            (host.load.lanes, host.waited, host.ran, host.busy) = (lanes, 0.6, 0.3, 0.93);
        });
        assert!(!finding.sentence.contains("time left"), "{}", finding.sentence);
    }
    says(Bound::None, Cause::Paced, |host| {
        nothing(host);
        (host.load.paced, host.load.latency_s) = (true, 0.001);
    });
}
