//! Is a disk, a NIC or a core of an observed host of the server the limit?
//!
//! The load's own hosts come first: what they show to be full limits the load, whatever the server does. A server's full
//! disk, NIC or core then explains what would otherwise be concluded by elimination.

use super::ENOUGH_SAMPLES;
use super::baseline::{BEATEN, REACHED};
use super::client::{ALL_FULL, FULL, SOFTIRQ};
use super::evidence::{Card, Core, Disk, DiskBaseline, Evidence, Host, NetworkBaseline, ObservedLoad};
use super::finding::{Bound, Cause, Confidence, Found};
use super::foreign::is_part;
use super::network::CARD_FULL;
use super::target::{FEW_LANES, LANES_USED, QUOTA_USED, in_use, quota_used};
use super::words::{age, percent};

/// Headers are at most this share of what a NIC carries under a load of large blocks.
pub(super) const HEADERS: f64 = 0.07;
/// A disk that does more than this share of what it did alone was measured in another way: with other blocks, or
/// throttled.
pub(super) const BEATEN_BY_DISK: f64 = 1.25;
/// What to do about a full disk.
const MORE_DISKS: &str =
    "faster disks or more of them, or more of these hosts; another load on the same disk counts as well";
/// What to do about a full NIC.
const MORE_NICS: &str =
    "faster NICs or more of them, or more of these hosts; a server may also send to its replicas over it";
/// A disk that moves less than this, in bytes per second, and fewer requests than [`IDLE_REQUESTS`] is idle.
const IDLE_BYTES: f64 = 1e4;
/// See [`IDLE_BYTES`].
const IDLE_REQUESTS: f64 = 1.0;

/// A limit of one server.
struct Full<'a> {
    server: &'a Host,
    found: Found,
    /// How many servers have one of this kind.
    count: usize,
}

/// The finding of a server that explains more than `found`, which is what the load's hosts show.
pub(super) fn explains(evidence: &Evidence, found: &Found) -> Option<Found> {
    // The surest; of equals a disk before a NIC before cores.
    let waiting = || {
        let found = [fullest(evidence, disk), fullest(evidence, nic), fullest(evidence, cores)];
        found
            .into_iter()
            .flatten()
            .reduce(|best, next| if next.found.confidence > best.found.confidence { next } else { best })
    };
    let full = match (found.bound, found.cause) {
        // By elimination, or because operations wait in the target: a full part of the server is why.
        (Bound::Target, Cause::Service | Cause::NotTaken) => waiting(),
        // With more in flight, the round trip counts for more than the server's parts.
        (Bound::Tool, Cause::Depth) if evidence.load.lanes <= FEW_LANES => fullest(evidence, disk),
        (Bound::Unclear, Cause::Nothing) if waits(&evidence.load) => waiting(),
        // Packets queue or are lost before a NIC that is full.
        (Bound::Network, Cause::PathRate | Cause::Loss | Cause::SlowPath | Cause::Baseline) => {
            fullest(evidence, nic)
        }
        _ => None,
    };
    full.map(|full| words(evidence, full))
}

/// Operations fill the lanes, so whatever is full may be why.
fn waits(load: &ObservedLoad) -> bool {
    load.lanes > 0.0 && in_use(load) >= LANES_USED * load.lanes
}

/// Of the servers for which a rule holds, the one with the largest share; the first of equals.
fn fullest<'a>(evidence: &'a Evidence, rule: fn(&Evidence, &'a Host) -> Option<Found>) -> Option<Full<'a>> {
    let known = evidence.servers.iter().filter(|server| server.samples > 0);
    let all: Vec<(&Host, Found)> =
        known.filter_map(|server| Some((server, rule(evidence, server)?))).collect();
    let count = all.len();
    let (server, found) = all.into_iter().reduce(|best, next| {
        if next.1.share.unwrap_or(0.0) > best.1.share.unwrap_or(0.0) { next } else { best }
    })?;
    Some(Full { server, found, count })
}

/// The finding with the server's name, and how many are like it.
fn words(evidence: &Evidence, full: Full<'_>) -> Found {
    let Full { server, found, count } = full;
    let (of, role) = (evidence.servers.len(), &evidence.server_role);
    let others = match count {
        _ if of == 1 => String::new(),
        count if count == of => format!("; the same on all {of} {role} hosts"),
        1 => format!("; the other {role} hosts had time left"),
        count => format!("; the same on {count} of {of} {role} hosts"),
    };
    let why = format!("{role} {}: {}{others}", server.name, found.why);
    let place = format!("{}: {}", server.name, found.place);
    let confidence = match server.samples < ENOUGH_SAMPLES {
        true => found.confidence.min(Confidence::Medium),
        false => found.confidence,
    };
    Found { why, place, confidence, ..found }
}

/// A disk that its control group throttles, or with requests in flight nearly all of the time.
fn disk(evidence: &Evidence, server: &Host) -> Option<Found> {
    throttled(server).or_else(|| disk_as_alone(server)).or_else(|| busy_disk(evidence, server))
}

/// A disk that does what it did when it was measured alone.
fn disk_as_alone(server: &Host) -> Option<Found> {
    let (disk, baseline, share) = most_as_alone(server)?;
    if !(REACHED..=BEATEN_BY_DISK).contains(&share) {
        return None;
    }
    let why = format!(
        "disk {} {} {} of the {} that it did in its own test (baseline {}, {})",
        disk.name,
        way(baseline),
        percent(share),
        units::ByteRate(baseline.bytes_per_s),
        baseline.name,
        age(baseline.age_s)
    );
    let found = Found::new(Bound::Target, Cause::ServerDisk, Confidence::High, why, MORE_DISKS);
    Some(found.at(format!("disk {}", disk.name)).share(share.min(1.0)))
}

/// The disk with the largest share of its own test, in the direction in which it moves more.
pub(super) fn most_as_alone(server: &Host) -> Option<(&Disk, &DiskBaseline, f64)> {
    let known = server.disk_baselines.iter().filter(|baseline| baseline.bytes_per_s > 0.0);
    let shares = known.filter_map(|baseline| {
        let disk = server.disks.iter().find(|disk| is_part(&baseline.device, &disk.name))?;
        let (rate, other) = match baseline.written {
            true => (disk.written_bytes_per_s, disk.read_bytes_per_s),
            false => (disk.read_bytes_per_s, disk.written_bytes_per_s),
        };
        (rate > other).then_some((disk, baseline, rate / baseline.bytes_per_s))
    });
    shares.max_by(|a, b| a.2.total_cmp(&b.2))
}

pub(super) fn way(baseline: &DiskBaseline) -> &'static str {
    if baseline.written { "wrote" } else { "read" }
}

/// A disk on which the agent's control group, which is that of the server where both run in one container, uses up its
/// limit.
fn throttled(server: &Host) -> Option<Found> {
    let (disk, share, what) = most_throttled(server).filter(|(_, share, _)| *share >= QUOTA_USED)?;
    let why = format!(
        "a control group allows {what} on disk {} (io.max, blkio.throttle), and {} of that was used",
        disk.name,
        percent(share)
    );
    let next = "raise or remove the control group's limit there, or more of these hosts";
    let found = Found::new(Bound::Target, Cause::ServerDisk, Confidence::High, why, next);
    Some(found.at(format!("disk {}", disk.name)).share(share.min(1.0)))
}

/// The disk whose limit is used most, the used share and the limit in words.
pub(super) fn most_throttled(server: &Host) -> Option<(&Disk, f64, String)> {
    let used = server.disks.iter().filter_map(|disk| {
        let (share, what) = quota_used(server, disk)?;
        Some((disk, share, what))
    });
    used.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn busy_disk(evidence: &Evidence, server: &Host) -> Option<Found> {
    let disk = most_busy(server)?;
    if disk.busy < FULL {
        return None;
    }
    let load = &evidence.load;
    let mut why = format!(
        "disk {} was {} busy with {:.1} requests at once, {}",
        disk.name,
        percent(disk.busy),
        disk.queue,
        units::ByteRate(disk.bytes_per_s)
    );
    if load.lanes > 0.0 && load.lanes <= FEW_LANES {
        why = format!(
            "{why}: with {:.0} at most it is busy whenever one is under way, and more may be served at once",
            load.lanes
        );
    }
    // A disk that serves many requests at once may be busy all the time and still have capacity left.
    let found = Found::new(Bound::Target, Cause::ServerDisk, Confidence::Medium, why, MORE_DISKS);
    Some(found.at(format!("disk {}", disk.name)).share(disk.busy))
}

/// A NIC that reaches its line rate, where that is known, or what the network carried in its own test.
fn nic(_: &Evidence, server: &Host) -> Option<Found> {
    line_rate(server).or_else(|| as_in_its_test(server))
}

fn line_rate(server: &Host) -> Option<Found> {
    let card = busiest_card(server)?;
    let used = used(card)?;
    if used < CARD_FULL {
        return None;
    }
    let why = format!("NIC {} {} {} of its line rate", card.name, direction(card), percent(used));
    let found = Found::new(Bound::Network, Cause::ServerLineRate, Confidence::High, why, MORE_NICS);
    Some(found.at(format!("NIC {}", card.name)).share(used))
}

/// The baseline is payload of one link, and the NIC's rate has headers: they differ by less than the threshold.
fn as_in_its_test(server: &Host) -> Option<Found> {
    let (card, baseline, share) = of_baseline(server)?;
    if !(REACHED..=BEATEN + HEADERS).contains(&share) {
        return None;
    }
    let why = format!(
        "NIC {} {} {} of the {} that it did in its network's own test (baseline {}, {})",
        card.name,
        direction(card),
        percent(share),
        units::ByteRate(baseline.bytes_per_s),
        baseline.name,
        age(baseline.age_s)
    );
    let found = Found::new(Bound::Network, Cause::Baseline, Confidence::Medium, why, MORE_NICS);
    Some(found.at(format!("NIC {}", card.name)).share(share.min(1.0)))
}

/// The NIC that carries most, the host's network baseline in its direction, and its share of that.
pub(super) fn of_baseline(server: &Host) -> Option<(&Card, &NetworkBaseline, f64)> {
    let baseline = server.baseline.as_ref().filter(|baseline| baseline.bytes_per_s > 0.0)?;
    let physical = server.cards.iter().filter(|card| !card.loopback);
    let card = physical.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))?;
    let rate = if baseline.received { card.received } else { card.sent };
    Some((card, baseline, rate / baseline.bytes_per_s))
}

pub(super) fn direction(card: &Card) -> &'static str {
    if card.sent > card.received { "sent" } else { "received" }
}

/// No core has time left, or the one on which the packets or a thread are.
fn cores(evidence: &Evidence, server: &Host) -> Option<Found> {
    // Cores shared with the load were judged as the load's own.
    let shared = |host: &Host| !host.machine.is_empty() && host.machine == server.machine;
    if evidence.hosts.iter().any(shared) {
        return None;
    }
    let found = |cause, confidence, why: String, next, place: String, share: f64| {
        Some(Found::new(Bound::Target, cause, confidence, why, next).at(place).share(share))
    };
    if server.busy >= ALL_FULL {
        let why = format!("all {:.0} cores were {} busy", server.cores, percent(server.busy));
        let next = "faster cores or more of them, or more of these hosts";
        return found(Cause::ServerCores, Confidence::High, why, next, "cores".to_owned(), server.busy);
    }
    let packets = server.softirq_core;
    let place = |core: Core| format!("core {}", core.number);
    if packets.softirq >= SOFTIRQ && packets.busy >= ALL_FULL {
        let why =
            format!("core {} spent {} of its time on packets", packets.number, percent(packets.softirq));
        let next = "spread the packets over more cores there: receive side scaling, interrupt affinity, more connections";
        return found(Cause::ServerCore, Confidence::High, why, next, place(packets), packets.softirq);
    }
    let core = server.busiest_core;
    if core.busy < ALL_FULL {
        return None;
    }
    let why = format!("core {} was {} busy while others had time left", core.number, percent(core.busy));
    let next =
        "look for a thread there that does all the work: more connections, shards or daemons use more cores";
    found(Cause::ServerCore, Confidence::Medium, why, next, place(core), core.busy)
}

/// The disk that is closest to its limit, with the used share: of a control group's limit, or of its time.
pub(super) fn busiest_disk(server: &Host) -> Option<(&Disk, f64)> {
    let throttled = most_throttled(server).map(|(disk, share, _)| (disk, share));
    let busy = most_busy(server).map(|disk| (disk, disk.busy));
    throttled.into_iter().chain(busy).max_by(|a, b| a.1.total_cmp(&b.1))
}

pub(super) fn most_busy(server: &Host) -> Option<&Disk> {
    let works = |disk: &&Disk| disk.bytes_per_s >= IDLE_BYTES || disk.requests_per_s >= IDLE_REQUESTS;
    server.disks.iter().filter(works).max_by(|a, b| a.busy.total_cmp(&b.busy))
}

/// The NIC with the largest share of its line rate; without any line rate, the one that carries most.
pub(super) fn busiest_card(server: &Host) -> Option<&Card> {
    let physical = || server.cards.iter().filter(|card| !card.loopback);
    let known = physical().filter(|card| card.speed.is_some());
    known
        .max_by(|a, b| used(a).unwrap_or(0.0).total_cmp(&used(b).unwrap_or(0.0)))
        .or_else(|| physical().max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s)))
}

/// Share of the line rate in the busier direction.
pub(super) fn used(card: &Card) -> Option<f64> {
    card.speed.filter(|speed| *speed > 0.0).map(|speed| card.bytes_per_s / speed)
}
